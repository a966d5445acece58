#pragma once

// What a rewritten kernel file sees instead of CUDA's language: keywords, built-in variables,
// barriers, warp operations and arithmetic. Names of CUDA stand here as CUDA spells them; the rest
// is in engine_calls.h. There is no __shared__: a file that is not rewritten does not compile.

#include <cmath>
#include <cstring>
#include <math.h>

#include "tests/support/cuda_emulation/language/engine_calls.h"

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx (::vergence::emulation::running.thread)
#define blockIdx (::vergence::emulation::running.block)
#define blockDim (::vergence::emulation::running.blockSize)
#define gridDim (::vergence::emulation::running.gridSize)
#define warpSize 32

#define __trap()                                                                                   \
    ::vergence::emulation::report("trap", VERGENCE_EMULATED_SITE, "the kernel stops itself")

#include "tests/support/cuda_emulation/language/arithmetic.h"
#include "tests/support/cuda_emulation/language/atomics.h"
#include "tests/support/cuda_emulation/language/instructions.h"
#include "tests/support/cuda_emulation/language/warp_operations.h"
