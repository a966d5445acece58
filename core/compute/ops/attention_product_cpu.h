#pragma once

// For the CPU builds of kernel files. Products of small matrices whose columns are vector lanes:
// nothing is ever summed across lanes, so no operand needs another order than the one it has.

#include <type_traits>

#include "core/compute/ops/attention_lanes.h"
#include "core/compute/ops/attention_math.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_cpu {

using lanes::kLanes;
using lanes::Vector;

template <class Real>
inline constexpr Real kLog2e = Real(1.44269504088896340736);
template <class Real>
inline constexpr Real kLn2 = Real(0.69314718055994530942);
template <class Real>
inline constexpr Real kInfinity = Real(__builtin_inf());

VERGENCE_HD float logOf(float x)
{
    return __builtin_logf(x);
}
VERGENCE_HD double logOf(double x)
{
    return __builtin_log(x);
}

/// Queries of a block, lanes of the transposed matrices; and keys of a block.
inline constexpr int kQueryBlock = 64, kKeyBlock = 64;
/// Keys that are skipped together where a mask hides them from all queries of a vector.
inline constexpr int kKeyPiece = 16;
/// Distance between rows of d numbers: an odd number of cache lines, so that rows spread over all
/// sets.
template <class Real>
inline constexpr Index kRowStride = kLargestHead + 64 / static_cast<Index>(sizeof(Real));

template <class Real>
VERGENCE_HD constexpr Index roundedToLanes(Index n)
{
    return (n + kLanes<Real> - 1) / kLanes<Real> * kLanes<Real>;
}

/// A matrix whose rows lie `stride` apart.
template <class Real>
struct Matrix {
    Real* data = nullptr;
    Index stride = 0;

    VERGENCE_HD Matrix at(Index row, Index column) const
    {
        return {data + row * stride + column, stride};
    }
    VERGENCE_HD operator Matrix<const Real>() const { return {data, stride}; }
};

/// Vectors side by side and rows that stay in registers. Twelve rows of a matrix that is read
/// along its rows would need more addresses than there are.
inline constexpr int kMostVectors = lanes::kRegisters == 32 ? 4 : 2;
template <int Vectors, bool Transposed>
inline constexpr int kTileRows = Vectors == kMostVectors ? 6
                                 : Vectors == 3          ? 8
                                 : Transposed            ? 12
                                                         : 8;

/// c[Rows, Vectors · lanes] (+)= op(a) · b over `count`. op(a)[r, i] is a[r, i], or a[i, r] where
/// Transposed.
template <class Real, int Vectors, int Rows, bool Transposed>
[[gnu::noinline]] void tile(Index count, Matrix<const Real> a, Matrix<const Real> b, Matrix<Real> c,
                            bool accumulate)
{
    constexpr int kWidth = kLanes<Real>;
    Vector<Real> sum[Rows][Vectors];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
            sum[r][v] =
                accumulate ? lanes::load(c.data + r * c.stride + v * kWidth) : Vector<Real>{};
    }
    // rows in threes: an address may add once or twice a stride
    const Real* from[] = {a.data, a.data + 3 * a.stride, a.data + 6 * a.stride};
    const Index step = Transposed ? a.stride : 1;
    for (Index i = 0; i < count; ++i) {
        Vector<Real> row[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
            row[v] = lanes::load(b.data + v * kWidth);
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            const Real value = Transposed ? from[0][r] : from[r / 3][r % 3 * a.stride];
            const Vector<Real> factor = lanes::spread(value);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v)
                sum[r][v] = lanes::multiplyAdd(factor, row[v], sum[r][v]);
        }
        b.data += b.stride;
        from[0] += step, from[1] += step, from[2] += step;
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
            lanes::store(c.data + r * c.stride + v * kWidth, sum[r][v]);
    }
}

/// A strip of `Vectors` vectors over all rows.
template <class Real, int Vectors, bool Transposed>
VERGENCE_HD void strip(Index rows, Index count, const Matrix<const Real>& a,
                       const Matrix<const Real>& b, const Matrix<Real>& c, bool accumulate)
{
    constexpr int kRows = kTileRows<Vectors, Transposed>;
    const auto from = [&](Index r) { return Transposed ? a.at(0, r) : a.at(r, 0); };
    Index r = 0;
    for (; r + kRows <= rows; r += kRows)
        tile<Real, Vectors, kRows, Transposed>(count, from(r), b, c.at(r, 0), accumulate);
    for (; r + 4 <= rows; r += 4)
        tile<Real, Vectors, 4, Transposed>(count, from(r), b, c.at(r, 0), accumulate);
    for (; r < rows; ++r)
        tile<Real, Vectors, 1, Transposed>(count, from(r), b, c.at(r, 0), accumulate);
}

/// c[rows, vectors · lanes] (+)= op(a) · b over `count`.
template <bool Transposed, class Real>
void product(Index rows, Index vectors, Index count, std::type_identity_t<Matrix<const Real>> a,
             std::type_identity_t<Matrix<const Real>> b, Matrix<Real> c, bool accumulate)
{
    while (vectors > 0) {
        Index done = vectors < kMostVectors ? vectors : kMostVectors;
        if (vectors == kMostVectors + 1)
            done = vectors / 2; // two middling strips beat a full one and a narrow one
        if constexpr (kMostVectors == 4) {
            if (done == 4)
                strip<Real, 4, Transposed>(rows, count, a, b, c, accumulate);
            else if (done == 3)
                strip<Real, 3, Transposed>(rows, count, a, b, c, accumulate);
        }
        if (done == 2)
            strip<Real, 2, Transposed>(rows, count, a, b, c, accumulate);
        else if (done == 1)
            strip<Real, 1, Transposed>(rows, count, a, b, c, accumulate);
        b = b.at(0, done * kLanes<Real>);
        c = c.at(0, done * kLanes<Real>);
        vectors -= done;
    }
}

/// Rows of d numbers from a tensor: to[n, kRowStride], zeros up to whole vectors.
template <class T, class Real>
void gatherRows(const AttentionRows& from, Index b, Index first, Index n, Index h, Index size,
                Real* to)
{
    const Index padded = roundedToLanes<Real>(size);
    for (Index i = 0; i < n; ++i) {
        const T* row = from.at<T>(b, first + i, h);
        Real* target = to + i * kRowStride<Real>;
        if constexpr (std::is_same_v<T, Real>) {
            if (padded == size) {
                for (Index j = 0; j < size; j += kLanes<Real>)
                    lanes::store(target + j, lanes::load(row + j));
                continue;
            }
        }
        lanes::widen(row, size, target);
        for (Index j = size; j < padded; ++j)
            target[j] = 0;
    }
}

/// Asks for a block of rows ahead of gatherRows(); rows from `end` on are left out. Where heads lie
/// side by side, a row is too short for the processor to see the pattern by itself.
template <class T>
void prefetchRows(const AttentionRows& from, Index b, Index first, Index end, Index h, Index size)
{
    constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
    const Index last = first + kKeyBlock < end ? first + kKeyBlock : end;
    for (Index i = first; i < last; ++i) {
        for (Index j = 0; j < size; j += kLine)
            __builtin_prefetch(from.at<const T>(b, i, h) + j, 0, 2);
    }
}

/// Part of a transposed matrix [.., kQueryBlock] from a row and vector on.
template <class Real>
VERGENCE_HD Matrix<Real> lanesOf(Real* matrix, Index row, Index vector)
{
    return {matrix + row * kQueryBlock + vector * kLanes<Real>, kQueryBlock};
}

/// to[j, i] = factor · from[i, j], i in [0, vectors · lanes), 0 from i = n on; j in [0, size)
/// rounded up to whole vectors. `from` has kRowStride, `to` kQueryBlock.
template <class Real>
void transposeRows(const Real* from, Index n, Index vectors, Index size, Real factor, Real* to)
{
    constexpr int kWidth = kLanes<Real>;
    for (Index v = 0; v < vectors; ++v) {
        for (Index j = 0; j < size; j += kWidth) {
            Vector<Real> square[kWidth];
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                square[i] = v * kWidth + i < n
                                ? lanes::load(from + (v * kWidth + i) * kRowStride<Real> + j)
                                : Vector<Real>{};
            lanes::transpose<Real>(square);
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                lanes::store(to + (j + i) * kQueryBlock + v * kWidth, square[i] * factor);
        }
    }
}

/// to[i, j] = from[j, i] · factors[i]; the way back.
template <class Real>
void transposeLanes(const Real* from, Index vectors, Index size, const Real* factors, Real* to)
{
    constexpr int kWidth = kLanes<Real>;
    for (Index v = 0; v < vectors; ++v) {
        const Vector<Real> factor = lanes::load(factors + v * kWidth);
        for (Index j = 0; j < size; j += kWidth) {
            Vector<Real> square[kWidth];
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                square[i] = j + i < size
                                ? lanes::load(from + (j + i) * kQueryBlock + v * kWidth) * factor
                                : Vector<Real>{};
            lanes::transpose<Real>(square);
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                lanes::store(to + (v * kWidth + i) * kRowStride<Real> + j, square[i]);
        }
    }
}

/// Rows of d numbers back into a tensor.
template <class T, class Real>
void scatterRows(const Real* from, const AttentionRows& to, Index b, Index first, Index n, Index h,
                 Index size)
{
    for (Index i = 0; i < n; ++i)
        lanes::narrowTo(from + i * kRowStride<Real>, size, to.at<T>(b, first + i, h));
}

/// Queries of block i of `blocks`: whole vectors, spread evenly.
struct QueryBlock {
    Index first = 0, count = 0, vectors = 0;
};
template <class Real>
VERGENCE_HD Index queryBlocks(Index queries)
{
    return (roundedToLanes<Real>(queries) + kQueryBlock - 1) / kQueryBlock;
}
template <class Real>
VERGENCE_HD QueryBlock queryBlock(Index queries, Index i)
{
    const Index blocks = queryBlocks<Real>(queries);
    const Index all = roundedToLanes<Real>(queries) / kLanes<Real>;
    const Index least = all / blocks, longer = all % blocks;
    QueryBlock block;
    block.first = (i * least + (i < longer ? i : longer)) * kLanes<Real>;
    block.vectors = least + (i < longer ? 1 : 0);
    const Index left = queries - block.first, room = block.vectors * kLanes<Real>;
    block.count = left < room ? left : room;
    return block;
}

/// What the queries of a block see.
template <class Real>
struct BlockMask {
    using Whole = lanes::Whole<Real>;
    alignas(64) Whole first[kQueryBlock], last[kQueryBlock];
    Index begin = 0, end = 0;           ///< keys that some query sees
    Index innerBegin = 0, innerEnd = 0; ///< keys that all queries see
    QueryBlock block;

    void set(const AttentionMask& mask, Index b, const QueryBlock& of)
    {
        block = of;
        const Index room = block.vectors * kLanes<Real>;
        begin = mask.keys, end = 0, innerBegin = 0, innerEnd = mask.keys;
        for (Index i = 0; i < room; ++i) {
            // lanes without a query repeat the last one
            const Index query = block.first + (i < block.count ? i : block.count - 1);
            const KeyRange seen = mask.range(b, query);
            first[i] = static_cast<Whole>(seen.first);
            last[i] = static_cast<Whole>(seen.last);
            innerBegin = seen.first > innerBegin ? seen.first : innerBegin;
            innerEnd = seen.last < innerEnd ? seen.last : innerEnd;
            if (seen.first < seen.last) {
                begin = seen.first < begin ? seen.first : begin;
                end = seen.last > end ? seen.last : end;
            }
        }
    }

    bool isWhole(Index key, Index count) const
    {
        return key >= innerBegin && key + count <= innerEnd;
    }

    /// Whether a query of vector v sees one of the keys [key, key + count).
    bool isLive(Index v, Index key, Index count) const
    {
        for (int i = 0; i < kLanes<Real>; ++i) {
            const Index lane = v * kLanes<Real> + i;
            if (first[lane] < key + count && last[lane] > key && first[lane] < last[lane])
                return true;
        }
        return false;
    }

    /// All bits where the queries of vector v see the key.
    auto sees(Index v, Index key) const
    {
        typedef Whole Wholes __attribute__((vector_size(kVectorBytes)));
        Wholes from, to;
        std::memcpy(&from, first + v * kLanes<Real>, sizeof(from));
        std::memcpy(&to, last + v * kLanes<Real>, sizeof(to));
        const auto at = static_cast<Whole>(key);
        return (from <= at) & (to > at);
    }

    /// Calls body(offset, count, firstVector, vectors) for pieces of the keys [key, key + count):
    /// one where all is seen, otherwise kKeyPiece keys with the vectors that see any.
    template <class Body>
    VERGENCE_HD void forPieces(Index key, Index count, const Body& body) const
    {
        if (isWhole(key, count)) {
            body(Index{0}, count, Index{0}, block.vectors);
            return;
        }
        for (Index at = 0; at < count; at += kKeyPiece) {
            const Index n = count - at < kKeyPiece ? count - at : kKeyPiece;
            Index from = 0, to = block.vectors;
            while (from < to && !isLive(from, key + at, n))
                ++from;
            while (to > from && !isLive(to - 1, key + at, n))
                --to;
            if (from < to)
                body(at, n, from, to - from);
        }
    }
};

/// scores[k, i] += bias · log2 e for keys [key, key + count) and the queries of a block.
template <class Real>
void addBias(const AttentionBias& bias, Index b, Index h, const QueryBlock& block, Index key,
             Index count, Real* scores)
{
    if (bias.query == 0) {
        for (Index k = 0; k < count; ++k) {
            const Real value = *bias.at<Real>(b, h, 0, key + k) * kLog2e<Real>;
            for (Index i = 0; i < block.vectors * kLanes<Real>; ++i)
                scores[k * kQueryBlock + i] += value;
        }
        return;
    }
    for (Index i = 0; i < block.count; ++i) {
        const Real* row = bias.at<Real>(b, h, block.first + i, key);
        for (Index k = 0; k < count; ++k)
            scores[k * kQueryBlock + i] += row[k * bias.key] * kLog2e<Real>;
    }
}

} // namespace attention_cpu
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
