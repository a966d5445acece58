#include "core/compute/ops/norm.h"

#include <fmt/format.h>

#include "core/compute/ops/norm_kernels.h"
#include "core/compute/ops/operands.h"

namespace vergence {

namespace {

void expectStatistic(const char* operation, Stream& stream, const char* what, const Tensor* values,
                     const Tensor& x, Index count)
{
    if (!values)
        return;
    expectType(operation, stream, *values, accumulatorType(x.dtype()));
    if (values->size() != count)
        throw ContractError(fmt::format("{}: {} is {} for {} rows of {}", operation, what,
                                        toString(values->shape()), count, toString(x.shape())));
}

RowNormArguments rowNormArguments(const char* operation, Stream& stream, const Tensor& x,
                                  const Tensor* weight)
{
    RowNormArguments args;
    args.type = x.dtype();
    args.columns = columnsOf(operation, x);
    args.rows = rowsOf(x, args.columns);
    expectWeights(operation, stream, "the weight", weight, x, args.columns);
    args.x = x.data();
    args.weight = dataOf(weight);
    args.wideWeight = isWide(weight, x.dtype());
    return args;
}

void expectResidual(const char* operation, Stream& stream, const Tensor& x, const Tensor* residual,
                    const Tensor* sum)
{
    if (!residual && !sum)
        return;
    if (!residual || !sum)
        throw ContractError(
            fmt::format("{}: a residual and its sum are given together", operation));
    expectAlike(operation, stream, {&x, residual, sum});
    expectSameShape(operation, x, *residual);
    expectSameShape(operation, x, *sum);
}

RowNormArguments backwardArguments(const char* operation, Stream& stream, const Tensor& x,
                                   const Tensor* weight, const Tensor& rstd, const Tensor& gradY,
                                   const Tensor& gradX, const Tensor* gradWeight)
{
    expectAlike(operation, stream, {&x, &gradY, &gradX});
    expectSameShape(operation, x, gradY);
    expectSameShape(operation, x, gradX);
    RowNormArguments args = rowNormArguments(operation, stream, x, weight);
    expectStatistic(operation, stream, "rstd", &rstd, x, args.rows);
    expectSums(operation, stream, "the weight's gradient", gradWeight, x, {args.columns});
    args.rstd = rstd.data();
    args.gradY = gradY.data();
    args.gradX = gradX.data();
    args.gradWeight = dataOf(gradWeight);
    return args;
}

GroupNormArguments groupNormArguments(const char* operation, Stream& stream, const Tensor& x,
                                      const GroupNormArgs& given)
{
    if (x.rank() != 4)
        throw ContractError(
            fmt::format("{}: {} instead of 4 dimensions", operation, toString(x.shape())));
    GroupNormArguments args;
    args.type = x.dtype();
    args.samples = x.extent(0);
    args.channels = x.extent(given.channelsLast ? 3 : 1);
    args.pixels = given.channelsLast ? x.extent(1) * x.extent(2) : x.extent(2) * x.extent(3);
    args.groups = given.groups;
    if (given.groups < 1 || args.channels % given.groups != 0)
        throw ContractError(
            fmt::format("{}: {} groups of {} channels", operation, given.groups, args.channels));
    expectWeights(operation, stream, "the weight", given.weight, x, args.channels);
    expectWeights(operation, stream, "the bias", given.bias, x, args.channels);
    const Index groups = args.samples * args.groups;
    expectStatistic(operation, stream, "the mean", given.mean, x, groups);
    expectStatistic(operation, stream, "rstd", given.rstd, x, groups);
    args.channelsLast = given.channelsLast;
    args.silu = given.silu;
    args.x = x.data();
    args.weight = dataOf(given.weight);
    args.bias = dataOf(given.bias);
    args.wideWeight = isWide(given.weight, x.dtype());
    args.wideBias = isWide(given.bias, x.dtype());
    args.epsilon = given.epsilon;
    args.mean = dataOf(given.mean);
    args.rstd = dataOf(given.rstd);
    return args;
}

} // namespace

void layerNorm(Stream& stream, const Tensor& x, const Tensor& y, const LayerNormArgs& given)
{
    expectAlike("layerNorm", stream, {&x, &y});
    expectSameShape("layerNorm", x, y);
    expectResidual("layerNorm", stream, x, given.residual, given.sum);
    RowNormArguments args = rowNormArguments("layerNorm", stream, x, given.weight);
    expectWeights("layerNorm", stream, "the bias", given.bias, x, args.columns);
    expectStatistic("layerNorm", stream, "the mean", given.mean, x, args.rows);
    expectStatistic("layerNorm", stream, "rstd", given.rstd, x, args.rows);
    args.residual = dataOf(given.residual);
    args.sum = dataOf(given.sum);
    args.bias = dataOf(given.bias);
    args.wideBias = isWide(given.bias, x.dtype());
    args.epsilon = given.epsilon;
    args.y = y.data();
    args.mean = dataOf(given.mean);
    args.rstd = dataOf(given.rstd);
    rowNormKernel(stream, args);
}

void layerNormBackward(Stream& stream, const Tensor& x, const Tensor* weight, const Tensor& mean,
                       const Tensor& rstd, const Tensor& gradY, const Tensor& gradX,
                       bool accumulate, const Tensor* gradWeight, const Tensor* gradBias)
{
    constexpr const char* kName = "layerNormBackward";
    RowNormArguments args =
        backwardArguments(kName, stream, x, weight, rstd, gradY, gradX, gradWeight);
    expectStatistic(kName, stream, "the mean", &mean, x, args.rows);
    expectSums(kName, stream, "the bias's gradient", gradBias, x, {args.columns});
    args.mean = mean.data();
    args.accumulate = accumulate;
    args.gradBias = dataOf(gradBias);
    rowNormBackwardKernel(stream, args);
}

void rmsNorm(Stream& stream, const Tensor& x, const Tensor& y, const RmsNormArgs& given)
{
    expectAlike("rmsNorm", stream, {&x, &y});
    expectSameShape("rmsNorm", x, y);
    expectResidual("rmsNorm", stream, x, given.residual, given.sum);
    RowNormArguments args = rowNormArguments("rmsNorm", stream, x, given.weight);
    expectStatistic("rmsNorm", stream, "rstd", given.rstd, x, args.rows);
    args.isCentred = false;
    args.residual = dataOf(given.residual);
    args.sum = dataOf(given.sum);
    args.epsilon = given.epsilon;
    args.y = y.data();
    args.rstd = dataOf(given.rstd);
    rowNormKernel(stream, args);
}

void rmsNormBackward(Stream& stream, const Tensor& x, const Tensor* weight, const Tensor& rstd,
                     const Tensor& gradY, const Tensor& gradX, bool accumulate,
                     const Tensor* gradWeight)
{
    RowNormArguments args =
        backwardArguments("rmsNormBackward", stream, x, weight, rstd, gradY, gradX, gradWeight);
    args.isCentred = false;
    args.accumulate = accumulate;
    rowNormBackwardKernel(stream, args);
}

void groupNorm(Stream& stream, const Tensor& x, const Tensor& y, const GroupNormArgs& given)
{
    expectAlike("groupNorm", stream, {&x, &y});
    expectSameShape("groupNorm", x, y);
    GroupNormArguments args = groupNormArguments("groupNorm", stream, x, given);
    args.y = y.data();
    if (x.size() > 0)
        groupNormKernel(stream, args);
}

void groupNormBackward(Stream& stream, const Tensor& x, const Tensor& gradY, const Tensor& gradX,
                       bool accumulate, const Tensor* gradWeight, const Tensor* gradBias,
                       const GroupNormArgs& given)
{
    constexpr const char* kName = "groupNormBackward";
    expectAlike(kName, stream, {&x, &gradY, &gradX});
    expectSameShape(kName, x, gradY);
    expectSameShape(kName, x, gradX);
    expects(given.mean && given.rstd, "groupNormBackward: mean and rstd of the forward are wanted");
    GroupNormArguments args = groupNormArguments(kName, stream, x, given);
    expectSums(kName, stream, "the weight's gradient", gradWeight, x, {args.channels});
    expectSums(kName, stream, "the bias's gradient", gradBias, x, {args.channels});
    args.gradY = gradY.data();
    args.gradX = gradX.data();
    args.accumulate = accumulate;
    args.gradWeight = dataOf(gradWeight);
    args.gradBias = dataOf(gradBias);
    if (x.size() > 0)
        groupNormBackwardKernel(stream, args);
}

} // namespace vergence
