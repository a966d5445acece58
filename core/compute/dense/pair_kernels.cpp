#include "core/compute/dense/pair_kernels.h"

#if !defined(__CUDACC__)

#include <algorithm>
#include <cstring>

#include "core/compute/dense/block_transpose.h"
#include "core/compute/ops/loops.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace {

template <class Vector>
Vector loadedAs(const std::uint16_t* from)
{
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

template <class Vector>
void storeBits(std::uint16_t* to, Vector vector)
{
    std::memcpy(to, &vector, sizeof vector);
}

/// kBlock numbers of `upper` in the lower halves of words, of `lower` in the higher ones: as they
/// lie in memory when they alternate.
BlockRow alternating(const std::uint16_t* upper, const std::uint16_t* lower)
{
    using Numbers = Pack<std::uint16_t, kBlock>;
    using Words = Pack<std::uint32_t, kBlock>;
    const auto wide = [](const std::uint16_t* from) VERGENCE_INLINE -> Words {
        return __builtin_convertvector(loadedAs<Numbers>(from), Words);
    };
    return (BlockRow)(wide(upper) | wide(lower) << 16);
}

void turnPairsBody(Stream&, const TurnedPairs& turn)
{
    constexpr Index kRows = 2 * kBlock;
    for (Index row = 0; row < turn.rows; row += kRows) {
        const Index rows = std::min(kRows, turn.rows - row);
        for (Index column = 0; column < turn.columns; column += kBlock) {
            const Index columns = std::min<Index>(kBlock, turn.columns - column);
            const std::uint16_t* from = turn.source + row * turn.sourceStride + column;
            std::uint16_t* to = turn.target + column * turn.targetStride + row;
            if (rows == kRows && columns == kBlock) {
                transposeBlock(
                    [&](int i) VERGENCE_INLINE -> BlockRow {
                        const std::uint16_t* upper = from + 2 * i * turn.sourceStride;
                        return alternating(upper, upper + turn.sourceStride);
                    },
                    [&](int i, BlockRow turned)
                        VERGENCE_INLINE { storeBits(to + i * turn.targetStride, turned); });
                continue;
            }
            for (Index j = 0; j < columns; ++j) {
                for (Index i = 0; i < rows; ++i)
                    to[j * turn.targetStride + i] = from[i * turn.sourceStride + j];
            }
        }
    }
}

/// Numbers of a panel one by one: rows and columns from the first ones up to the last.
void pairSingly(const PairedPanel& p, Index firstRow, Index lastRow, Index firstColumn,
                Index lastColumn)
{
    const Index down = p.isTransposed ? 1 : p.sourceStride;
    const Index across = p.isTransposed ? p.sourceStride : 1;
    for (Index r = firstRow; r < lastRow; ++r) {
        for (Index c = firstColumn; c < lastColumn; ++c)
            p.target[(r / 2 * PairedPanel::kColumns + c) * 2 + r % 2] =
                p.source[r * down + c * across];
    }
}

void pairRows(const PairedPanel& p)
{
    const Index wholeRows = p.depth / 2 * 2, wholeColumns = p.columns / kBlock * kBlock;
    for (Index row = 0; row < wholeRows; row += 2) {
        const std::uint16_t* upper = p.source + row * p.sourceStride;
        std::uint16_t* to = p.target + row * PairedPanel::kColumns;
        for (Index column = 0; column < wholeColumns; column += kBlock)
            storeBits(to + 2 * column,
                      alternating(upper + column, upper + p.sourceStride + column));
    }
    pairSingly(p, 0, wholeRows, wholeColumns, p.columns);
    pairSingly(p, wholeRows, p.depth, 0, p.columns);
}

/// Pairs lie side by side in the source already: words to be turned.
void pairColumns(const PairedPanel& p)
{
    constexpr Index kRows = 2 * kBlock;
    const Index wholeRows = p.depth / kRows * kRows, wholeColumns = p.columns / kBlock * kBlock;
    for (Index column = 0; column < wholeColumns; column += kBlock) {
        for (Index row = 0; row < wholeRows; row += kRows) {
            const std::uint16_t* from = p.source + column * p.sourceStride + row;
            std::uint16_t* to = p.target + row * PairedPanel::kColumns + 2 * column;
            transposeBlock(
                [&](int i) VERGENCE_INLINE -> BlockRow {
                    return loadedAs<BlockRow>(from + i * p.sourceStride);
                },
                [&](int i, BlockRow turned)
                    VERGENCE_INLINE { storeBits(to + 2 * i * PairedPanel::kColumns, turned); });
        }
    }
    pairSingly(p, 0, wholeRows, wholeColumns, p.columns);
    pairSingly(p, wholeRows, p.depth, 0, p.columns);
}

void pairPanelBody(Stream&, const PairedPanel& p)
{
    const Index depth =
        (p.depth + PairedPanel::kRows - 1) / PairedPanel::kRows * PairedPanel::kRows;
    if (p.columns < PairedPanel::kColumns || p.depth < depth)
        std::fill_n(p.target, depth * PairedPanel::kColumns, std::uint16_t{0});
    p.isTransposed ? pairColumns(p) : pairRows(p);
}

VERGENCE_REGISTER_KERNEL(turnPairs, turnPairsBody)
VERGENCE_REGISTER_KERNEL(pairPanel, pairPanelBody)

} // namespace
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence

#endif
