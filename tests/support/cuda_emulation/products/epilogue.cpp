#include "tests/support/cuda_emulation/products/epilogue.h"

#include <cmath>
#include <numbers>

#include "tests/support/cuda_emulation/products/numbers.h"

namespace vergence::emulation {

namespace {

// GELU in its tanh form, x/2 · (1 + tanh u) with u = √(2/π) · (x + 0.044715 x³).
// Source: Hendrycks, Gimpel, "Gaussian error linear units", section 2.
template <class Real>
const Real kSlope = std::numbers::sqrt2_v<Real>* std::numbers::inv_sqrtpi_v<Real>;
template <class Real>
constexpr Real kCubic = static_cast<Real>(0.044715);

template <class Real>
Real gelu(Real x)
{
    const Real u = kSlope<Real> * (x + kCubic<Real> * x * x * x);
    return x / 2 * (1 + std::tanh(u));
}

template <class Real>
Real geluSlope(Real x)
{
    const Real u = kSlope<Real> * (x + kCubic<Real> * x * x * x);
    const Real t = std::tanh(u);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * kSlope<Real> * (1 + 3 * kCubic<Real> * x * x);
}

unsigned char* advanced(const void* pointer, std::int64_t elements, cudaDataType_t type)
{
    auto* bytes = static_cast<unsigned char*>(const_cast<void*>(pointer));
    return bytes ? bytes + elements * static_cast<std::int64_t>(sizeOf(type)) : nullptr;
}

} // namespace

template <class Real>
Epilogue<Real>::Epilogue(const Problem& p, int batch)
    : m_problem(p),
      m_parts(partsOf(p.operation.epilogue)),
      m_bias(advanced(p.operation.bias, batch * p.operation.biasDistance, p.biasType())),
      m_aux(advanced(p.operation.aux, batch * auxOf(p).distance, auxOf(p).type))
{
    const auto rows = static_cast<std::size_t>(p.m());
    if (m_parts.addsBias) {
        m_biasNumbers.resize(rows);
        readNumbers(p.biasType(), m_bias, p.m(), m_biasNumbers.data());
    }
    if (m_parts.isGeluGradient)
        m_auxNumbers.resize(rows);
    if (m_parts.sumsColumns)
        m_sums.resize(rows);
}

template <class Real>
unsigned char* Epilogue<Real>::auxColumn(std::int64_t column) const
{
    const Matrix aux = auxOf(m_problem);
    return advanced(m_aux, column * aux.stride, aux.type);
}

template <class Real>
void Epilogue<Real>::readOrWriteMask(Real* numbers, unsigned char* mask) const
{
    for (std::int64_t row = 0; row < m_problem.m(); ++row) {
        unsigned char& eight = mask[row / 8];
        const auto bit = static_cast<unsigned char>(1u << row % 8);
        if (m_parts.isReluGradient)
            numbers[row] = eight & bit ? numbers[row] : 0;
        else
            eight = static_cast<unsigned char>(numbers[row] > 0 ? eight | bit : eight & ~bit);
    }
}

template <class Real>
void Epilogue<Real>::apply(Real* numbers, std::int64_t column)
{
    const std::int64_t rows = m_problem.m();
    for (std::int64_t i = 0; i < rows && m_parts.addsBias; ++i)
        numbers[i] += m_biasNumbers[static_cast<std::size_t>(i)];
    if (m_parts.hasMask())
        readOrWriteMask(numbers, auxColumn(column));
    else if (m_parts.hasAux && m_parts.isGelu)
        storeNumbers(m_problem.d.type, numbers, rows, auxColumn(column));
    else if (m_parts.isGeluGradient)
        readNumbers(m_problem.d.type, auxColumn(column), rows, m_auxNumbers.data());
    for (std::int64_t i = 0; i < rows; ++i) {
        if (m_parts.isRelu)
            numbers[i] = numbers[i] > 0 ? numbers[i] : 0;
        else if (m_parts.isGelu)
            numbers[i] = gelu(numbers[i]);
        else if (m_parts.isGeluGradient)
            numbers[i] *= geluSlope(m_auxNumbers[static_cast<std::size_t>(i)]);
        if (m_parts.sumsColumns)
            m_sums[static_cast<std::size_t>(i)] += numbers[i];
    }
}

template <class Real>
void Epilogue<Real>::finish(const std::vector<Real>& rowSumsOfA,
                            const std::vector<Real>& columnSumsOfB)
{
    if (!m_parts.writesBias())
        return;
    const std::vector<Real>& sums = m_parts.sumsA   ? rowSumsOfA
                                    : m_parts.sumsB ? columnSumsOfB
                                                    : m_sums;
    storeNumbers(m_problem.biasType(), sums.data(), static_cast<std::int64_t>(sums.size()), m_bias);
}

template class Epilogue<float>;
template class Epilogue<double>;

} // namespace vergence::emulation
