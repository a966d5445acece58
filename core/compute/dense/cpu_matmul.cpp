#include <fmt/format.h>

#include "core/compute/dense/bf16_product.h"
#include "core/compute/dense/panelled_product.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"
#include "core/compute/dense/tiled_product.h"

namespace vergence {

namespace {

void checkPacked(const MatmulProblem& p)
{
    const auto* packed = dynamic_cast<const CpuPackedLinear*>(p.packedB);
    if (!packed || !p.transposeB || packed->layout().columns != p.n ||
        packed->layout().depth != p.k)
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
    if (problem.packedB)
        checkPacked(problem);
    const bool isNative =
        problem.type == DType::F64 || (problem.type == DType::BF16 && m_multipliesBf16);
    const bool isFewRows = problem.m <= kFewRows && problem.transposeB;
    if (Bf16Product::suits(*this, problem))
        Bf16Product(*this, problem).run(stream);
    else if (problem.k == 0 || isFewRows || isNative)
        TiledProduct(*this, problem).run(stream);
    else
        PanelledProduct(*this, problem).run(stream);
}

} // namespace vergence
