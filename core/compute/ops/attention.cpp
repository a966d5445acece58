#include "core/compute/ops/attention.h"

#include <cmath>

#include <fmt/format.h>

#include "core/compute/ops/attention_kernels.h"

namespace vergence {

namespace {

void expectShape(const char* what, const Tensor& tensor, const Shape& wanted)
{
    if (tensor.shape() != wanted)
        throw ContractError(fmt::format("attention: {} has the shape {}, not {}.", what,
                                        toString(tensor.shape()), toString(wanted)));
}

void expectType(const char* what, const Tensor& tensor, DType wanted)
{
    if (tensor.dtype() != wanted)
        throw ContractError(fmt::format("attention: {} holds {}, not {}.", what,
                                        nameOf(tensor.dtype()), nameOf(wanted)));
}

DType accumulatorOf(DType type)
{
    return type == DType::F64 ? DType::F64 : DType::F32;
}

/// q, k and v decide; everything else must fit them.
void expectSizes(const Tensor& q, const Tensor& k, const Tensor& v)
{
    const bool isFloat = q.dtype() == DType::F32 || q.dtype() == DType::F64 ||
                         q.dtype() == DType::F16 || q.dtype() == DType::BF16;
    if (!isFloat)
        throw ContractError(fmt::format("attention: q holds {}; F32, F64, F16 or BF16 is needed.",
                                        nameOf(q.dtype())));
    if (q.rank() != 4 || k.rank() != 4 || q.extent(0) != k.extent(0) || q.extent(3) != k.extent(3))
        throw ContractError(fmt::format("attention: q {} and k {} do not fit as [B, Sq, H, d] and "
                                        "[B, Sk, Hkv, d].",
                                        toString(q.shape()), toString(k.shape())));
    if (k.extent(2) < 1 || q.extent(2) % k.extent(2) != 0)
        throw ContractError(fmt::format("attention: {} query heads are no multiple of {} key heads "
                                        "(q {}, k {}).",
                                        q.extent(2), k.extent(2), toString(q.shape()),
                                        toString(k.shape())));
    if (q.extent(3) < kSmallestHead || q.extent(3) > kLargestHead)
        throw ContractError(fmt::format("attention: heads of {} numbers; {} to {} are possible.",
                                        q.extent(3), kSmallestHead, kLargestHead));
    expectShape("v", v, k.shape());
}

AttentionRows rowsOf(const char* what, const Tensor& tensor, const Shape& shape, DType type)
{
    expectShape(what, tensor, shape);
    expectType(what, tensor, type);
    if (tensor.stride(3) != 1)
        throw ContractError(
            fmt::format("attention: the numbers of a head of {} are {} apart; they must be "
                        "neighbours.",
                        what, tensor.stride(3)));
    return {tensor.data(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

AttentionBias biasOf(const Tensor& bias, const AttentionProblem& p)
{
    expectType("the bias", bias, accumulatorOf(p.type));
    const Index wanted[] = {p.batches, p.heads, p.queries, p.keys};
    bool fits = bias.rank() == 4;
    Index strides[4] = {};
    for (int d = 0; fits && d < 4; ++d) {
        const bool isSpread = d < 3 && bias.extent(d) == 1;
        fits = isSpread || bias.extent(d) == wanted[d];
        strides[d] = isSpread ? 0 : bias.stride(d);
    }
    if (!fits)
        throw ContractError(fmt::format("attention: the bias has the shape {}, not {} (or 1 in the "
                                        "first three).",
                                        toString(bias.shape()),
                                        toString({p.batches, p.heads, p.queries, p.keys})));
    return {bias.data(), strides[0], strides[1], strides[2], strides[3]};
}

const std::int32_t* wholeNumbers(const char* what, const Tensor& tensor)
{
    expectType(what, tensor, DType::I32);
    expects(tensor.isContiguous(), std::string("attention: strided ") + what);
    return static_cast<const std::int32_t*>(tensor.data());
}

AttentionMask maskOf(const AttentionArgs& args, const AttentionProblem& p)
{
    expects(args.cacheOffset >= 0, "attention: cacheOffset is negative");
    AttentionMask mask;
    mask.keys = p.keys;
    mask.causal = args.causal;
    mask.cacheOffset = args.cacheOffset;
    if (args.keyCounts) {
        mask.keyCounts = wholeNumbers("keyCounts", *args.keyCounts);
        expectShape("keyCounts", *args.keyCounts, {p.batches});
    }
    if (args.segmentStarts) {
        mask.segmentStarts = wholeNumbers("segmentStarts", *args.segmentStarts);
        expects(args.segmentStarts->rank() == 1 && args.segmentStarts->extent(0) >= 1,
                "attention: segmentStarts is not [S + 1]");
        expects(p.batches == 1 && p.queries == p.keys && args.cacheOffset == 0,
                "attention: segments need one batch, as many queries as keys, and no cacheOffset");
        mask.segments = args.segmentStarts->extent(0) - 1;
    }
    return mask;
}

AttentionProblem problemOf(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                           const AttentionArgs& args)
{
    expectSizes(q, k, v);
    AttentionProblem p;
    p.type = q.dtype();
    p.batches = q.extent(0), p.queries = q.extent(1), p.heads = q.extent(2);
    p.keys = k.extent(1), p.keyHeads = k.extent(2), p.size = q.extent(3);
    p.scale = args.scale != 0 ? args.scale : 1 / std::sqrt(static_cast<double>(p.size));
    p.q = rowsOf("q", q, q.shape(), p.type);
    p.k = rowsOf("k", k, k.shape(), p.type);
    p.v = rowsOf("v", v, k.shape(), p.type);
    p.o = rowsOf("o", o, q.shape(), p.type);
    p.mask = maskOf(args, p);
    if (args.bias)
        p.bias = biasOf(*args.bias, p);
    return p;
}

void* perQuery(const char* what, const Tensor& tensor, const AttentionProblem& p)
{
    expectShape(what, tensor, {p.batches, p.heads, p.queries});
    expectType(what, tensor, accumulatorOf(p.type));
    expects(tensor.isContiguous(), std::string("attention: strided ") + what);
    return tensor.data();
}

} // namespace

void attention(Stream& stream, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
               const Tensor* logSumExp, const AttentionArgs& args)
{
    AttentionProblem p = problemOf(q, k, v, o, args);
    if (logSumExp)
        p.logSumExp = perQuery("logSumExp", *logSumExp, p);
    if (q.size() > 0)
        attentionForwardKernel(stream, p);
}

void attentionBackward(Stream& stream, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& o, const Tensor& logSumExp, const Tensor& gradO,
                       const Tensor& gradQ, const Tensor& gradK, const Tensor& gradV,
                       const Tensor& delta, const AttentionArgs& args)
{
    AttentionProblem p = problemOf(q, k, v, o, args);
    p.logSumExp = perQuery("logSumExp", logSumExp, p);
    p.delta = perQuery("delta", delta, p);
    p.gradO = rowsOf("gradO", gradO, q.shape(), p.type);
    p.gradQ = rowsOf("gradQ", gradQ, q.shape(), p.type);
    p.gradK = rowsOf("gradK", gradK, k.shape(), p.type);
    p.gradV = rowsOf("gradV", gradV, k.shape(), p.type);
    if (q.size() > 0 || k.size() > 0)
        attentionBackwardKernel(stream, p);
}

} // namespace vergence
