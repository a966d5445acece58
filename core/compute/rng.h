#pragma once

#include <cstdint>

#include "core/compute/host_device.h"

namespace vergence {

/// Four 32-bit random words of Philox 4x32-10 for a 128-bit counter and 64-bit key.
/// Source: Parallel random numbers: as easy as 1, 2, 3 (2011), section 5.3.
struct PhiloxBlock {
    std::uint32_t word[4];
};

VERGENCE_HD PhiloxBlock philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
{
    constexpr std::uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
    std::uint32_t c0 = static_cast<std::uint32_t>(index),
                  c1 = static_cast<std::uint32_t>(index >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(stream),
                  c3 = static_cast<std::uint32_t>(stream >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = static_cast<std::uint64_t>(kMultiplier0) * c0;
        const std::uint64_t p1 = static_cast<std::uint64_t>(kMultiplier1) * c2;
        const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
        const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
        c1 = static_cast<std::uint32_t>(p1);
        c3 = static_cast<std::uint32_t>(p0);
        c0 = n0;
        c2 = n2;
        k0 += kWeyl0;
        k1 += kWeyl1;
    }
    return {{c0, c1, c2, c3}};
}

/// Random numbers as a function of seed, stream and index: order and device do not matter.
class Rng {
public:
    VERGENCE_HD explicit Rng(std::uint64_t seed, std::uint64_t stream = 0)
        : m_seed(seed),
          m_stream(stream)
    {
    }

    VERGENCE_HD std::uint32_t bits(std::uint64_t index) const
    {
        return philox(m_seed, m_stream, index >> 2).word[index & 3];
    }

    /// Uniform in [0, 1), 24 bits.
    VERGENCE_HD float uniform(std::uint64_t index) const
    {
        return static_cast<float>(bits(index) >> 8) * (1.0f / 16777216.0f);
    }

    VERGENCE_HD std::uint64_t seed() const { return m_seed; }
    VERGENCE_HD std::uint64_t stream() const { return m_stream; }

private:
    std::uint64_t m_seed, m_stream;
};

} // namespace vergence
