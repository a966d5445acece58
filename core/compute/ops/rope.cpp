#include <cmath>

#include <fmt/format.h>

#include "core/compute/ops/attention.h"
#include "core/compute/ops/rope_kernels.h"

namespace vergence {

namespace {

void expectFitting(const Tensor& x, const Tensor& y)
{
    expectSameShape(x, y);
    if (x.rank() != 4 || x.extent(3) % 2 != 0 || x.extent(3) < 2 ||
        x.extent(3) > 2 * kMostRopePairs)
        throw ContractError(fmt::format("rope: {} is not [B, S, H, d] with an even d from 2 to {}.",
                                        toString(x.shape()), 2 * kMostRopePairs));
    const bool isFloat = x.dtype() == DType::F32 || x.dtype() == DType::F64 ||
                         x.dtype() == DType::F16 || x.dtype() == DType::BF16;
    if (!isFloat || x.dtype() != y.dtype())
        throw ContractError(
            fmt::format("rope: x holds {} and y {}; both must hold F32, F64, F16 or BF16.",
                        nameOf(x.dtype()), nameOf(y.dtype())));
    expects(x.stride(3) == 1 && y.stride(3) == 1,
            "rope: the numbers of a head must be neighbours in x and y");
}

void setPositions(const Tensor& positions, const Tensor& x, RopeProblem& p)
{
    const bool isShared = positions.shape() == Shape{p.length};
    if (!isShared && positions.shape() != Shape{p.batches, p.length})
        throw ContractError(fmt::format("rope: positions {} do not fit x {}; [S] or [B, S] is "
                                        "needed.",
                                        toString(positions.shape()), toString(x.shape())));
    expects(positions.dtype() == DType::I32 && positions.isContiguous(),
            "rope: positions must be dense I32");
    p.positions = static_cast<const std::int32_t*>(positions.data());
    p.positionBatch = isShared ? 0 : p.length;
}

} // namespace

void rope(Stream& stream, const Tensor& x, const Tensor& y, const RopeArgs& args)
{
    expectFitting(x, y);
    expects(args.direction == 1 || args.direction == -1, "rope: direction must be 1 or -1");
    expects(args.theta > 0, "rope: theta must be positive");
    RopeProblem p;
    p.type = x.dtype();
    p.batches = x.extent(0), p.length = x.extent(1), p.heads = x.extent(2);
    p.pairs = x.extent(3) / 2;
    p.x = x.data(), p.xBatch = x.stride(0), p.xRow = x.stride(1), p.xHead = x.stride(2);
    p.y = y.data(), p.yBatch = y.stride(0), p.yRow = y.stride(1), p.yHead = y.stride(2);
    p.first = args.first;
    if (args.positions)
        setPositions(*args.positions, x, p);
    for (Index j = 0; j < p.pairs; ++j)
        p.frequency[j] = args.direction * std::pow(args.theta, -static_cast<double>(j) /
                                                                   static_cast<double>(p.pairs));
    ropeKernel(stream, p);
}

} // namespace vergence
