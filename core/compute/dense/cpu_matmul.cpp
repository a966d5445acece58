#include <fmt/format.h>

#include "core/compute/dense/pair_kernels.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"
#include "core/compute/dense/tiled_product.h"

namespace vergence {

namespace {

void checkPacked(const MatmulProblem& p, DType type)
{
    const auto* packed = dynamic_cast<const CpuPackedLinear*>(p.packedB);
    if (!packed || !p.transposeB || packed->columns() != p.n || packed->depth() != p.k ||
        packed->type() != type)
        throw ContractError(fmt::format(
            "matmul: the packed weight is not the one of [{}, {}] used with transposeB", p.n, p.k));
}

} // namespace

void CpuDenseMath::matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                          const MatmulOptions& options)
{
    product(stream, describeMatmul(stream, a, b, y, options));
}

void CpuDenseMath::product(Stream& stream, const MatmulProblem& problem)
{
    if (problem.m == 0 || problem.n == 0 || problem.batches == 0)
        return;
    const bool isPaired = problem.type == DType::BF16 && m_multipliesBf16;
    if (problem.packedB)
        checkPacked(problem, isPaired ? DType::BF16 : DType::F32);
    const bool is16 = problem.type == DType::F16 || problem.type == DType::BF16;
    const bool isFewRows = problem.m <= kFewRows && problem.transposeB;
    if (problem.k == 0 || isFewRows || problem.type == DType::F64)
        TiledProduct(*this, problem).run(stream);
    else if (isPaired)
        productInPairs(stream, problem);
    else if (problem.batches == 1 &&
             (problem.packedB || (problem.m >= 96 && problem.n >= 64 && problem.k >= 64)))
        productInOrder(stream, problem);
    else if (is16)
        productOfWidened(stream, problem);
    else
        TiledProduct(*this, problem).run(stream);
}

/// In BF16. Where several tiles read all of b, it is put in pairs once; an a that is not dense is
/// made so by the tile that reads it, without which oneDNN has no fast product of pairs.
void CpuDenseMath::productInPairs(Stream& stream, const MatmulProblem& problem)
{
    TiledProduct product(*this, problem);
    const bool isLarge = product.isWholeRows() && problem.n >= PairedPanel::kColumns;
    if (isLarge && (problem.transposeA || problem.a.rowStride != problem.k))
        product.orderA(problem.type);
    CpuPackedLinear packed(DType::BF16, problem.n, problem.k, m_threads);
    if (isLarge && !problem.packedB && problem.batches == 1 && product.rows() > 1 &&
        product.setPacked(packed)) {
        packed.setMemory(workspace(stream, packed.bytes()));
        pack(stream, problem.b, problem.type, problem.transposeB, packed);
    }
    product.run(stream);
}

/// Puts the operands into the order that oneDNN reads fastest, which costs a few percent of a large
/// product and gains more: parts that one tile alone reads in that tile, where they stay in cache;
/// all others before.
void CpuDenseMath::productInOrder(Stream& stream, const MatmulProblem& problem)
{
    MatmulProblem p = problem;
    p.type = DType::F32;
    const bool is16 = problem.type != DType::F32;
    const bool byRows = p.transposeA && !p.transposeB && !is16 && p.n <= 512;
    TiledProduct product(*this, p,
                         byRows ? TiledProduct::Order::Rows : TiledProduct::Order::Columns);
    std::shared_ptr<void> rows;
    if (p.transposeA || is16) {
        if (product.columns() == 1) {
            product.orderA(problem.type);
        } else {
            rows = workspace(stream, static_cast<std::size_t>(p.m * p.k) * sizeof(float));
            auto* target = static_cast<float*>(rows.get());
            if (p.transposeA)
                turn(stream, p.a, problem.type, p.m, p.k, target);
            else
                widen(stream, p.a.data, problem.type, p.m, p.k, p.a.rowStride, target);
            p.a = {target, p.k, {}};
            p.transposeA = false;
        }
    }
    CpuPackedLinear packed(DType::F32, p.n, p.k, m_threads);
    if (!p.packedB && !byRows) {
        if (product.rows() == 1) {
            product.orderB(problem.type);
        } else {
            packed.setMemory(workspace(stream, packed.bytes()));
            pack(stream, p.b, problem.type, p.transposeB, packed);
            product.setPacked(packed);
        }
    }
    product.run(stream);
}

void CpuDenseMath::productOfWidened(Stream& stream, const MatmulProblem& problem)
{
    MatmulProblem p = problem;
    p.type = DType::F32;
    std::shared_ptr<void> copies[2];
    int next = 0;
    const auto copy = [&](MatrixBatch& matrix, Index rows, Index columns) {
        bool isShared = true; // one matrix for all batches
        for (int d = 0; d < p.batchRank; ++d)
            isShared = isShared && matrix.batchStrides[static_cast<std::size_t>(d)] == 0;
        const Index count = isShared ? 1 : p.batches, elements = rows * columns;
        auto& memory = copies[next++];
        memory = workspace(stream, static_cast<std::size_t>(count * elements) * sizeof(float));
        auto* target = static_cast<float*>(memory.get());
        for (Index i = 0; i < count; ++i)
            widen(stream, advanced(matrix.data, p.offsetOf(matrix, i), problem.type), problem.type,
                  rows, columns, matrix.rowStride, target + i * elements);
        matrix.data = target;
        matrix.rowStride = columns;
        Index stride = isShared ? 0 : elements;
        for (int d = p.batchRank; d-- > 0;) {
            matrix.batchStrides[static_cast<std::size_t>(d)] = stride;
            stride *= p.batch[static_cast<std::size_t>(d)];
        }
    };
    copy(p.a, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k);
    copy(p.b, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n);
    TiledProduct(*this, p).run(stream);
}

} // namespace vergence
