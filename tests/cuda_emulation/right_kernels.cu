#include <cstdint>
#include <vector>

#include "tests/cuda_emulation/faulty_kernels.h"
#include "tests/cuda_emulation/numbers_on_device.h"

namespace vergence::emulation::fixtures {

namespace {

__device__ int indexInGrid()
{
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

/// All write one value to one place.
__global__ void raiseFlag(int* flag)
{
    *flag = 7;
}

bool sameValue()
{
    const OnDevice<int> flag(1);
    raiseFlag<<<5, 100>>>(flag.first());
    return flag.values()[0] == 7;
}

/// Neighbours in one word, each by a thread of its own, and then all words at once.
template <class T>
__global__ void writeNarrow(T* to, int n, std::uint32_t* words)
{
    __shared__ T tile[kThreads];
    const int i = indexInGrid();
    tile[threadIdx.x] = static_cast<T>(i % 100);
    __syncthreads();
    if (i < n)
        to[i] = static_cast<T>(tile[threadIdx.x] + 1);
    __syncthreads();
    const int wordsOfBlock = static_cast<int>(kThreads * sizeof(T) / 4);
    if (static_cast<int>(threadIdx.x) < wordsOfBlock)
        words[static_cast<int>(blockIdx.x) * wordsOfBlock + static_cast<int>(threadIdx.x)] =
            reinterpret_cast<const std::uint32_t*>(tile)[threadIdx.x];
}

template <class T>
bool narrow()
{
    const int n = 3 * kThreads;
    const OnDevice<T> to(static_cast<std::size_t>(n));
    const OnDevice<std::uint32_t> words(static_cast<std::size_t>(n) * sizeof(T) / 4);
    writeNarrow<T><<<3, kThreads>>>(to.first(), n, words.first());
    const auto values = to.values();
    for (int i = 0; i < n; ++i) {
        if (values[static_cast<std::size_t>(i)] != static_cast<T>(i % 100 + 1))
            return false;
    }
    return (words.values()[1] & 0xff) == 4 / sizeof(T);
}

/// Some threads end before a barrier that the others come to.
__global__ void endEarly(float* to, int n)
{
    __shared__ float tile[kThreads];
    const int i = static_cast<int>(threadIdx.x);
    if (i >= n)
        return;
    tile[i] = static_cast<float>(i);
    __syncthreads();
    to[i] = tile[n - 1 - i];
}

bool earlyEnd()
{
    const OnDevice<float> to(100);
    endEarly<<<1, kThreads>>>(to.first(), 100);
    return to.values() == reversed(counting(100));
}

constexpr float kTable[4] = {1, 20, 300, 4000};

__global__ void vote(int* to, int* index)
{
    const int i = static_cast<int>(threadIdx.x);
    const int count = __syncthreads_count(i % 3 == 0);
    const int all = __syncthreads_and(i < 1000), one = __syncthreads_or(i == 7);
    const unsigned odd = __ballot_sync(0xffffffffu, i & 1);
    if (i == 0) {
        to[0] = count;
        to[1] = all;
        to[2] = one;
        to[3] = static_cast<int>(odd & 0xff);
        to[4] = static_cast<int>(kTable[*index]);
        to[5] = __any_sync(1u, i == 0) + 2 * __all_sync(1u, i == 0);
    }
}

bool votes()
{
    const OnDevice<int> to(6), index(std::vector<int>{2});
    vote<<<1, kThreads>>>(to.first(), index.first());
    return to.values() == std::vector<int>{86, 1, 1, 0xaa, 300, 3};
}

/// An exchange by global memory within warps.
__global__ void exchangeInWarps(float* x)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned turn = 0; turn < 3; ++turn) {
        const float other = x[i ^ (1u << turn)];
        __syncwarp();
        x[i] = other;
        __syncwarp();
    }
}

bool globalInWarps()
{
    const OnDevice<float> x(counting(2 * kThreads));
    exchangeInWarps<<<2, kThreads>>>(x.first());
    const auto values = x.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != static_cast<float>(i ^ 7))
            return false;
    }
    return true;
}

/// A loop that compares and swaps, from a plain read on.
__global__ void greatest(int* shared, const int* from)
{
    const int value = from[threadIdx.x];
    int before = *shared;
    while (before < value) {
        const int seen = atomicCAS(shared, before, value);
        if (seen == before)
            break;
        before = seen;
    }
}

bool compareAndSwap()
{
    std::vector<int> host(kThreads);
    for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = static_cast<int>(i * 37 % 101);
    const OnDevice<int> from(host), most(1);
    greatest<<<1, kThreads>>>(most.first(), from.first());
    return most.values()[0] == 100;
}

__global__ void indexAll(int* to)
{
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    atomicAdd(&to[block * threads + thread], 1 + static_cast<int>(block));
}

bool threeDimensions()
{
    const OnDevice<int> to(24 * 30);
    indexAll<<<dim3(2, 3, 4), dim3(5, 3, 2)>>>(to.first());
    const auto values = to.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != 1 + static_cast<int>(i) / 30)
            return false;
    }
    return true;
}

/// A counts from 0 on, B is a unit matrix above a zero one, C is 1.
__global__ void multiplyHalves(float* to)
{
    const unsigned lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
    const auto bits = [](float x) {
        return static_cast<std::uint32_t>(__builtin_bit_cast(std::uint32_t, x) >> 16);
    };
    const auto both = [&](float low, float high) { return bits(low) | bits(high) << 16; };
    const auto a = [&](unsigned row, unsigned column) {
        return both(static_cast<float>(row * 16 + column),
                    static_cast<float>(row * 16 + column + 1));
    };
    const auto b = [&](unsigned row, unsigned column) {
        return both(row == column ? 1 : 0, row + 1 == column ? 1 : 0);
    };
    float d[4] = {1, 1, 1, 1};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a(group, pair)), "r"(a(group + 8, pair)), "r"(a(group, pair + 8)),
          "r"(a(group + 8, pair + 8)), "r"(b(pair, group)), "r"(b(pair + 8, group)));
    for (unsigned i = 0; i < 4; ++i)
        to[(group + i / 2 * 8) * 8 + pair + i % 2] = d[i];
}

bool products()
{
    const OnDevice<float> to(128);
    multiplyHalves<<<1, kLanes>>>(to.first());
    const auto values = to.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != static_cast<float>(i / 8 * 16 + i % 8 + 1))
            return false;
    }
    return true;
}

} // namespace

const std::vector<RightKernel>& rightKernels()
{
    static const std::vector<RightKernel> all = {
        {"all write one value", sameValue},   {"bytes", narrow<std::uint8_t>},
        {"halves", narrow<std::uint16_t>},    {"threads end before a barrier", earlyEnd},
        {"votes and constants", votes},       {"global memory within warps", globalInWarps},
        {"compare and swap", compareAndSwap}, {"three dimensions", threeDimensions},
        {"products of matrices", products},
    };
    return all;
}

// --- for tests that do the rest themselves
// -----------------------------------------------------------

namespace {

__global__ void empty() {}

template <int Bytes>
struct Parameters {
    char bytes[Bytes];
};

template <int Bytes>
__global__ void take(Parameters<Bytes>)
{
}

template <int Kibibytes>
__global__ void useShared()
{
    __shared__ float fixed[Kibibytes * 256];
    extern __shared__ float dynamic[];
    fixed[threadIdx.x] = 1;
    dynamic[threadIdx.x] = 1;
}

__global__ void increment(float* x, int count)
{
    if (indexInGrid() < count)
        x[indexInGrid()] += 1;
}

__global__ void noteOrder(int* order, int* taken)
{
    __syncthreads();
    order[atomicAdd(taken, 1)] = indexInGrid();
}

__global__ void readStrided(const float* x, float* sum, int stride)
{
    extern __shared__ float words[];
    const int i = static_cast<int>(threadIdx.x) * stride;
    words[i] = x[i];
    __syncthreads();
    sum[threadIdx.x] = words[i];
}

} // namespace

int launchEmpty(const Shape& shape, CUstream_st* stream)
{
    const auto& [blocks, threads, sharedBytes] = shape;
    empty<<<dim3(blocks[0], blocks[1], blocks[2]), dim3(threads[0], threads[1], threads[2]),
            sharedBytes, stream>>>();
    return cudaGetLastError();
}

int launchWithParameters(int bytes)
{
    if (bytes == 4000)
        take<<<1, 1>>>(Parameters<4000>{});
    else if (bytes == 5000)
        take<<<1, 1>>>(Parameters<5000>{});
    else
        take<<<1, 1>>>(Parameters<40000>{});
    return cudaGetLastError();
}

int launchWithShared(int fixedKibibytes, int dynamicBytes)
{
    const auto bytes = static_cast<std::size_t>(dynamicBytes);
    if (fixedKibibytes == 40)
        useShared<40><<<1, 1, bytes>>>();
    else
        useShared<60><<<1, 1, bytes>>>();
    return cudaGetLastError();
}

int allowDynamicShared(int bytes)
{
    return cudaFuncSetAttribute(&useShared<40>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

void launchIncrement(float* x, int count, CUstream_st* stream)
{
    increment<<<static_cast<unsigned>((count + 255) / 256), kThreads, 0, stream>>>(x, count);
}

void launchOrder(int* order, int* taken, unsigned blocks, unsigned threads)
{
    noteOrder<<<blocks, threads>>>(order, taken);
}

void launchStrided(const float* x, float* sum, int stride)
{
    readStrided<<<1, 128, static_cast<std::size_t>(128 * stride) * sizeof(float)>>>(x, sum, stride);
}

} // namespace vergence::emulation::fixtures
