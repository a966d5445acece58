#pragma once

#include "tests/support/cuda_emulation/products/problem.h"

namespace vergence::emulation {

/// Whether two elements of the matrices of a batch share memory. Matrices may be interleaved, as
/// those of attention's heads are.
bool overlapsItself(const Matrix& matrix);

/// Whether an element of one shares memory with an element of the other.
bool overlap(const Matrix& x, const void* xData, const Matrix& y, const void* yData);

/// A vector, or a part of memory, as a matrix.
Matrix vectorOf(cudaDataType_t type, std::int64_t length, int batches = 1,
                std::int64_t distance = 0);

} // namespace vergence::emulation
