#pragma once

#include <vector>

#include "tests/support/cuda_emulation/products/problem.h"

namespace vergence::emulation {

/// What is done to the columns of one matrix of the result before they are stored.
template <class Real>
class Epilogue {
public:
    Epilogue(const Problem& problem, int batch);

    void apply(Real* numbers, std::int64_t column);
    /// Stores the gradient of the bias, which may be a sum over op(a) or op(b).
    void finish(const std::vector<Real>& rowSumsOfA, const std::vector<Real>& columnSumsOfB);

private:
    unsigned char* auxColumn(std::int64_t column) const;
    void readOrWriteMask(Real* numbers, unsigned char* mask) const;

    const Problem& m_problem;
    EpilogueParts m_parts;
    unsigned char* m_bias; ///< of this matrix
    unsigned char* m_aux;
    std::vector<Real> m_biasNumbers, m_auxNumbers, m_sums;
};

} // namespace vergence::emulation
