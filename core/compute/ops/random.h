#pragma once

#include <cstdint>

#include "core/compute/tensor.h"

namespace vergence {

/// What a random operation depends on beside its own constants: lies in device memory (two U64 as
/// I64 [2]: seed, step), so that a recorded step draws new numbers when it is replayed.
struct RandomKey {
    const Tensor* seedAndStep = nullptr; ///< I64 [2]
    std::uint32_t purpose = 0;           ///< tells apart the draws of one step
};

/// y = x ⊙ keep / (1 − p), keep = (word ≥ p·2³²) with the Philox word of (seed, step·2³² + purpose,
/// index). In place. The derivative is the same call on gradients. 0 ≤ p < 1.
/// Source: Dropout (2014), section 4; Philox as in core/compute/rng.h.
void dropout(Stream& stream, const Tensor& x, double p, const RandomKey& key, const Tensor& y);

/// Normal numbers by Box–Muller from pairs of Philox words; equal on CPU and CUDA to 4 units in the
/// last place. Uniform in [low, high).
void fillNormal(Stream& stream, const Tensor& y, double mean, double deviation, std::uint64_t seed,
                std::uint64_t streamId);
void fillUniform(Stream& stream, const Tensor& y, double low, double high, std::uint64_t seed,
                 std::uint64_t streamId);

} // namespace vergence
