#include "tests/support/cuda_emulation/products/product.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include <Eigen/Core>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/products/epilogue.h"
#include "tests/support/cuda_emulation/products/numbers.h"
#include "tests/support/cuda_emulation/products/overlaps.h"

namespace vergence::emulation {

namespace {

template <class Real>
using Columns = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;

const unsigned char* columnOf(const Matrix& m, const void* data, int batch, std::int64_t column)
{
    return static_cast<const unsigned char*>(data) +
           (batch * m.distance + column * m.stride) * static_cast<std::int64_t>(sizeOf(m.type));
}

/// Which index of the sum comes at each place.
std::vector<std::int64_t> sequenceOf(SumOrder order, std::int64_t count)
{
    std::vector<std::int64_t> sequence;
    const std::int64_t step = order == SumOrder::EvenThenOdd ? 2 : 1;
    for (std::int64_t first = 0; first < step; ++first) {
        for (std::int64_t i = first; i < count; i += step)
            sequence.push_back(order == SumOrder::Descending ? count - 1 - i : i);
    }
    return sequence;
}

/// Computes the matrices of a batch one after another.
template <class Real>
class Multiplication {
public:
    explicit Multiplication(const Product& product)
        : m_product(product),
          m_problem(product.problem),
          m_sequence(sequenceOf(product.algorithm->order, m_problem.k()))
    {
    }

    void run(int batch)
    {
        const Operands& x = m_product.operands;
        const bool sumsAreRowsOfA = m_problem.operation.transposeA;
        const bool sumsAreRowsOfB = !m_problem.operation.transposeB;
        // A matrix that all of the batch share is read once.
        if (batch == 0 || m_problem.a.distance != 0)
            read(m_problem.a, x.a, batch, sumsAreRowsOfA, m_a);
        if (batch == 0 || m_problem.b.distance != 0)
            read(m_problem.b, x.b, batch, sumsAreRowsOfB, m_b);
        multiply();
        Epilogue<Real> epilogue(m_problem, batch);
        for (std::int64_t column = 0; column < m_problem.n(); ++column)
            store(epilogue, batch, column);
        finish(epilogue);
    }

private:
    bool usesTf32() const
    {
        return m_problem.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 &&
               settings().capability >= 80;
    }

    /// An operand as it lies, but for the order of the sum's indices.
    void read(const Matrix& m, const void* data, int batch, bool sumsAreRows, Columns<Real>& to)
    {
        to.resize(m.rows, m.columns);
        std::vector<Real> rows(static_cast<std::size_t>(m.rows));
        for (std::int64_t column = 0; column < m.columns; ++column) {
            const std::int64_t source =
                sumsAreRows ? column : m_sequence[static_cast<std::size_t>(column)];
            Real* target = to.col(column).data();
            readNumbers(m.type, columnOf(m, data, batch, source), m.rows,
                        sumsAreRows ? rows.data() : target);
            for (std::int64_t row = 0; row < m.rows && sumsAreRows; ++row)
                target[row] =
                    rows[static_cast<std::size_t>(m_sequence[static_cast<std::size_t>(row)])];
        }
        if constexpr (std::is_same_v<Real, float>) {
            if (usesTf32())
                roundToTf32(to.data(), to.size());
        }
    }

    void multiply()
    {
        const std::int64_t parts = m_product.algorithm->parts, k = m_problem.k();
        for (std::int64_t part = 0; part < parts; ++part) {
            const std::int64_t first = k * part / parts, count = k * (part + 1) / parts - first;
            Columns<Real>& sums = part == 0 ? m_sums : m_part;
            multiply(first, count, sums);
            if (m_product.algorithm->reduction & ~CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
                roundNumbers(m_problem.d.type, sums.data(), sums.size());
            if (part > 0)
                m_sums += m_part;
        }
    }

    void multiply(std::int64_t first, std::int64_t count, Columns<Real>& sums) const
    {
        const bool turnsA = m_problem.operation.transposeA, turnsB = m_problem.operation.transposeB;
        sums.resize(m_problem.m(), m_problem.n());
        if (turnsA && turnsB)
            sums.noalias() =
                m_a.middleRows(first, count).transpose() * m_b.middleCols(first, count).transpose();
        else if (turnsA)
            sums.noalias() =
                m_a.middleRows(first, count).transpose() * m_b.middleRows(first, count);
        else if (turnsB)
            sums.noalias() =
                m_a.middleCols(first, count) * m_b.middleCols(first, count).transpose();
        else
            sums.noalias() = m_a.middleCols(first, count) * m_b.middleRows(first, count);
    }

    void store(Epilogue<Real>& epilogue, int batch, std::int64_t column)
    {
        const std::int64_t rows = m_problem.m();
        const Real alpha = static_cast<Real>(m_product.alpha);
        const Real beta = static_cast<Real>(m_product.beta);
        auto numbers = m_sums.col(column);
        numbers *= alpha;
        if (beta != 0) {
            const Matrix& c = m_problem.c;
            m_addend.resize(rows);
            readNumbers(c.type, columnOf(c, m_product.operands.c, batch, column), rows,
                        m_addend.data());
            numbers += beta * m_addend;
        }
        epilogue.apply(numbers.data(), column);
        const unsigned char* place = columnOf(m_problem.d, m_product.operands.d, batch, column);
        storeNumbers(m_problem.d.type, numbers.data(), rows, const_cast<unsigned char*>(place));
    }

    void finish(Epilogue<Real>& epilogue) const
    {
        const EpilogueParts parts = partsOf(m_problem.operation.epilogue);
        std::vector<Real> ofA, ofB;
        const auto copy = [](const auto& sums) {
            return std::vector<Real>(sums.data(), sums.data() + sums.size());
        };
        using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
        if (parts.sumsA)
            ofA = copy(m_problem.operation.transposeA ? Vector(m_a.colwise().sum().transpose())
                                                      : Vector(m_a.rowwise().sum()));
        if (parts.sumsB)
            ofB = copy(m_problem.operation.transposeB ? Vector(m_b.rowwise().sum())
                                                      : Vector(m_b.colwise().sum().transpose()));
        epilogue.finish(ofA, ofB);
    }

    const Product& m_product;
    const Problem& m_problem;
    std::vector<std::int64_t> m_sequence;
    Columns<Real> m_a, m_b, m_sums, m_part;
    Eigen::Matrix<Real, Eigen::Dynamic, 1> m_addend;
};

/// A part of memory that a product reads or writes.
struct Place {
    const void* data;
    std::size_t bytes;
    const char* what;
};

std::vector<Place> placesOf(const Product& product)
{
    const Problem& p = product.problem;
    const Operands& x = product.operands;
    const EpilogueParts parts = partsOf(p.operation.epilogue);
    std::vector<Place> places = {{x.a, bytesOf(p.a), "matrix A of a product"},
                                 {x.b, bytesOf(p.b), "matrix B of a product"},
                                 {x.d, bytesOf(p.d), "matrix D of a product"}};
    if (product.beta != 0)
        places.push_back({x.c, bytesOf(p.c), "matrix C of a product"});
    if (parts.usesBias()) {
        const Matrix bias =
            vectorOf(p.biasType(), parts.biasLength(p), p.d.batches, p.operation.biasDistance);
        places.push_back({p.operation.bias, bytesOf(bias), "bias of a product"});
    }
    if (parts.hasAux)
        places.push_back({p.operation.aux, bytesOf(auxOf(p)), "auxiliary matrix of a product"});
    if (x.workspace && x.workspaceBytes > 0)
        places.push_back({x.workspace, x.workspaceBytes, "workspace of a product"});
    return places;
}

/// With what is open from here on.
void computeIn(const Product& product)
{
    // The library may leave anything in memory that was lent to it.
    constexpr std::size_t atLeast = 64 << 10;
    const Operands& x = product.operands;
    if (x.workspace)
        std::memset(x.workspace, 0xff,
                    std::max(product.workspaceBytes, std::min(atLeast, x.workspaceBytes)));
    const auto run = [&](auto multiplication) {
        for (int batch = 0; batch < product.problem.d.batches; ++batch)
            multiplication.run(batch);
    };
    if (product.problem.isDouble())
        run(Multiplication<double>(product));
    else
        run(Multiplication<float>(product));
}

} // namespace

void compute(const Product& product)
{
    const std::vector<Place> places = placesOf(product);
    const bool areLive = std::ranges::all_of(
        places, [](const Place& place) { return isLive(place.data, place.bytes, place.what); });
    if (!areLive)
        return;
    std::deque<Open> open;
    for (const Place& place : places)
        open.emplace_back(place.data, place.bytes);
    computeIn(product);
}

} // namespace vergence::emulation
