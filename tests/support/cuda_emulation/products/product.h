#pragma once

#include "tests/support/cuda_emulation/products/algorithms.h"
#include "tests/support/cuda_emulation/products/problem.h"

namespace vergence::emulation {

/// A product that has passed all rules.
struct Product {
    Problem problem;
    Operands operands; ///< alpha and beta are null: they were read when the call came
    double alpha, beta;
    const Algorithm* algorithm;
    std::size_t workspaceBytes; ///< that the algorithm uses
};

/// Computes it now. Reports memory that is not live, and computes nothing then.
void compute(const Product& product);

} // namespace vergence::emulation
