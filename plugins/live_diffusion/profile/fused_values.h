#pragma once

#include <vector>

#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// Which operations of a description cost nothing of their own once fused, by its shapes alone:
///   - SiLU, GELU, tanh, kept-statistics norms, added channels and tables after what they alone
///     read: done where that is written;
///   - a sum whose first input is a product that nothing else reads: done in its epilogue;
///   - concatenations, slices, planes and doubled pictures: done in the gather of their readers.
class FusedValues {
public:
    explicit FusedValues(const Program& program); ///< `program` outlives this

    bool isFree(int op) const { return m_carrier[static_cast<std::size_t>(op)] != kOwn; }
    /// The operation that does the work of a free one while it writes; −1: its readers do.
    int carrierOf(int op) const { return m_carrier[static_cast<std::size_t>(op)]; }
    /// Values that must be in memory for `value` to be read: itself, or what its readers gather
    /// from. A value that is written by a carrier stands for itself.
    std::vector<int> sourcesOf(int value) const;

private:
    static constexpr int kOwn = -2, kReaders = -1;

    int carrier(int op) const;
    void gather(int value, std::vector<int>& sources) const;

    const Program& m_program;
    std::vector<std::vector<int>> m_readers;
    std::vector<int> m_carrier; ///< per operation
};

} // namespace vergence::live
