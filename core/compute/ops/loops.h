#pragma once

// For kernel files. Loops over packs, rows and chunks of rows. A body is written once; on the CPU a
// row belongs to one thread that walks it pack by pack, on CUDA to a team of threads (a warp or a
// block) that share its packs and meet in Team::total and Team::largest. A thread sees the same
// packs of a row in every Team::each, so that it may read again what it wrote.

#include "core/compute/launch.h"
#include "core/compute/ops/lane_sums.h"

/// Marks lambdas that must be part of the loop around them.
#if defined(__CUDACC__)
#define VERGENCE_INLINE
#else
#define VERGENCE_INLINE __attribute__((always_inline))
#endif

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Fewest numbers worth a task on the CPU.
inline constexpr Index kElementGrain = 8192;

#if defined(__CUDACC__)

/// Threads of a block (or warp) that work on one row.
template <int Threads>
struct Team {
    int lane;       ///< of this thread
    double* shared; ///< 32 entries of the block; unused in a warp

    template <class T, int Slots = 1, class Body>
    VERGENCE_HD void each(Index n, const Body& body) const
    {
        constexpr int N = kPackSize<T>;
        for (Index i = static_cast<Index>(lane) * N; i < n; i += Threads * N) {
            if (i + N <= n)
                body(Lanes<N, true>{i, N});
            else
                body(Lanes<N, false>{i, static_cast<int>(n - i)});
        }
    }

    /// body(i) for all i in [0, n), one after another or shared among the threads.
    template <class Body>
    VERGENCE_HD void eachItem(Index n, const Body& body) const
    {
        for (Index i = lane; i < n; i += Threads)
            body(i);
    }

    /// Sum of what each thread has.
    VERGENCE_HD float total(float value) const
    {
        return combine(value, [](auto a, auto b) { return a + b; });
    }
    VERGENCE_HD double total(double value) const
    {
        return combine(value, [](auto a, auto b) { return a + b; });
    }
    template <class T, int Slots>
    VERGENCE_HD Accumulator<T> total(const LaneSum<T, Slots>& sum) const
    {
        return combine(sum.ofThread(), [](auto a, auto b) { return a + b; });
    }
    template <class T>
    VERGENCE_HD Accumulator<T> largest(const LaneMaximum<T>& most) const
    {
        return combine(most.ofThread(), [](auto a, auto b) { return a > b ? a : b; });
    }
    VERGENCE_HD bool isFirst() const { return lane == 0; }

private:
    template <class Real, class Combine>
    VERGENCE_HD Real combine(Real value, const Combine& operation) const
    {
#if defined(__CUDA_ARCH__)
        for (int step = 16; step > 0; step /= 2)
            value = operation(value, __shfl_xor_sync(0xffffffffu, value, step));
        if constexpr (Threads > 32) {
            Real* slots = reinterpret_cast<Real*>(shared);
            __syncthreads(); // the slots may still be read from the last call
            if (lane % 32 == 0)
                slots[lane / 32] = value;
            __syncthreads();
            value = slots[0];
            for (int i = 1; i < Threads / 32; ++i)
                value = operation(value, slots[i]);
        }
#endif
        return value;
    }
};

namespace loops {

template <class T, class Body>
__global__ void forEachPackKernel(Index n, Body body)
{
    constexpr int N = kPackSize<T>;
    const Index i = (static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
    if (i + N <= n)
        body(Lanes<N, true>{i, N});
    else if (i < n)
        body(Lanes<N, false>{i, static_cast<int>(n - i)});
}

/// Rows of few packs: a warp each, four in a block.
template <class Body>
__global__ void forEachRowByWarp(Index rows, Body body)
{
    const Index row = static_cast<Index>(blockIdx.x) * 4 + threadIdx.x / 32;
    if (row < rows)
        body(Team<32>{static_cast<int>(threadIdx.x % 32), nullptr}, row);
}

template <int Threads, class Body>
__global__ void forEachRowByBlock(Index rows, Body body)
{
    __shared__ double shared[32];
    for (Index row = blockIdx.x; row < rows; row += gridDim.x)
        body(Team<Threads>{static_cast<int>(threadIdx.x), shared}, row);
}

/// Most blocks of a launch; rows beyond it wait for a block that is free.
inline constexpr Index kMostBlocks = 1 << 20;

} // namespace loops

#else

/// The one thread that works on a row.
struct Team {
    template <class T, int Slots = 1, class Body>
    VERGENCE_HD void each(Index n, const Body& body) const
    {
        constexpr int N = kPackSize<T>;
        Index i = 0;
        if constexpr (Slots == 4) {
            for (; i + 4 * N <= n; i += 4 * N) {
                body(Lanes<N, true, 0>{i, N});
                body(Lanes<N, true, 1>{i + N, N});
                body(Lanes<N, true, 2>{i + 2 * N, N});
                body(Lanes<N, true, 3>{i + 3 * N, N});
            }
        }
        for (; i + N <= n; i += N)
            body(Lanes<N, true>{i, N});
        if (i < n)
            body(Lanes<N, false>{i, static_cast<int>(n - i)});
    }

    template <class Body>
    VERGENCE_HD void eachItem(Index n, const Body& body) const
    {
        for (Index i = 0; i < n; ++i)
            body(i);
    }
    VERGENCE_HD float total(float value) const { return value; }
    VERGENCE_HD double total(double value) const { return value; }
    template <class T, int Slots>
    VERGENCE_HD Accumulator<T> total(const LaneSum<T, Slots>& sum) const
    {
        return sum.ofThread();
    }
    template <class T>
    VERGENCE_HD Accumulator<T> largest(const LaneMaximum<T>& most) const
    {
        return most.ofThread();
    }
    VERGENCE_HD bool isFirst() const { return true; }
};

#endif

/// body(at) for packs that cover the numbers [0, n) of type T.
template <class T, class Body>
void forEachPack(Stream& stream, Index n, const Body& body)
{
    if (n <= 0)
        return;
    constexpr int N = kPackSize<T>;
#if defined(__CUDACC__)
    constexpr unsigned kThreads = 256;
    const Index packs = (n + N - 1) / N;
    loops::forEachPackKernel<T>
        <<<static_cast<unsigned>((packs + kThreads - 1) / kThreads), kThreads, 0,
           static_cast<cudaStream_t>(stream.native())>>>(n, body);
    checkLaunch(stream, "forEachPack");
#else
    struct Context {
        const Body& body;
        Index n;
    } context{body, n};
    stream.parallelFor(
        (n + N - 1) / N, kElementGrain / N,
        [](const void* data, Index first, Index last) {
            const auto& given = *static_cast<const Context*>(data);
            const Body run = given.body; // a copy that no store can change
            const Index whole = last * N <= given.n ? last : last - 1;
            const Index ahead = packs::bytesAhead();
            for (Index pack = first; pack < whole; ++pack)
                run(FarLanes<N>{{pack * N, N}, ahead});
            if (whole < last)
                run(Lanes<N, false>{whole * N, static_cast<int>(given.n - whole * N)});
        },
        &context);
#endif
}

/// body(team, row) for rows of `columns` numbers of type T.
template <class T, class Body>
void forEachRow(Stream& stream, Index rows, Index columns, const Body& body)
{
    if (rows <= 0)
        return;
#if defined(__CUDACC__)
    const auto native = static_cast<cudaStream_t>(stream.native());
    if (columns <= 32 * 8 * kPackSize<T>) {
        loops::forEachRowByWarp<<<static_cast<unsigned>((rows + 3) / 4), 128, 0, native>>>(rows,
                                                                                           body);
    } else {
        const Index blocks = rows < loops::kMostBlocks ? rows : loops::kMostBlocks;
        loops::forEachRowByBlock<256>
            <<<static_cast<unsigned>(blocks), 256, 0, native>>>(rows, body);
    }
    checkLaunch(stream, "forEachRow");
#else
    stream.parallelFor(
        rows, kElementGrain / (columns > 0 ? columns : 1) + 1,
        [](const void* data, Index first, Index last) {
            const Body run = *static_cast<const Body*>(data);
            for (Index row = first; row < last; ++row)
                run(Team{}, row);
        },
        &body);
#endif
}

/// How `rows` rows are cut for sums over them; a function of the shape alone, so that results do
/// not depend on threads.
struct RowChunks {
    Index rows = 0, perChunk = 1, count = 0;

    RowChunks(Index rowCount, Index columns) : rows(rowCount)
    {
#if defined(__CUDACC__)
        constexpr Index kMostChunks = 512, kLeastNumbers = 2048;
#else
        constexpr Index kMostChunks = 32, kLeastNumbers = 16384;
#endif
        const Index least = kLeastNumbers / (columns > 0 ? columns : 1) + 1;
        perChunk = (rows + kMostChunks - 1) / kMostChunks;
        perChunk = perChunk > least ? perChunk : least;
        count = (rows + perChunk - 1) / perChunk;
    }
    VERGENCE_HD Index first(Index chunk) const
    {
        return chunk * perChunk;
    }
    VERGENCE_HD Index last(Index chunk) const
    {
        return (chunk + 1) * perChunk < rows ? (chunk + 1) * perChunk : rows;
    }
};

/// body(team, chunk) once per chunk; a team is always a block on CUDA.
template <class T, class Body>
void forEachChunk(Stream& stream, Index chunks, const Body& body)
{
    if (chunks <= 0)
        return;
#if defined(__CUDACC__)
    const Index blocks = chunks < loops::kMostBlocks ? chunks : loops::kMostBlocks;
    loops::forEachRowByBlock<128>
        <<<static_cast<unsigned>(blocks), 128, 0, static_cast<cudaStream_t>(stream.native())>>>(
            chunks, body);
    checkLaunch(stream, "forEachChunk");
#else
    stream.parallelFor(
        chunks, 1,
        [](const void* data, Index first, Index last) {
            const Body run = *static_cast<const Body*>(data);
            for (Index chunk = first; chunk < last; ++chunk)
                run(Team{}, chunk);
        },
        &body);
#endif
}

/// A type as a value: withFloatType(type, [&](auto tag) { using T = typename decltype(tag)::Type;
/// … }).
template <class T>
struct TypeTag {
    using Type = T;
};

/// Calls body with the tag of F32, F64, F16 or BF16; nothing for other types, which the public
/// functions refuse.
template <class Body>
void withFloatType(DType type, const Body& body)
{
    switch (type) {
    case DType::F32:
        return body(TypeTag<float>{});
    case DType::F64:
        return body(TypeTag<double>{});
    case DType::F16:
        return body(TypeTag<Float16>{});
    case DType::BF16:
        return body(TypeTag<BFloat16>{});
    default:
        return;
    }
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
