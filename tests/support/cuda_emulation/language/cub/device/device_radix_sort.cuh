#pragma once

// CUB's sort. Like the real one it asks for scratch memory and fills it, so that a caller that
// hands over too little is found.

#include <type_traits>

#include "tests/support/cuda_emulation/language/device_language.h"
#include "tests/support/cuda_emulation/language/library_work.h"

namespace cub {

struct DeviceRadixSort {
    template <class Key, class T, class Count>
    static cudaError_t SortPairs(void* scratch, std::size_t& bytes, const Key* keys,
                                 Key* sortedKeys, const T* values, T* sortedValues, Count count,
                                 int firstBit = 0, int lastBit = sizeof(Key) * 8,
                                 cudaStream_t stream = nullptr)
    {
        static_assert(std::is_unsigned_v<Key> && std::is_trivially_copyable_v<T>);
        if (count < 0 || firstBit < 0 || lastBit < firstBit || lastBit > int{sizeof(Key)} * 8)
            return cudaErrorInvalidValue;
        const ::vergence::emulation::PairSort sort{
            sizeof(Key), sizeof(T),    static_cast<std::size_t>(count),
            firstBit,    lastBit,      scratch,
            sortedKeys,  sortedValues, keys,
            values};
        if (!scratch) {
            bytes = sort.scratchBytes();
            return cudaSuccess;
        }
        if (bytes < sort.scratchBytes())
            return cudaErrorInvalidValue;
        ::vergence::emulation::queueOnStream(stream,
                                             [sort] { ::vergence::emulation::sortOnDevice(sort); });
        return cudaSuccess;
    }
};

} // namespace cub
