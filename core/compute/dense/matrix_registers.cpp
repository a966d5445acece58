#include "core/compute/dense/matrix_registers.h"

#if defined(__x86_64__) && defined(__linux__)
#define VERGENCE_HAS_TILES
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized" // both for intrinsics of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace vergence {

#if defined(VERGENCE_HAS_TILES)

// The build is for older processors: each function names what it needs, and calls no template that
// other files may share.
#define VERGENCE_TILES                                                                             \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16")))

namespace {

bool askForTiles()
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
    if ((d & kBf16) == 0 || (d & kTiles) == 0)
        return false;
    constexpr long kRequestPermission = 0x1023, kTileData = 18; // of Linux' asm/prctl.h
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// Turns four 4 × 4 blocks of words that lie side by side.
VERGENCE_TILES void turnFours(const __m512i* from, __m512i* to)
{
    const __m512i a = _mm512_unpacklo_epi32(from[0], from[1]);
    const __m512i b = _mm512_unpackhi_epi32(from[0], from[1]);
    const __m512i c = _mm512_unpacklo_epi32(from[2], from[3]);
    const __m512i d = _mm512_unpackhi_epi32(from[2], from[3]);
    to[0] = _mm512_unpacklo_epi64(a, c);
    to[1] = _mm512_unpackhi_epi64(a, c);
    to[2] = _mm512_unpacklo_epi64(b, d);
    to[3] = _mm512_unpackhi_epi64(b, d);
}

/// target [16, 16] = the turned 16 × 16 words of `source`, whose lines are `stride` bytes apart.
VERGENCE_TILES void turnWords(const char* source, Index stride, std::uint16_t* target)
{
    for (int quarter = 0; quarter < 4; ++quarter) {
        __m512i row[4], turned[4];
        for (int i = 0; i < 4; ++i) {
            const auto part = [&](int line) VERGENCE_TILES {
                return _mm_loadu_si128(reinterpret_cast<const __m128i*>(
                    source + (i + line) * stride + quarter * sizeof(__m128i)));
            };
            row[i] = _mm512_castsi128_si512(part(0));
            row[i] = _mm512_inserti32x4(row[i], part(4), 1);
            row[i] = _mm512_inserti32x4(row[i], part(8), 2);
            row[i] = _mm512_inserti32x4(row[i], part(12), 3);
        }
        turnFours(row, turned);
        for (int i = 0; i < 4; ++i)
            _mm512_store_si512(target + (4 * quarter + i) * kTileDepth, turned[i]);
    }
}

/// target [16, 32] = lines along the depth, zeros beyond them.
VERGENCE_TILES void copyLines(const std::uint16_t* source, Index stride, Index lines, Index depth,
                              std::uint16_t* target)
{
    const auto within = static_cast<__mmask32>((std::uint64_t{1} << depth) - 1);
    for (Index i = 0; i < kTileLines; ++i)
        _mm512_store_si512(target + i * kTileDepth,
                           _mm512_maskz_loadu_epi16(i < lines ? within : 0, source + i * stride));
}

/// target [16, 16, 2] = pairs of numbers that follow each other along the depth, of lines that lie
/// side by side.
VERGENCE_TILES void pairLines(const std::uint16_t* source, Index stride, Index lines, Index depth,
                              std::uint16_t* target)
{
    const auto within = static_cast<__mmask16>((1u << lines) - 1);
    for (Index i = 0; i < kTileLines; ++i) {
        const std::uint16_t* pair = source + 2 * i * stride;
        const __m256i low = _mm256_maskz_loadu_epi16(2 * i < depth ? within : 0, pair);
        const __m256i high =
            _mm256_maskz_loadu_epi16(2 * i + 1 < depth ? within : 0, pair + stride);
        _mm512_store_si512(target + i * kTileDepth,
                           _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
    }
}

VERGENCE_TILES void packTile(const TilePacking& p, Index line, Index step, std::uint16_t* target)
{
    const Index lines = p.lines - line < kTileLines ? p.lines - line : kTileLines;
    const Index first = step * kTileDepth;
    const Index depth = p.depth - first < kTileDepth ? p.depth - first : kTileDepth;
    const bool isTurned = p.isLeft != p.isAlongDepth,
               isWhole = lines == kTileLines && depth == kTileDepth;
    const std::uint16_t* source =
        p.source + (p.isAlongDepth ? line * p.stride + first : first * p.stride + line);
    if (p.isAlongDepth && isTurned && isWhole)
        return turnWords(reinterpret_cast<const char*>(source), 2 * p.stride, target);
    alignas(64) std::uint16_t before[kTileNumbers];
    std::uint16_t* copy = isTurned ? before : target;
    if (p.isAlongDepth)
        copyLines(source, p.stride, lines, depth, copy);
    else
        pairLines(source, p.stride, lines, depth, copy);
    if (isTurned)
        turnWords(reinterpret_cast<const char*>(before), 2 * kTileDepth, target);
}

/// Part of a strip's depth.
struct Steps {
    Index first, count;
};

/// A block of sums that waits to be rounded: row by row, while the registers multiply the next one.
struct Rounding {
    const float* from = nullptr;
    std::uint16_t* to = nullptr;
    Index fromStride = 0, toStride = 0, rows = 0;
    __mmask32 columns = 0;
};

VERGENCE_TILES void roundRows(Rounding& block, Index most)
{
    for (; most > 0 && block.rows > 0; --most, --block.rows) {
        const auto low = static_cast<__mmask16>(block.columns);
        const auto high = static_cast<__mmask16>(block.columns >> 16);
        const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, block.from + 16),
                                                  _mm512_maskz_loadu_ps(low, block.from));
        _mm512_mask_storeu_epi16(block.to, block.columns, (__m512i)both);
        block.from += block.fromStride;
        block.to += block.toStride;
    }
}

Rounding roundingOf(const TileStrip& s, Index tile)
{
    const Index first = tile * kTileLines, columns = s.columns - first;
    Rounding block{
        s.product + first, s.rounded + first, s.columnTiles * kTileLines, s.roundedStride, s.rows,
        ~__mmask32{0}};
    if (columns < 2 * kTileLines)
        block.columns = (__mmask32{1} << columns) - 1;
    return block;
}

/// product (+)= left · right, for `rows` × `columns` tiles; meanwhile finishes the block before.
template <int rows, int columns>
VERGENCE_TILES void multiplyBlock(const TileStrip& s, Index tile, Steps steps, Rounding& before)
{
    const Index roundedAtOnce = (2 * kTileLines + steps.count - 1) / steps.count;
    const std::uint16_t* left = s.left + steps.first * s.leftStep;
    const std::uint16_t* lowerLeft = left + s.leftTile;
    const std::uint16_t* right = s.right + (tile * s.steps + steps.first) * kTileNumbers;
    const std::uint16_t* nextRight = right + s.steps * kTileNumbers;
    const Index stride = kTileLines * s.columnTiles;
    float* product = s.product + tile * kTileLines;
    float* lower = product + kTileLines * stride;
    const long leftLine = 2 * s.leftLine, line = 2 * kTileDepth, productLine = 4 * stride;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (steps.first > 0) {
        _tile_loadd(0, product, productLine);
        if constexpr (columns == 2)
            _tile_loadd(1, product + kTileLines, productLine);
        if constexpr (rows == 2)
            _tile_loadd(2, lower, productLine);
        if constexpr (rows == 2 && columns == 2)
            _tile_loadd(3, lower + kTileLines, productLine);
    }
    for (Index step = 0; step < steps.count; ++step) {
        _tile_loadd(4, left + step * s.leftStep, leftLine);
        _tile_loadd(6, right + step * kTileNumbers, line);
        _tile_dpbf16ps(0, 4, 6);
        if constexpr (columns == 2) {
            _tile_loadd(7, nextRight + step * kTileNumbers, line);
            _tile_dpbf16ps(1, 4, 7);
        }
        if constexpr (rows == 2) {
            _tile_loadd(5, lowerLeft + step * s.leftStep, leftLine);
            _tile_dpbf16ps(2, 5, 6);
            if constexpr (columns == 2)
                _tile_dpbf16ps(3, 5, 7);
        }
        roundRows(before, roundedAtOnce);
    }
    _tile_stored(0, product, productLine);
    if constexpr (columns == 2)
        _tile_stored(1, product + kTileLines, productLine);
    if constexpr (rows == 2)
        _tile_stored(2, lower, productLine);
    if constexpr (rows == 2 && columns == 2)
        _tile_stored(3, lower + kTileLines, productLine);
}

/// In parts of the depth whose left tiles stay in the first cache.
template <int rows>
VERGENCE_TILES void multiplyRows(const TileStrip& s)
{
    constexpr Index kMostSteps = 16;
    const Index parts = (s.steps + kMostSteps - 1) / kMostSteps;
    for (Index part = 0; part < parts; ++part) {
        const Index first = part * s.steps / parts;
        const Steps steps{first, (part + 1) * s.steps / parts - first};
        const bool isLast = part == parts - 1 && s.rounded;
        Rounding before;
        for (Index tile = 0; tile < s.columnTiles; tile += 2) {
            if (tile + 1 < s.columnTiles)
                multiplyBlock<rows, 2>(s, tile, steps, before);
            else
                multiplyBlock<rows, 1>(s, tile, steps, before);
            if (isLast)
                before = roundingOf(s, tile);
        }
        roundRows(before, s.rows);
    }
}

/// What LDTILECFG reads. Registers 0, 1 and 4 hold the upper 16 rows of a block, 2, 3 and 5 the
/// lower ones, 6 and 7 two right tiles.
struct alignas(64) TileConfiguration {
    std::uint8_t palette = 1, startRow = 0, unused[14] = {};
    std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// For blocks of 0 to 32 rows. A table, as GCC 12 does not see that LDTILECFG reads all of it.
struct TileConfigurations {
    TileConfiguration ofRows[2 * kTileLines + 1];

    constexpr TileConfigurations()
    {
        for (int rows = 1; rows <= 2 * kTileLines; ++rows) {
            std::uint8_t* tiles = ofRows[rows].rows;
            const bool isDouble = rows > kTileLines;
            tiles[0] = tiles[1] = tiles[4] = static_cast<std::uint8_t>(isDouble ? 16 : rows);
            tiles[2] = tiles[3] = tiles[5] = static_cast<std::uint8_t>(isDouble ? rows - 16 : 16);
        }
    }
};
constexpr TileConfigurations kConfigurations;

VERGENCE_TILES void setRows(Index rows)
{
    _tile_loadconfig(&kConfigurations.ofRows[rows]);
}

VERGENCE_TILES void release()
{
    _tile_release();
}

} // namespace

bool hasMatrixRegisters()
{
    static const bool has = askForTiles();
    return has;
}

VERGENCE_TILES void packTiles(const TilePacking& packing)
{
    // Two tiles side by side share the cache lines of an operand whose lines are apart.
    const Index tiles = (packing.lines + kTileLines - 1) / kTileLines;
    const Index steps = (packing.depth + kTileDepth - 1) / kTileDepth;
    for (Index tile = 0; tile < tiles; tile += 2) {
        const Index last = tile + 1 < tiles ? tile + 1 : tile;
        for (Index step = 0; step < steps; ++step) {
            for (Index t = tile; t <= last; ++t)
                packTile(packing, t * kTileLines, step,
                         packing.target + (t * steps + step) * kTileNumbers);
        }
    }
}

MatrixRegisters::~MatrixRegisters()
{
    if (m_rows > 0)
        release();
}

void MatrixRegisters::multiply(const TileStrip& strip)
{
    if (m_rows != strip.rows)
        setRows(strip.rows);
    m_rows = strip.rows;
    strip.rows > kTileLines ? multiplyRows<2>(strip) : multiplyRows<1>(strip);
}

#pragma GCC diagnostic pop
#else

bool hasMatrixRegisters()
{
    return false;
}
void packTiles(const TilePacking&) {}
MatrixRegisters::~MatrixRegisters() = default;
void MatrixRegisters::multiply(const TileStrip&) {}

#endif

} // namespace vergence
