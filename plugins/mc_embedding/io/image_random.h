#pragma once

#include <cstdint>

#include "core/compute/rng.h"
#include "plugins/mc_embedding/compute/perturbation.h"

namespace vergence::mc_embedding {

/// Numbers of one purpose and one owner (an image, a class), drawn one after the other.
/// Specification, section 4.2.
class Draws {
public:
    Draws(std::uint64_t seed, Purpose purpose, std::uint32_t owner)
        : m_seed(seed),
          m_stream(std::uint64_t{static_cast<std::uint8_t>(purpose)} << 56),
          m_owner(std::uint64_t{owner} << 32)
    {
    }
    std::uint32_t bits()
    {
        const std::uint32_t at = m_next++;
        return philox(m_seed, m_stream, m_owner | at >> 2).word[at & 3];
    }
    /// Uniform in [0, 1).
    double uniform() { return bits() * (1.0 / 4294967296.0); }
    /// Uniform in [0, n); the bias is below n · 2⁻³².
    std::uint32_t below(std::uint32_t n)
    {
        return static_cast<std::uint32_t>(std::uint64_t{bits()} * n >> 32);
    }

private:
    std::uint64_t m_seed, m_stream, m_owner;
    std::uint32_t m_next = 0;
};

} // namespace vergence::mc_embedding
