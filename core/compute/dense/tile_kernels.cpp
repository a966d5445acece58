#include "core/compute/dense/tile_kernels.h"

#include <algorithm>
#include <cstring>

#include "core/compute/dense/block_transpose.h"
#include "core/compute/ops/activation_math.h"
#include "core/compute/ops/loops.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace {

/// One row of a tile. `Product` is the type of the product's numbers.
template <class Out, class Product, Activation kind>
struct FinishRow {
    using Real = Accumulator<Out>;
    TileFinish tile;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const auto* product = static_cast<const Product*>(tile.product) + row * tile.productStride;
        auto* before = static_cast<Out*>(tile.preActivation) + row * tile.preActivationStride;
        const auto* residual = static_cast<const Out*>(tile.residual) + row * tile.residualStride;
        Out* y = static_cast<Out*>(tile.y) + row * tile.yStride;
        const WeightPointer<Out> bias(tile.bias, tile.biasType != tile.type);
        const Real rowBias = tile.biasPerRow ? bias.one(row, Real(0)) : Real(0);
        const auto alpha = Real(tile.alpha), beta = Real(tile.beta);
        team.template each<Out>(tile.columns, [&](auto at) VERGENCE_INLINE {
            auto value = spread<Pack<Real, decltype(at)::kSize>>(rowBias);
            if (bias.isThere() && !tile.biasPerRow)
                value = bias.at(at, Real(0));
            if (tile.product)
                value += loadAs<Real>(product, at) * alpha;
            if (tile.preActivation)
                store(before, at, value);
            value = activationValue<kind>(value);
            if (tile.residual)
                value += load<Out>(residual, at);
            if (beta != Real(0))
                value += load<Out>(static_cast<const Out*>(y), at) * beta;
            store(y, at, value);
        });
    }
};

/// body(team, row) for all rows: on the CPU by the calling thread.
template <class T, class Body>
void runRows(Stream& stream, Index rows, Index columns, const Body& body)
{
#if defined(__CUDACC__)
    forEachRow<T>(stream, rows, columns, body);
#else
    (void)stream;
    (void)columns;
    for (Index row = 0; row < rows; ++row)
        body(Team{}, row);
#endif
}

template <class Out, class Product>
void finishTyped(Stream& stream, const TileFinish& tile)
{
    const auto run = [&](const auto& body) { runRows<Out>(stream, tile.rows, tile.columns, body); };
    switch (tile.activation) {
    case Activation::None:
        return run(FinishRow<Out, Product, Activation::None>{tile});
    case Activation::GeluErf:
        return run(FinishRow<Out, Product, Activation::GeluErf>{tile});
    case Activation::GeluTanh:
        return run(FinishRow<Out, Product, Activation::GeluTanh>{tile});
    case Activation::QuickGelu:
        return run(FinishRow<Out, Product, Activation::QuickGelu>{tile});
    case Activation::Silu:
        return run(FinishRow<Out, Product, Activation::Silu>{tile});
    case Activation::Relu:
        return run(FinishRow<Out, Product, Activation::Relu>{tile});
    }
}

void finishTileBody(Stream& stream, const TileFinish& tile)
{
    withFloatType(tile.type, [&](auto tag) {
        using Out = typename decltype(tag)::Type;
        if (tile.productIsRounded)
            finishTyped<Out, Out>(stream, tile);
        else
            finishTyped<Out, Accumulator<Out>>(stream, tile);
    });
}

#if !defined(__CUDACC__)

template <class T>
void copyRows(const TileCopy& tile)
{
    for (Index row = 0; row < tile.rows; ++row) {
        const T* from = static_cast<const T*>(tile.source) + row * tile.sourceStride;
        float* to = tile.target + row * tile.targetStride;
        Team{}.each<T>(tile.columns,
                       [&](auto at) VERGENCE_INLINE { store(to, at, loadAs<float>(from, at)); });
    }
}

template <class T>
void copyTransposed(const TileCopy& tile)
{
    const Lanes<kBlock, true> whole{0, kBlock};
    // Few rows at a time, along their memory: as many streams as the processor reads ahead.
    for (Index row = 0; row < tile.rows; row += kBlock) {
        const Index rows = std::min<Index>(kBlock, tile.rows - row);
        for (Index column = 0; column < tile.columns; column += kBlock) {
            const Index columns = std::min<Index>(kBlock, tile.columns - column);
            const T* from = static_cast<const T*>(tile.source) + row * tile.sourceStride + column;
            float* to = tile.target + column * tile.targetStride + row;
            if (rows == kBlock && columns == kBlock) {
                transposeBlock(
                    [&](int i) VERGENCE_INLINE -> BlockRow {
                        return loadAs<float>(from + i * tile.sourceStride, whole);
                    },
                    [&](int i, BlockRow turned)
                        VERGENCE_INLINE { store(to + i * tile.targetStride, whole, turned); });
                continue;
            }
            for (Index j = 0; j < columns; ++j) {
                for (Index i = 0; i < rows; ++i)
                    to[j * tile.targetStride + i] =
                        static_cast<float>(from[i * tile.sourceStride + j]);
            }
        }
    }
}

void copyTileBody(Stream&, const TileCopy& tile)
{
    withFloatType(tile.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        tile.transpose ? copyTransposed<T>(tile) : copyRows<T>(tile);
    });
}

void sumPartialsBody(Stream&, const PartialSum& sum)
{
    withFloatType(sum.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        T* target = static_cast<T*>(sum.target);
        Team{}.each<T>(sum.count, [&](auto at) VERGENCE_INLINE {
            auto value = loadAs<float>(sum.partials, at);
            if (sum.accumulate)
                value += loadAs<float>(static_cast<const T*>(target), at);
            for (Index p = 1; p < sum.parts; ++p)
                value += loadAs<float>(sum.partials + p * sum.stride, at);
            store(target, at, value);
        });
    });
}

constexpr int kColumns = 4;
constexpr int kLanes = kPackSize<float>;
using Floats = Pack<float, kLanes>;

/// Keeps the compiler from reading a pack again wherever it is used: loads are what is short.
template <class P>
VERGENCE_HD void keepInRegister(P& pack)
{
#if defined(__SSE__)
    asm("" : "+v"(pack));
#elif defined(__aarch64__)
    asm("" : "+w"(pack));
#endif
}

/// One step of kColumns rows of b under `Rows` rows of a: sums[i · kColumns + j] += a_i ⊙ b_j,
/// while the next rows of b are asked for. The indices are written out, so that all sums stay in
/// registers.
template <class T, class At, class Sum, std::size_t... I, std::size_t... J>
VERGENCE_HD void multiplyStep(const T* a, Index aStride, const T* const* b, Index bStride, At at,
                              Sum* sums, std::index_sequence<I...>, std::index_sequence<J...>)
{
    const auto nextRows = kColumns * bStride * static_cast<Index>(sizeof(T));
    (packs::fetchAhead(b[J] + at.first, nextRows), ...);
    Sum weights[] = {loadAs<float>(b[J], at)...};
    (keepInRegister(weights[J]), ...);
    const auto row = [&](std::size_t i) VERGENCE_INLINE {
        const Sum x = loadAs<float>(a + static_cast<Index>(i) * aStride, at);
        ((sums[i * kColumns + J] = multiplyAdd(x, weights[J], sums[i * kColumns + J])), ...);
    };
    (row(I), ...);
}

/// Lanes of a and b in runs of `each`: the first or second of every pair of runs.
template <int each, bool second, std::size_t... I>
VERGENCE_HD Floats alternateRuns(Floats a, Floats b, std::index_sequence<I...>)
{
    constexpr auto from = [](int i) { return i / each * 2 * each + i % each + second * each; };
    return __builtin_shufflevector(a, b, from(static_cast<int>(I))...);
}

/// Adds up the lanes of `count` packs at once, in each round two packs to one of half the lanes for
/// each sum: in the end lane i of all packs in a row is the sum of pack i.
template <int count, int each = kLanes / 2>
VERGENCE_HD void addLanes(Floats* sums)
{
    if constexpr (each > 0) {
        constexpr std::make_index_sequence<kLanes> kAll;
        constexpr int kLeft = (count + 1) / 2;
#pragma GCC unroll 16
        for (int i = 0; i < kLeft; ++i) {
            const Floats a = sums[2 * i], b = sums[std::min(2 * i + 1, count - 1)];
            sums[i] =
                alternateRuns<each, false>(a, b, kAll) + alternateRuns<each, true>(a, b, kAll);
        }
        addLanes<kLeft, each / 2>(sums);
    }
}

/// `Rows` rows of a against kColumns rows of b at a time, each sum in the lanes of one register.
template <class T, int Rows>
void multiplyRows(const RowProduct& p)
{
    constexpr int N = kPackSize<T>;
    constexpr std::make_index_sequence<Rows> kRows;
    constexpr std::make_index_sequence<kColumns> kEach;
    const T* a = static_cast<const T*>(p.a);
    for (Index column = 0; column < p.n; column += kColumns) {
        const int columns = static_cast<int>(std::min<Index>(kColumns, p.n - column));
        const T* b[kColumns];
        for (int j = 0; j < kColumns; ++j)
            b[j] = static_cast<const T*>(p.b) + (column + std::min(j, columns - 1)) * p.bStride;
        const auto step = [&](auto at, Floats* sums) VERGENCE_INLINE {
            multiplyStep(a, p.aStride, b, p.bStride, at, sums, kRows, kEach);
        };
        Floats sums[Rows * kColumns] = {};
        Index i = 0;
        for (; i + N <= p.k; i += N)
            step(Lanes<N, true>{i, N}, sums);
        if (i < p.k)
            step(Lanes<N, false>{i, static_cast<int>(p.k - i)}, sums);
        addLanes<Rows * kColumns>(sums);
        float totals[Rows * kColumns];
        std::memcpy(totals, sums, sizeof(totals));
        for (int r = 0; r < Rows; ++r)
            std::copy_n(totals + r * kColumns, columns, p.product + r * p.productStride + column);
    }
}

template <class T>
void multiplyFewRows(const RowProduct& p)
{
    switch (p.m) {
    case 1:
        return multiplyRows<T, 1>(p);
    case 2:
        return multiplyRows<T, 2>(p);
    case 3:
        return multiplyRows<T, 3>(p);
    default:
        return multiplyRows<T, 4>(p);
    }
}

void rowProductBody(Stream&, const RowProduct& p)
{
    if (p.type == DType::F16)
        multiplyFewRows<Float16>(p);
    else if (p.type == DType::BF16)
        multiplyFewRows<BFloat16>(p);
    else
        multiplyFewRows<float>(p);
}

VERGENCE_REGISTER_KERNEL(copyTile, copyTileBody)
VERGENCE_REGISTER_KERNEL(sumPartials, sumPartialsBody)
VERGENCE_REGISTER_KERNEL(rowProduct, rowProductBody)

#endif

VERGENCE_REGISTER_KERNEL(finishTile, finishTileBody)

} // namespace
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
