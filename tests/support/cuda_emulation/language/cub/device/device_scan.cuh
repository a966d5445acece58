#pragma once

// CUB's scan, by a loop. Like the real one it asks for scratch memory and fills it, so that a
// caller that hands over too little is found.

#include "tests/support/cuda_emulation/language/device_language.h"
#include "tests/support/cuda_emulation/language/library_work.h"

namespace cub {

struct DeviceScan {
    /// `out` may be `in`.
    template <class T, class Count>
    static cudaError_t ExclusiveSum(void* scratch, std::size_t& bytes, const T* in, T* out,
                                    Count count, cudaStream_t stream = nullptr)
    {
        if (count < 0)
            return cudaErrorInvalidValue;
        const auto n = static_cast<std::size_t>(count);
        const std::size_t wanted = 1024 + n / 1024 * 16;
        if (!scratch) {
            bytes = wanted;
            return cudaSuccess;
        }
        if (bytes < wanted)
            return cudaErrorInvalidValue;
        ::vergence::emulation::queueOnStream(stream, [=] { scan(scratch, wanted, in, out, n); });
        return cudaSuccess;
    }

private:
    template <class T>
    VERGENCE_EMULATED_PLAIN static void scan(void* scratch, std::size_t scratchBytes, const T* in,
                                             T* out, std::size_t n)
    {
        using namespace ::vergence::emulation;
        const WorkRange room{scratch, scratchBytes, "scan: scratch"};
        const WorkRange from{in, n * sizeof(T), "scan: input"}, to{out, from.bytes, "scan: output"};
        for (const WorkRange& range : {room, from, to}) {
            if (!isDeviceMemory(range.first, range.bytes, range.what))
                return;
        }
        expectApart(room, from);
        expectApart(room, to);
        if (in != out)
            expectApart(from, to);
        std::memset(scratch, 0xff, scratchBytes);
        T sum{};
        for (std::size_t i = 0; i < n; ++i) {
            const T value = in[i];
            out[i] = sum;
            sum = static_cast<T>(sum + value);
        }
    }
};

} // namespace cub
