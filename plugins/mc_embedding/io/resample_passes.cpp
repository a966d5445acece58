// The passes with wide registers. The build is for every x86-64 processor, so what needs AVX2 is
// marked, and chosen when the program runs.

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "plugins/mc_embedding/io/resample.h"

namespace vergence::mc_embedding {

namespace {

constexpr int kFractionBits = 22;
constexpr int kBlock = 32; ///< columns at a time; their sums stay in registers

template <int Columns>
[[gnu::always_inline]] inline void columnBlock(const std::uint8_t* from, std::size_t stride,
                                               const std::int32_t* weights, int count,
                                               std::uint8_t* to)
{
    std::int32_t sums[Columns];
    for (std::int32_t& sum : sums)
        sum = 1 << (kFractionBits - 1);
    for (int j = 0; j < count; ++j, from += stride) {
        for (int i = 0; i < Columns; ++i)
            sums[i] += weights[j] * from[i];
    }
    for (int i = 0; i < Columns; ++i)
        to[i] = static_cast<std::uint8_t>(std::clamp(sums[i] >> kFractionBits, 0, 255));
}

[[gnu::always_inline]] inline void columns(const ColumnPass& pass)
{
    const AxisWeights& weights = *pass.weights;
    const auto stride = static_cast<std::size_t>(pass.from->width * pass.from->channels);
    for (int y = 0; y < pass.to->height; ++y) {
        const auto at = static_cast<std::size_t>(y);
        const std::uint8_t* from = pass.from->row(weights.first[at] - pass.firstRow);
        const std::int32_t* w =
            weights.coefficients.data() + at * static_cast<std::size_t>(weights.taps);
        std::uint8_t* to = pass.to->row(y);
        std::size_t x = 0;
        for (; x + kBlock <= stride; x += kBlock)
            columnBlock<kBlock>(from + x, stride, w, weights.count[at], to + x);
        for (; x < stride; ++x)
            columnBlock<1>(from + x, stride, w, weights.count[at], to + x);
    }
}

#if defined(__x86_64__)

/// Four taps of one output as products of 16-bit numbers: weight = high · 2¹¹ + low. Per half of
/// the register two taps, each pair four times.
struct WideTaps {
    std::int16_t high[16], low[16];
};
constexpr int kLowBits = 11;

std::vector<WideTaps> wideTaps(const AxisWeights& weights, std::size_t groups)
{
    std::vector<WideTaps> wide(weights.first.size() * groups);
    for (std::size_t o = 0; o < weights.first.size(); ++o) {
        const std::int32_t* w =
            weights.coefficients.data() + o * static_cast<std::size_t>(weights.taps);
        for (std::size_t j = 0; j < groups * 4; ++j) {
            const std::int32_t weight = j < static_cast<std::size_t>(weights.taps) ? w[j] : 0;
            WideTaps& group = wide[o * groups + j / 4];
            for (std::size_t copy = 0; copy < 4; ++copy) {
                const std::size_t lane = j % 4 / 2 * 8 + copy * 2 + j % 2;
                group.high[lane] = static_cast<std::int16_t>(weight >> kLowBits);
                group.low[lane] = static_cast<std::int16_t>(weight & ((1 << kLowBits) - 1));
            }
        }
    }
    return wide;
}

/// One output pixel of RGB: `from` at its first tap, 12 readable bytes per group and four more.
[[gnu::target("avx2")]] inline std::int32_t pixelOf(const std::uint8_t* from, const WideTaps* taps,
                                                    int groups)
{
    const __m256i spread =
        _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                         -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    __m256i high = _mm256_setzero_si256(), low = high;
    for (int g = 0; g < groups; ++g, from += 12) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m256i pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), spread);
        const __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(taps[g].high));
        const __m256i lower = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(taps[g].low));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(pairs, upper));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(pairs, lower));
    }
    const __m256i both = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    sum = _mm_add_epi32(sum, _mm_set1_epi32(1 << (kFractionBits - 1)));
    sum = _mm_packs_epi32(_mm_srai_epi32(sum, kFractionBits), sum);
    return _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
}

[[gnu::target("avx2")]] void rowsWide(const RowPass& pass)
{
    const AxisWeights& weights = *pass.weights;
    const std::size_t groups = (static_cast<std::size_t>(weights.taps) + 3) / 4;
    const std::vector<WideTaps> wide = wideTaps(weights, groups);
    // Groups of four taps and whole registers read beyond the end of a row.
    std::vector<std::uint8_t> row((static_cast<std::size_t>(pass.from->width) + groups * 4) * 3 +
                                  4);
    for (int y = 0; y < pass.to->height; ++y) {
        std::memcpy(row.data(), pass.from->row(pass.firstRow + y),
                    static_cast<std::size_t>(pass.from->width) * 3);
        std::uint8_t* to = pass.to->row(y);
        for (std::size_t x = 0; x < weights.first.size(); ++x, to += 3) {
            const int used = (weights.count[x] + 3) / 4;
            const std::int32_t pixel =
                pixelOf(row.data() + weights.first[x] * 3, &wide[x * groups], used);
            std::memcpy(to, &pixel, 3);
        }
    }
}

[[gnu::target("avx2")]] void columnsWide(const ColumnPass& pass)
{
    columns(pass);
}

const bool hasWideRegisters = __builtin_cpu_supports("avx2");

#endif

} // namespace

void filterRows(const RowPass& pass)
{
#if defined(__x86_64__)
    if (hasWideRegisters && pass.from->channels == 3)
        return rowsWide(pass);
#endif
    filterRowsPlain(pass);
}

void filterColumns(const ColumnPass& pass)
{
#if defined(__x86_64__)
    if (hasWideRegisters)
        return columnsWide(pass);
#endif
    filterColumnsPlain(pass);
}

void filterColumnsPlain(const ColumnPass& pass)
{
    columns(pass);
}

} // namespace vergence::mc_embedding
