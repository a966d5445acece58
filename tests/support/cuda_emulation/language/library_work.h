#pragma once

// What libraries of device code, CUB here, do on a stream; bodies in engine/library_work.cpp.

#include <cstddef>
#include <functional>

struct CUstream_st;

namespace vergence::emulation {

/// Does the work when its turn comes, with device memory open to it.
void queueOnStream(CUstream_st* stream, std::function<void()> work);

/// Whether all bytes lie in one live allocation; reports where not.
bool isDeviceMemory(const void* pointer, std::size_t bytes, const char* what);

/// A range of device memory that a library works on.
struct WorkRange {
    const void* first;
    std::size_t bytes;
    const char* what; ///< "sort: keys"
};
/// Reports ranges that have memory in common.
void expectApart(const WorkRange& a, const WorkRange& b);

/// Sorts pairs, stable, by ascending bits [firstBit, lastBit) of unsigned keys of up to 8 bytes.
struct PairSort {
    std::size_t keyBytes, valueBytes, count;
    int firstBit, lastBit;
    void *scratch, *sortedKeys, *sortedValues;
    const void *keys, *values;

    std::size_t scratchBytes() const { return 4096 + count * (keyBytes + valueBytes); }
};
void sortOnDevice(const PairSort& sort);

} // namespace vergence::emulation
