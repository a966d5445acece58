#pragma once

#include <cmath>
#include <cstdint>

#include "core/compute/rng.h"
#include "core/compute/view.h"
#include "plugins/mc_embedding/compute/perturbation.h"

namespace vergence::mc_embedding {

/// Elements that one block of random words decides about, one byte each.
inline constexpr int kMaskBlock = 16;

/// Drop probability as integers: P = round(p · 2³²) of 2³². Specification, section 4.4.
struct DropRate {
    std::uint32_t high = 0; ///< P ≫ 24; 256 at most
    std::uint32_t low = 0;  ///< P mod 2²⁴
    float scale = 1;        ///< 1 / (1 − P / 2³²)
};

inline DropRate dropRate(double p)
{
    const auto wanted = static_cast<std::uint64_t>(std::llround(p * 4294967296.0));
    DropRate rate;
    rate.high = static_cast<std::uint32_t>(wanted >> 24);
    rate.low = static_cast<std::uint32_t>(wanted & 0xffffffu);
    rate.scale = static_cast<float>(1.0 / (1.0 - static_cast<double>(wanted) / 4294967296.0));
    return rate;
}

/// What tells sequences of a batch apart.
struct SequenceKey {
    std::uint32_t image = 0; ///< mask id
    std::uint32_t pass = 0;  ///< pass, trial ≪ 16
};
VERGENCE_HD SequenceKey sequenceKey(std::uint32_t image, PassId id)
{
    return {image, id.pass | static_cast<std::uint32_t>(id.trial) << 16};
}

/// Words 2 and 3 of the counter. Specification, section 4.2.
VERGENCE_HD std::uint64_t counterHigh(std::uint32_t pass, int site, std::uint32_t level,
                                      Purpose purpose)
{
    const std::uint32_t last =
        static_cast<std::uint32_t>(site) | level << 16 | static_cast<std::uint32_t>(purpose) << 24;
    return pass | static_cast<std::uint64_t>(last) << 32;
}
/// Words 0 and 1.
VERGENCE_HD std::uint64_t counterLow(std::uint32_t image, Index block)
{
    return static_cast<std::uint32_t>(block) | static_cast<std::uint64_t>(image) << 32;
}

/// Whether an element whose byte equals the high part is dropped: 1 in 256 comes here.
VERGENCE_HD bool dropsByLowPart(const DropRate& rate, std::uint64_t seed, SequenceKey key, int site,
                                Purpose purpose, Index block, int inBlock)
{
    const auto level = 1u + static_cast<std::uint32_t>(inBlock & 3);
    const PhiloxBlock random =
        philox(seed, counterHigh(key.pass, site, level, purpose), counterLow(key.image, block));
    return random.word[inBlock >> 2] >> 8 < rate.low;
}

/// The decision about one element: the reference of all faster ways.
VERGENCE_HD bool isDropped(const DropRate& rate, std::uint64_t seed, SequenceKey key, int site,
                           Purpose purpose, Index element)
{
    const Index block = element / kMaskBlock;
    const auto inBlock = static_cast<int>(element % kMaskBlock);
    const PhiloxBlock random =
        philox(seed, counterHigh(key.pass, site, 0, purpose), counterLow(key.image, block));
    const std::uint32_t byte = random.word[inBlock >> 2] >> 8 * (inBlock & 3) & 255u;
    if (byte != rate.high)
        return byte < rate.high;
    return dropsByLowPart(rate, seed, key, site, purpose, block, inBlock);
}

/// Standard normal numbers of the elements 4q to 4q + 3 by Box and Muller's transform of two pairs
/// of words: block ⌊e/16⌋ and level (⌊e/4⌋ mod 4) of the element's counter. Specification, 3.5.
struct FourNormals {
    double value[4];
};
VERGENCE_HD FourNormals fourNormals(std::uint64_t seed, SequenceKey key, int site, Purpose purpose,
                                    Index quarter)
{
    const PhiloxBlock random =
        philox(seed, counterHigh(key.pass, site, static_cast<std::uint32_t>(quarter & 3), purpose),
               counterLow(key.image, quarter / 4));
    FourNormals result;
    for (int pair = 0; pair < 2; ++pair) {
        const double first = (random.word[2 * pair] + 0.5) / 4294967296.0;
        const double angle = random.word[2 * pair + 1] * (6.283185307179586476925 / 4294967296.0);
        const double radius = sqrt(-2.0 * log(first));
        result.value[2 * pair] = radius * cos(angle);
        result.value[2 * pair + 1] = radius * sin(angle);
    }
    return result;
}
VERGENCE_HD double normalOf(std::uint64_t seed, SequenceKey key, int site, Purpose purpose,
                            Index element)
{
    return fourNormals(seed, key, site, purpose, element / 4).value[element % 4];
}

} // namespace vergence::mc_embedding
