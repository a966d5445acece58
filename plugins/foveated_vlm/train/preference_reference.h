#pragma once

#include <span>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// Log-probabilities of chosen and rejected answers under the model that preference training
/// starts from; made once, two numbers per clip.
class PreferenceReference {
public:
    /// Of `clips` clips; nothing is known yet. Lies in host memory; `device` is the CPU.
    explicit PreferenceReference(Index clips);

    void set(Index clip, double chosen, double rejected);
    bool knows(Index clip) const;
    /// [pairs, 2] in `type` (F32, F64) for these clips. Throws ContractError for an unknown one.
    void upload(Stream& stream, std::span<const Index> clips, const Tensor& reference) const;

    /// F64 [clips, 2], not a number where unknown; for checkpoints.
    const Tensor& values() const { return m_values; }

private:
    Tensor m_values;
};

} // namespace vergence::fvlm
