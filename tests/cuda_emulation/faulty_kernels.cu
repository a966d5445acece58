#include <cstdint>
#include <vector>

#include "tests/cuda_emulation/faulty_kernels.h"
#include "tests/cuda_emulation/numbers_on_device.h"

namespace vergence::emulation::fixtures {

namespace {

/// Runs a kernel from n numbers 0, 1, … to n others in blocks of kThreads.
template <class Kernel>
std::vector<float> mapped(Kernel kernel, int n, bool isFaulty)
{
    const OnDevice<float> from(counting(n)), to(static_cast<std::size_t>(n));
    kernel<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads>>>(
        from.first(), to.first(), n, isFaulty);
    return to.values();
}

__device__ int indexInGrid()
{
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

// --- barriers
// --------------------------------------------------------------------------------------

__global__ void reverseInBlock(const float* from, float* to, int, bool isFaulty)
{
    __shared__ float tile[kThreads];
    const int i = static_cast<int>(threadIdx.x);
    tile[i] = from[i];
    if (!isFaulty)
        __syncthreads();
    to[i] = tile[kThreads - 1 - i]; // fault: removed barrier
}

bool removedBarrier(bool isFaulty)
{
    return mapped(reverseInBlock, kThreads, isFaulty) == reversed(counting(kThreads));
}

__global__ void reverseTiles(const float* from, float* to, int n, bool isFaulty)
{
    __shared__ float tile[kThreads];
    const int i = static_cast<int>(threadIdx.x);
    for (int first = 0; first < n; first += kThreads) {
        if (!isFaulty)
            __syncthreads();
        tile[i] = from[first + i]; // fault: tile overwritten too early
        __syncthreads();
        to[n - kThreads - first + i] = tile[kThreads - 1 - i];
    }
}

bool tileOverwritten(bool isFaulty)
{
    const int n = 3 * kThreads;
    const OnDevice<float> from(counting(n)), to(static_cast<std::size_t>(n));
    reverseTiles<<<1, kThreads>>>(from.first(), to.first(), n, isFaulty);
    return to.values() == reversed(counting(n));
}

__global__ void histogram(const float* from, float* to, int n, bool isFaulty)
{
    __shared__ int counts[kLanes];
    const int i = static_cast<int>(threadIdx.x);
    if (i < kLanes)
        counts[i] = 0;
    if (!isFaulty)
        __syncthreads();
    const int value = static_cast<int>(from[n - 1 - i]);
    atomicAdd(&counts[value % kLanes], 1); // fault: counted before all is zero
    __syncthreads();
    to[i] = static_cast<float>(counts[i % kLanes]);
}

bool countedTooEarly(bool isFaulty)
{
    return mapped(histogram, kThreads, isFaulty) == std::vector<float>(kThreads, 8.0f);
}

__global__ void divergentBarrier(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    if (isFaulty && i % 64 < 32)
        __syncthreads();
    else
        __syncthreads();
    to[i] = from[i];
}

bool divergence(bool isFaulty)
{
    return mapped(divergentBarrier, kThreads, isFaulty) == counting(kThreads);
}

__global__ void barrierInsideOfWarp(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    float value = from[i];
    if (isFaulty && i % kLanes == 0)
        __syncthreads(); // fault: barrier inside of a warp
    else
        value = __shfl_sync(0xffffffffu, value, 1);
    to[i] = value;
}

bool barrierOfLane(bool isFaulty)
{
    const auto values = mapped(barrierInsideOfWarp, kThreads, isFaulty);
    cudaDeviceSynchronize();
    return values[7] == 1 && values[40] == 33;
}

__global__ void waitForever(float* to, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    if (i == 0)
        __syncwarp(0x3);
    else if (i == 1)
        __syncwarp(isFaulty ? 0x7 : 0x3);
    to[i] = 1;
}

bool deadlock(bool isFaulty)
{
    const OnDevice<float> to(kLanes);
    waitForever<<<1, kLanes>>>(to.first(), isFaulty); // fault: deadlock
    return to.values() == std::vector<float>(kLanes, 1.0f);
}

__global__ void stopIfNegative(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    if (from[i] - (isFaulty ? 1.0f : 0.0f) < 0)
        __trap(); // fault: the kernel stops itself
    to[i] = from[i];
}

bool trap(bool isFaulty)
{
    return mapped(stopIfNegative, kThreads, isFaulty) == counting(kThreads);
}

// --- warps
// -----------------------------------------------------------------------------------------

__global__ void sumInWarps(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    const unsigned mask = isFaulty ? 0xffffu : 0xffffffffu;
    float sum = from[i];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(mask, sum, step); // fault: wrong mask
    to[i] = sum;
}

bool wrongMask(bool isFaulty)
{
    const auto values = mapped(sumInWarps, kThreads, isFaulty);
    return values[0] == 496 && values[255] == 496 + 7 * 32 * 32;
}

__global__ void readAbsentLane(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x), lane = i % kLanes;
    float value = from[i];
    if (lane < 16)
        value = __shfl_sync(0xffffu, value, isFaulty ? 20 : 3); // fault: absent lane
    to[i] = value;
}

bool absentLane(bool isFaulty)
{
    const auto values = mapped(readAbsentLane, kThreads, isFaulty);
    return values[0] == 3 && values[16] == 16 && values[47] == 35;
}

__global__ void endedLane(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    to[i] = from[i];
    if (i % kLanes == 31)
        return;
    to[i] = __shfl_sync(isFaulty ? 0xffffffffu : 0x7fffffffu, from[i], 3); // fault: end
}

bool laneThatEnded(bool isFaulty)
{
    const auto values = mapped(endedLane, kThreads, isFaulty);
    return values[0] == 3 && values[62] == 35 && values[31] == 31;
}

__global__ void reverseInWarps(const float* from, float* to, int, bool isFaulty)
{
    __shared__ float tile[kThreads];
    const int i = static_cast<int>(threadIdx.x);
    tile[i] = from[i];
    if (!isFaulty)
        __syncwarp();
    to[i] = tile[i ^ 31]; // fault: removed wait of a warp
}

bool removedWarpWait(bool isFaulty)
{
    const auto values = mapped(reverseInWarps, kThreads, isFaulty);
    return values[0] == 31 && values[40] == 55;
}

// --- global memory
// ---------------------------------------------------------------------------------

__global__ void readNext(const float* from, float* to, int n, bool isFaulty)
{
    const int i = indexInGrid();
    if (i < n)
        to[i] = from[i + 1 < n || isFaulty ? i + 1 : 0]; // fault: read beyond the end
}

bool readBeyond(bool isFaulty)
{
    const auto values = mapped(readNext, 1000, isFaulty);
    return values[0] == 1 && values[999] == 0;
}

__global__ void writeAll(const float* from, float* to, int n, bool isFaulty)
{
    const int i = indexInGrid();
    if (i < (isFaulty ? n + 1 : n))
        to[i] = 2; // fault: write beyond the end
    if (i < n)
        to[i] += from[i];
}

bool writeBeyond(bool isFaulty)
{
    return mapped(writeAll, 1001, isFaulty) == counting(1001, 2);
}

__global__ void shiftInPlace(float* x, int n, bool isFaulty)
{
    const int i = indexInGrid();
    x[i] += isFaulty ? x[(i + kThreads) % n] : 1; // fault: race between blocks
}

bool raceBetweenBlocks(bool isFaulty)
{
    const int n = 4 * kThreads;
    const OnDevice<float> x(counting(n));
    shiftInPlace<<<4, kThreads>>>(x.first(), n, isFaulty);
    return x.values() == counting(n, 1);
}

__global__ void writeSamePlace(const float*, float* to, int n, bool isFaulty)
{
    const int i = indexInGrid();
    to[isFaulty ? i % kThreads : i] = static_cast<float>(i); // fault: two blocks write one place
}

bool writesMeet(bool isFaulty)
{
    return mapped(writeSamePlace, 2 * kThreads, isFaulty) == counting(2 * kThreads);
}

__global__ void reverseGlobal(const float*, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    to[i] = static_cast<float>(i);
    if (!isFaulty)
        __syncthreads();
    const float other = to[kThreads - 1 - i]; // fault: race within a block
    __syncthreads();
    to[i] = other;
}

bool raceWithinBlock(bool isFaulty)
{
    return mapped(reverseGlobal, kThreads, isFaulty) == reversed(counting(kThreads));
}

__global__ void addOthers(const float* others, float* to)
{
    to[threadIdx.x] += others[threadIdx.x]; // fault: memory of the host
}

bool hostPointer(bool isFaulty)
{
    const auto host = counting(kThreads);
    const OnDevice<float> others(host), to(kThreads);
    addOthers<<<1, kThreads>>>(isFaulty ? host.data() : others.first(), to.first());
    return to.values() == host;
}

__global__ void addForeign(const float* others, float* to)
{
    to[threadIdx.x] += others[threadIdx.x]; // fault: memory of another device
}

bool foreignDevice(bool isFaulty)
{
    cudaSetDevice(isFaulty ? 1 : 0);
    const auto host = counting(kThreads);
    const OnDevice<float> others(host);
    cudaSetDevice(0);
    const OnDevice<float> to(kThreads);
    addForeign<<<1, kThreads>>>(others.first(), to.first());
    return to.values() == host;
}

__global__ void loadFours(const float* from, float* to, int, bool isFaulty)
{
    const int i = static_cast<int>(threadIdx.x);
    if (i >= kThreads / 4)
        return;
    const auto four = reinterpret_cast<const float4*>(
        from + (isFaulty && i == 9 ? 2 : 0))[i]; // fault: misaligned
    to[4 * i] = four.x;
    to[4 * i + 1] = four.y;
    to[4 * i + 2] = four.z;
    to[4 * i + 3] = four.w;
}

bool misaligned(bool isFaulty)
{
    return mapped(loadFours, kThreads, isFaulty) == counting(kThreads);
}

// --- shared memory
// ---------------------------------------------------------------------------------

__global__ void sumNeighbours(const float* from, float* to, int n, bool isFaulty)
{
    __shared__ float tile[kThreads + 1];
    const int i = static_cast<int>(threadIdx.x);
    tile[i] = from[i];
    if (i == 0 && !isFaulty)
        tile[n] = 0;
    __syncthreads();
    to[i] = tile[i] + tile[i + 1]; // fault: read before it is written
}

bool unset(bool isFaulty)
{
    const auto values = mapped(sumNeighbours, kThreads, isFaulty);
    return values[0] == 1 && values[1] == 3 && values[255] == 255;
}

__global__ void countUnset(float* to, bool isFaulty)
{
    __shared__ int count;
    if (threadIdx.x == 0 && !isFaulty)
        count = 0;
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    to[threadIdx.x] = static_cast<float>(count);
}

__global__ void writeBeyondShared(const float* from, float* to, int, bool isFaulty)
{
    extern __shared__ float dynamicTile[];
    const int i = static_cast<int>(threadIdx.x);
    dynamicTile[isFaulty ? i + 1 : i] = from[i]; // fault: beyond shared memory
    __syncthreads();
    to[i] = dynamicTile[i == 0 ? 1 : i];
}

bool sharedOverrun(bool isFaulty)
{
    const OnDevice<float> from(counting(kThreads)), to(kThreads);
    writeBeyondShared<<<1, kThreads, kThreads * sizeof(float)>>>(from.first(), to.first(), kThreads,
                                                                 isFaulty);
    return to.values()[255] == 255;
}

__global__ void indexBeyond(const float* from, float* to, int, bool isFaulty)
{
    __shared__ float tile[2][kThreads];
    const int i = static_cast<int>(threadIdx.x);
    tile[0][i] = from[i];
    tile[1][i] = 0;
    __syncthreads();
    to[i] = tile[0][i] + tile[1][i];
    if (i == kThreads - 1)
        to[i] += tile[0][isFaulty ? i + 1 : i]; // fault: beyond a row
}

bool rowOverrun(bool isFaulty)
{
    return mapped(indexBeyond, kThreads, isFaulty)[255] == 510;
}

__global__ void loadMatrix(float* to, bool isFaulty)
{
    __shared__ __align__(16) std::uint16_t tile[kLanes * 8 + 8];
    const unsigned lane = threadIdx.x;
    for (unsigned i = lane; i < kLanes * 8 + 8; i += kLanes)
        tile[i] = static_cast<std::uint16_t>(i);
    __syncthreads();
    const auto at = static_cast<unsigned>(
        __cvta_generic_to_shared(tile + lane * 8 + (isFaulty && lane == 9 ? 4 : 0)));
    std::uint32_t x[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" // fault: row
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(at)
                 : "memory");
    for (unsigned i = 0; i < 4; ++i) {
        to[lane * 8 + 2 * i] = static_cast<float>(x[i] & 0xffff);
        to[lane * 8 + 2 * i + 1] = static_cast<float>(x[i] >> 16);
    }
}

bool matrixRow(bool isFaulty)
{
    const OnDevice<float> to(kThreads);
    loadMatrix<<<1, kLanes>>>(to.first(), isFaulty);
    const auto values = to.values();
    // lane 5: row 1, columns 2 and 3 of each matrix of 64 numbers
    return values[40] == 10 && values[41] == 11 && values[42] == 74 && values[47] == 203;
}

} // namespace

const std::vector<FaultyKernel>& faultyKernels()
{
    static const std::vector<FaultyKernel> all = {
        {"removed barrier", "shared-race", removedBarrier},
        {"removed barrier", "shared-unset", removedBarrier},
        {"tile overwritten too early", "shared-race", tileOverwritten},
        {"counted before all is zero", "shared-unset", countedTooEarly},
        {"counted before all is zero", "shared-race", countedTooEarly},
        {"", "barrier", divergence},
        {"barrier inside of a warp", "barrier", barrierOfLane},
        {"deadlock", "deadlock", deadlock},
        {"the kernel stops itself", "trap", trap},
        {"wrong mask", "warp", wrongMask},
        {"absent lane", "shuffle", absentLane},
        {"end", "warp", laneThatEnded},
        {"removed wait of a warp", "shared-race", removedWarpWait},
        {"read beyond the end", "outside", readBeyond},
        {"write beyond the end", "outside", writeBeyond},
        {"race between blocks", "race", raceBetweenBlocks},
        {"two blocks write one place", "race", writesMeet},
        {"race within a block", "race", raceWithinBlock},
        {"memory of the host", "host-memory", hostPointer},
        {"memory of another device", "foreign-device", foreignDevice},
        {"misaligned", "misaligned", misaligned},
        {"read before it is written", "shared-unset", unset},
        {"", "shared-unset",
         [](bool isFaulty) {
             const OnDevice<float> to(kThreads);
             countUnset<<<1, kThreads>>>(to.first(), isFaulty);
             return to.values() == std::vector<float>(kThreads, kThreads);
         }},
        {"beyond shared memory", "shared-outside", sharedOverrun},
        {"beyond a row", "array-bounds", rowOverrun},
        {"row", "ldmatrix", matrixRow},
    };
    return all;
}

const char* faultyKernelsFile()
{
    return __FILE__;
}

} // namespace vergence::emulation::fixtures
