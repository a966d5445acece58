#pragma once

#include "tests/support/cuda_emulation/products/algorithms.h"
#include "tests/support/cuda_emulation/products/calls.h"
#include "tests/support/cuda_emulation/products/problem.h"

namespace vergence::emulation {

// What cuBLASLt's documentation allows, of what the emulation knows: real matrices by columns, of
// 64, 32 and 16 bits. Source: cublasLt.h and "Using the cuBLASLt API" of CUDA 13.

/// Whether descriptors fit each other, and the device.
Verdict verdictOn(const Problem& problem);

/// Whether wishes make sense.
Verdict verdictOn(const Preference& preference);

/// Whether memory fits the problem, and what was promised of it when the algorithm was chosen.
Verdict verdictOn(const Problem& problem, const Operands& operands, const Choice& choice);

} // namespace vergence::emulation
