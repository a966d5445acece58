#pragma once

#include <cstdint>

#include "tests/support/cuda_emulation/products/cublas_lt_api.h"

namespace vergence::emulation {

// Numbers as they are stored and as they are computed with: Real is double for products of double
// precision, float for all others.

template <class Real>
void readNumbers(cudaDataType_t type, const void* stored, std::int64_t count, Real* to);

/// Rounds to nearest even.
template <class Real>
void storeNumbers(cudaDataType_t type, const Real* numbers, std::int64_t count, void* to);

/// As if stored and read again.
template <class Real>
void roundNumbers(cudaDataType_t type, Real* numbers, std::int64_t count);

/// To 10 bits behind the point, as tensor cores take operands.
void roundToTf32(float* numbers, std::int64_t count);

} // namespace vergence::emulation
