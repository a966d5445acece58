#pragma once

/// Marks a function that runs on both sides. On the CPU it is always inlined, so that the copies of
/// one kernel file built for different instruction sets never share a symbol.
#if defined(__CUDACC__)
#define VERGENCE_HD __host__ __device__ __forceinline__
#else
#define VERGENCE_HD inline __attribute__((always_inline))
#endif
