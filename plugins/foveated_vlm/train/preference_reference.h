#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// Log-probabilities of chosen and rejected answers under the model that preference training
/// starts from; made once, two numbers per clip in host memory.
class PreferenceReference {
public:
    explicit PreferenceReference(Index clips); ///< nothing is known yet

    void set(Index clip, std::array<double, 2> logs); ///< of the chosen, of the rejected answer
    bool knows(Index clip) const;
    /// Throws ContractError for a clip that is not known.
    std::vector<std::array<double, 2>> of(std::span<const Index> clips) const;

    /// F64 [clips, 2], not a number where unknown; for checkpoints.
    const Tensor& tensor() const { return m_tensor; }

private:
    std::span<double> values() const;

    Tensor m_tensor;
};

} // namespace vergence::fvlm
