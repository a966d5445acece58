#include "core/compute/dense/panel_kernels.h"

#include "core/compute/dense/turn_lanes.h"
#include "core/compute/launch.h"
#include "core/compute/ops/pack.h"

#if !defined(__CUDACC__)

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace {

// A block of the product stays in registers while k passes: kRows rows of kPacks packs, besides one
// pack for each of b and one for a. 32 registers hold 6 × 4, 16 hold 6 × 2.
constexpr int kLanes = kPackSize<float>;
constexpr int kRows = 6;
constexpr int kPacks = kVectorBytes == 64 ? 4 : 2;
/// Rows of b that are called for ahead of their use.
constexpr Index kRowsAhead = 8;

using Floats = Pack<float, kLanes>;
constexpr Lanes<kLanes, true> kWhole{0, kLanes};

/// Which columns of a block pack number j covers.
template <bool isWhole>
Lanes<kLanes, isWhole> lanesOf(int j, int columns)
{
    return {j * kLanes, std::min(columns - j * kLanes, kLanes)};
}

/// One block: `columns` columns of b from `b` on, rows `width` apart.
template <int Rows, int Packs, bool isWhole>
void multiplyBlock(const PanelProduct& p, const float* a, const float* b, Index width, float* y,
                   int columns)
{
    Floats sums[Rows][Packs] = {};
    if (p.accumulate) {
#pragma GCC unroll 6
        for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
            for (int j = 0; j < Packs; ++j) {
                if (isWhole || columns > j * kLanes)
                    sums[i][j] =
                        loadAs<float>(y + i * p.productStride, lanesOf<isWhole>(j, columns));
            }
        }
    }
#pragma GCC unroll 2
    for (Index step = 0; step < p.k; ++step, ++a, b += width) {
        Floats weights[Packs];
#pragma GCC unroll 4
        for (int j = 0; j < Packs; ++j) {
            weights[j] = loadAs<float>(b + j * kLanes, kWhole);
            __builtin_prefetch(b + kRowsAhead * width + j * kLanes);
        }
#pragma GCC unroll 6
        for (int i = 0; i < Rows; ++i) {
            const Floats x = spread<Floats>(a[i * p.aStride]);
#pragma GCC unroll 4
            for (int j = 0; j < Packs; ++j)
                sums[i][j] = multiplyAdd(x, weights[j], sums[i][j]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < Packs; ++j) {
            if (isWhole || columns > j * kLanes)
                store(y + i * p.productStride, lanesOf<isWhole>(j, columns), sums[i][j]);
        }
    }
}

using Block = void (*)(const PanelProduct&, const float*, const float*, Index, float*, int);

template <int Rows>
Block blockOf(int packs, bool isWhole)
{
    switch (packs) {
    case 1:
        return isWhole ? multiplyBlock<Rows, 1, true> : multiplyBlock<Rows, 1, false>;
    case 2:
        return isWhole ? multiplyBlock<Rows, 2, true> : multiplyBlock<Rows, 2, false>;
    case 3:
        return isWhole ? multiplyBlock<Rows, 3, true> : multiplyBlock<Rows, 3, false>;
    default:
        return isWhole ? multiplyBlock<Rows, kPacks, true> : multiplyBlock<Rows, kPacks, false>;
    }
}

Block blockOf(Index rows, int packs, bool isWhole)
{
    switch (rows) {
    case 1:
        return blockOf<1>(packs, isWhole);
    case 2:
        return blockOf<2>(packs, isWhole);
    case 3:
        return blockOf<3>(packs, isWhole);
    case 4:
        return blockOf<4>(packs, isWhole);
    case 5:
        return blockOf<5>(packs, isWhole);
    default:
        return blockOf<kRows>(packs, isWhole);
    }
}

void multiplyPanelsBody(Stream&, const PanelProduct& p)
{
    constexpr Index kColumns = kPacks * kLanes;
    for (Index panel = 0; panel < p.layout.columns; panel += PanelLayout::kPanelColumns) {
        const Index width = p.layout.widthAt(panel);
        const float* rows = p.b + p.layout.offsetAt(panel) + p.firstRow * width;
        const Index end = std::min(panel + width, p.layout.columns);
        for (Index column = panel; column < end; column += kColumns) {
            const Index part = std::min(kColumns, panel + width - column);
            const auto columns = static_cast<int>(std::min(part, end - column));
            const int packs = static_cast<int>(part / kLanes);
            const Block whole = blockOf(kRows, packs, columns == part);
            Index row = 0;
            for (; row + kRows <= p.m; row += kRows)
                whole(p, p.a + row * p.aStride, rows + column - panel, width,
                      p.product + row * p.productStride + column, columns);
            if (row < p.m)
                blockOf(p.m - row, packs,
                        columns == part)(p, p.a + row * p.aStride, rows + column - panel, width,
                                         p.product + row * p.productStride + column, columns);
        }
    }
}

/// The first `count` numbers; the others are 0.
template <class T>
Floats loadSome(const T* from, Index count)
{
    if (count >= kLanes)
        return loadAs<float>(from, kWhole);
    return loadAs<float>(from, Lanes<kLanes, false>{0, static_cast<int>(count)});
}

/// One panel of a matrix [depth, columns].
template <class T>
void packRows(const T* from, Index stride, Index depth, Index columns, Index width, float* panel)
{
    for (Index row = 0; row < depth; ++row, from += stride, panel += width) {
        for (Index j = 0; j < width; j += kLanes)
            store(panel + j, kWhole, loadSome(from + j, std::max<Index>(columns - j, 0)));
    }
}

/// One panel of a matrix [columns, depth].
template <class T>
void packTurned(const T* from, Index stride, Index depth, Index columns, Index width, float* panel)
{
    for (Index column = 0; column < width; column += kLanes) {
        const Index rows = columns - column;
        for (Index first = 0; first < depth; first += kLanes) {
            Floats block[kLanes];
#pragma GCC unroll 16
            for (int i = 0; i < kLanes; ++i)
                block[i] = i < rows ? loadSome(from + (column + i) * stride + first, depth - first)
                                    : Floats{};
            turnLanes(block);
            float* to = panel + first * width + column;
#pragma GCC unroll 16
            for (int i = 0; i < kLanes; ++i) {
                if (first + i < depth)
                    store(to + i * width, kWhole, block[i]);
            }
        }
    }
}

template <class T>
void packTyped(const PanelSource& source, const PanelLayout& layout, float* panels)
{
    const T* from = static_cast<const T*>(source.data);
    for (Index first = 0; first < layout.columns; first += PanelLayout::kPanelColumns) {
        const Index width = layout.widthAt(first);
        const Index columns = std::min(width, layout.columns - first);
        float* panel = panels + layout.offsetAt(first);
        if (source.isTransposed)
            packTurned(from + first * source.rowStride, source.rowStride, layout.depth, columns,
                       width, panel);
        else
            packRows(from + first, source.rowStride, layout.depth, columns, width, panel);
    }
}

void packPanelsBody(Stream&, const PanelSource& source, const PanelLayout& layout, float* panels)
{
    if (source.type == DType::F16)
        packTyped<Float16>(source, layout, panels);
    else if (source.type == DType::BF16)
        packTyped<BFloat16>(source, layout, panels);
    else
        packTyped<float>(source, layout, panels);
}

VERGENCE_REGISTER_KERNEL(multiplyPanels, multiplyPanelsBody)
VERGENCE_REGISTER_KERNEL(packPanels, packPanelsBody)

} // namespace
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence

#endif
