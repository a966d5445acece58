#include "plugins/mc_embedding/compute/mask_kernels.h"

#include "core/compute/ops/random_words.h"

namespace vergence::mc_embedding {
namespace {

#if defined(__CUDACC__)

/// Blocks of random words of one item.
constexpr int kItemBlocks = 1;

/// Bit i: byte i of the block is less than, or equal to, `high`.
struct Compared {
    std::uint16_t below[kItemBlocks], equal[kItemBlocks];
};
VERGENCE_HD Compared comparedBytes(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                   std::uint32_t high)
{
    const PhiloxBlock random = philox(seed, stream, index);
    std::uint32_t below = 0, equal = 0;
    for (int i = 0; i < kMaskBlock; ++i) {
        const std::uint32_t byte = random.word[i / 4] >> 8 * (i & 3) & 255u;
        below |= static_cast<std::uint32_t>(byte < high) << i;
        equal |= static_cast<std::uint32_t>(byte == high) << i;
    }
    return {{static_cast<std::uint16_t>(below)}, {static_cast<std::uint16_t>(equal)}};
}

#else

constexpr int kItemBlocks = philoxes::kWords;

struct Compared {
    alignas(64) std::uint16_t below[kItemBlocks], equal[kItemBlocks];
};

/// Bits of the bytes of one vector that are less than, or equal to, `high`.
VERGENCE_HD void compareVector(philoxes::Words words, std::uint32_t high, std::uint16_t* below,
                               std::uint16_t* equal)
{
#if defined(__AVX512BW__)
    const __m512i bytes = (__m512i)words;
    const __m512i limit = _mm512_maskz_set1_epi8(~__mmask64{0}, static_cast<char>(high));
    const std::uint64_t less = _mm512_cmplt_epu8_mask(bytes, limit);
    const std::uint64_t same = _mm512_cmpeq_epu8_mask(bytes, limit);
    std::memcpy(below, &less, sizeof(less));
    std::memcpy(equal, &same, sizeof(same));
#elif defined(__AVX2__)
    const __m256i bytes = (__m256i)words;
    const __m256i limit = _mm256_set1_epi8(static_cast<char>(high));
    const __m256i atLeast = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, limit), bytes);
    const auto less = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(atLeast));
    const auto same =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, limit)));
    std::memcpy(below, &less, sizeof(less));
    std::memcpy(equal, &same, sizeof(same));
#elif defined(__SSE2__)
    const __m128i bytes = (__m128i)words;
    const __m128i limit = _mm_set1_epi8(static_cast<char>(high));
    const __m128i atLeast = _mm_cmpeq_epi8(_mm_max_epu8(bytes, limit), bytes);
    *below = static_cast<std::uint16_t>(~_mm_movemask_epi8(atLeast));
    *equal = static_cast<std::uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, limit)));
#else
    const auto bytes = (Pack<std::uint8_t, 16>)words;
    const auto limit = static_cast<std::uint8_t>(high);
    *below = plain::byteBits(bytes < limit);
    *equal = plain::byteBits(bytes == limit);
#endif
}

VERGENCE_HD Compared comparedBytes(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                   std::uint32_t high)
{
    philoxes::Words word[4];
    philoxes::blocks(seed, stream, index, word);
    philoxes::inOrder(word);
    Compared result;
    for (int v = 0; v < 4; ++v)
        compareVector(word[v], high, result.below + v * kItemBlocks / 4,
                      result.equal + v * kItemBlocks / 4);
    return result;
}

#endif

struct MaskBits {
    MaskArguments p;
    Index itemsBefore[MaskArguments::kMostSites + 1]; ///< of sites before

    explicit MaskBits(const MaskArguments& arguments) : p(arguments), itemsBefore{}
    {
        for (int i = 0; i < p.siteCount; ++i)
            itemsBefore[i + 1] = itemsBefore[i] + p.sequences * itemsPerSequence(p.sites[i]);
    }
    Index items() const { return itemsBefore[p.siteCount]; }

    VERGENCE_HD static Index itemsPerSequence(const MaskSite& site)
    {
        return (site.blocks + kItemBlocks - 1) / kItemBlocks;
    }

    VERGENCE_HD void operator()(Index item) const
    {
        int i = 0;
        while (item >= itemsBefore[i + 1])
            ++i;
        const MaskSite site = p.sites[i];
        const Index perSequence = itemsPerSequence(site), within = item - itemsBefore[i];
        const Index sequence = within / perSequence, first = within % perSequence * kItemBlocks;
        const SequenceKey key = p.keys[sequence];
        Compared bits =
            comparedBytes(p.seed, counterHigh(key.pass, site.number, 0, Purpose::Dropout),
                          counterLow(key.image, first), site.rate.high);
        const Index left = site.blocks - first;
        const int count = left < kItemBlocks ? static_cast<int>(left) : kItemBlocks;
        std::uint16_t* target = p.bits + site.first + sequence * site.blocks + first;
        for (int k = 0; k < count; ++k)
            target[k] = bits.below[k];
        if (site.rate.low != 0)
            refine(bits, key, site, first, count, target);
    }

    /// Decides about the elements whose byte equals the high part.
    VERGENCE_HD void refine(const Compared& bits, SequenceKey key, const MaskSite& site,
                            Index first, int count, std::uint16_t* target) const
    {
        for (int k = 0; k < count; ++k) {
            for (unsigned open = bits.equal[k]; open != 0; open &= open - 1) {
                int i = 0;
                while ((open >> i & 1u) == 0)
                    ++i;
                if (dropsByLowPart(site.rate, p.seed, key, site.number, Purpose::Dropout, first + k,
                                   i))
                    target[k] = static_cast<std::uint16_t>(target[k] | 1u << i);
            }
        }
    }
};

void maskBitsBody(Stream& stream, const MaskArguments& arguments)
{
    const MaskBits body(arguments);
    forEach(stream, body.items(), body, 64);
}

} // namespace

VERGENCE_REGISTER_KERNEL(maskBits, maskBitsBody)

} // namespace vergence::mc_embedding
