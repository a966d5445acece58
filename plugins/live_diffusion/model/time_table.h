#pragma once

#include <span>
#include <vector>

#include "core/compute/graph/parameter.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// Where each AddChannels of an evaluation finds its channels in a row of the time table.
struct TimeTableLayout {
    struct Entry {
        int op = -1;     ///< the AddChannels
        int linear = -1; ///< the linear layer that makes its channels
        Index first = 0; ///< in a row
        Index channels = 0;
    };
    std::vector<Entry> entries; ///< in the order of the program
    Index width = 0;            ///< ΣC_out
};
TimeTableLayout timeTableLayout(const Program& program);

/// W_t · e + b_t of all residual blocks for the steps of a sampler: one row per step, one product
/// for all blocks. The weights are copied when it is made; make it anew after they changed.
/// `parameters` compute in F32 or F64 and live as long.
class TimeTable {
public:
    TimeTable(Stream& stream, const Program& program, const ParameterSet& parameters);

    const TimeTableLayout& layout() const { return m_layout; }
    /// Rows of `timesteps`, each with its history bucket (as many, or one for all) → [rows, ΣC_out]
    /// in the type of the parameters. Allocates: not for every frame.
    Tensor evaluate(Stream& stream, std::span<const double> timesteps,
                    std::span<const int> buckets) const;

private:
    TimeTableLayout m_layout;
    Program m_embedding; ///< t, b → e
    const ParameterSet& m_parameters;
    Tensor m_weight, m_bias; ///< [ΣC_out, 4C₀], [ΣC_out]
};

} // namespace vergence::live
