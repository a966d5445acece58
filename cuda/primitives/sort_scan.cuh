#pragma once

#include <limits>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>

#include "core/base/error.h"
#include "core/compute/stream.h"

namespace vergence {

inline void checkCub(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return;
    cudaGetLastError(); // the next launch must not be blamed for it
    throw DeviceError(std::string(what) + ": " + cudaGetErrorString(error) + ".");
}

#if defined(CUB_VERSION) && CUB_VERSION < 200700
inline constexpr Index kLongestScan =
    std::numeric_limits<int>::max(); ///< CUB before 2.7 counts in int
#else
inline constexpr Index kLongestScan = std::numeric_limits<Index>::max();
#endif

/// out[i] = in[0] + … + in[i − 1] over device memory; `out` may be `in`. Uses the stream's scratch
/// memory.
template <class T>
void exclusiveScan(Stream& stream, const T* in, T* out, Index n)
{
    if (n <= 0)
        return;
    expects(n <= kLongestScan,
            "exclusiveScan: the CUB of this build scans 2^31 - 1 values at most");
    const auto native = static_cast<cudaStream_t>(stream.native());
    std::size_t bytes = 0;
    checkCub(cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, n, native), "Planning a scan");
    void* scratch = stream.scratch(bytes);
    checkCub(cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, n, native), "Running a scan");
}

/// Sorts values by ascending unsigned keys, stable, over the key bits [firstBit, lastBit). Uses the
/// stream's scratch memory.
template <class Key, class T>
void sortPairs(Stream& stream, const Key* keysIn, Key* keysOut, const T* valuesIn, T* valuesOut,
               Index n, int firstBit = 0, int lastBit = sizeof(Key) * 8)
{
    if (n <= 0)
        return;
    const auto native = static_cast<cudaStream_t>(stream.native());
    std::size_t bytes = 0;
    checkCub(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keysIn, keysOut, valuesIn, valuesOut,
                                             n, firstBit, lastBit, native),
             "Planning a sort");
    void* scratch = stream.scratch(bytes);
    checkCub(cub::DeviceRadixSort::SortPairs(scratch, bytes, keysIn, keysOut, valuesIn, valuesOut,
                                             n, firstBit, lastBit, native),
             "Running a sort");
}

} // namespace vergence
