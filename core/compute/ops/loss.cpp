#include "core/compute/ops/loss.h"

#include <fmt/format.h>

#include "core/compute/ops/loss_kernels.h"
#include "core/compute/ops/operands.h"

namespace vergence {

namespace {

/// One number in the accumulator's type.
void expectScalar(const char* operation, Stream& stream, const char* what, const Tensor& scalar,
                  const Tensor& x)
{
    expectType(operation, stream, scalar, accumulatorType(x.dtype()));
    if (scalar.size() != 1)
        throw ContractError(fmt::format("{}: {} is {} instead of one number", operation, what,
                                        toString(scalar.shape())));
}

CrossEntropyArguments crossEntropyArguments(const char* operation, Stream& stream,
                                            const Tensor& logits, const Tensor& labels,
                                            const Tensor& counted)
{
    expectNumbers(operation, stream, logits);
    if (logits.rank() != 2)
        throw ContractError(
            fmt::format("{}: {} instead of 2 dimensions", operation, toString(logits.shape())));
    expectType(operation, stream, labels, DType::I32);
    expectShape(operation, "the tensor of labels", labels, {logits.extent(0)});
    expectType(operation, stream, counted, DType::I32);
    expectShape(operation, "the count", counted, {1});
    CrossEntropyArguments args;
    args.type = logits.dtype();
    args.rows = logits.extent(0);
    args.columns = logits.extent(1);
    args.logits = logits.data();
    args.labels = static_cast<const std::int32_t*>(labels.data());
    args.counted = static_cast<std::int32_t*>(counted.data());
    return args;
}

void regression(const char* operation, Stream& stream, Penalty penalty, const Tensor& prediction,
                const Tensor& target, double width, const Tensor& loss)
{
    expectAlike(operation, stream, {&prediction, &target});
    expectSameShape(operation, prediction, target);
    expectScalar(operation, stream, "the loss", loss, prediction);
    if (!(width > 0))
        throw ContractError(
            fmt::format("{}: a width of {}; it must be positive", operation, width));
    RegressionArguments args;
    args.penalty = penalty;
    args.type = prediction.dtype();
    args.count = prediction.size();
    args.width = width;
    args.prediction = prediction.data();
    args.target = target.data();
    args.loss = loss.data();
    regressionKernel(stream, args);
}

void regressionBackward(const char* operation, Stream& stream, Penalty penalty,
                        const Tensor& prediction, const Tensor& target, double width,
                        const Tensor& gradLoss, const Tensor& gradPrediction, bool accumulate)
{
    expectAlike(operation, stream, {&prediction, &target, &gradPrediction});
    expectSameShape(operation, prediction, target);
    expectSameShape(operation, prediction, gradPrediction);
    expectScalar(operation, stream, "the loss's gradient", gradLoss, prediction);
    if (!(width > 0))
        throw ContractError(
            fmt::format("{}: a width of {}; it must be positive", operation, width));
    RegressionArguments args;
    args.penalty = penalty;
    args.type = prediction.dtype();
    args.count = prediction.size();
    args.width = width;
    args.prediction = prediction.data();
    args.target = target.data();
    args.gradLoss = gradLoss.data();
    args.gradPrediction = gradPrediction.data();
    args.accumulate = accumulate;
    if (args.count > 0)
        regressionBackwardKernel(stream, args);
}

} // namespace

void softmax(Stream& stream, const Tensor& x, const Tensor& y)
{
    expectAlike("softmax", stream, {&x, &y});
    expectSameShape("softmax", x, y);
    SoftmaxArguments args;
    args.type = x.dtype();
    args.columns = columnsOf("softmax", x);
    args.rows = rowsOf(x, args.columns);
    args.x = x.data();
    args.out = y.data();
    softmaxKernel(stream, args);
}

void softmaxBackward(Stream& stream, const Tensor& y, const Tensor& gradY, const Tensor& gradX,
                     bool accumulate)
{
    expectAlike("softmaxBackward", stream, {&y, &gradY, &gradX});
    expectSameShape("softmaxBackward", y, gradY);
    expectSameShape("softmaxBackward", y, gradX);
    SoftmaxArguments args;
    args.type = y.dtype();
    args.columns = columnsOf("softmaxBackward", y);
    args.rows = rowsOf(y, args.columns);
    args.x = y.data();
    args.gradY = gradY.data();
    args.out = gradX.data();
    args.accumulate = accumulate;
    softmaxBackwardKernel(stream, args);
}

void crossEntropy(Stream& stream, const Tensor& logits, const Tensor& labels, const Tensor& rowLoss,
                  const Tensor& counted, const Tensor& loss)
{
    constexpr const char* kName = "crossEntropy";
    CrossEntropyArguments args = crossEntropyArguments(kName, stream, logits, labels, counted);
    expectSums(kName, stream, "the loss of the rows", &rowLoss, logits, {args.rows});
    expectScalar(kName, stream, "the loss", loss, logits);
    args.rowLoss = rowLoss.data();
    args.loss = loss.data();
    crossEntropyKernel(stream, args);
}

void crossEntropyBackward(Stream& stream, const Tensor& logits, const Tensor& labels,
                          const Tensor& counted, const Tensor& gradLoss, const Tensor& gradLogits,
                          bool accumulate)
{
    constexpr const char* kName = "crossEntropyBackward";
    CrossEntropyArguments args = crossEntropyArguments(kName, stream, logits, labels, counted);
    expectAlike(kName, stream, {&logits, &gradLogits});
    expectSameShape(kName, logits, gradLogits);
    expectScalar(kName, stream, "the loss's gradient", gradLoss, logits);
    args.gradLoss = gradLoss.data();
    args.gradLogits = gradLogits.data();
    args.accumulate = accumulate;
    crossEntropyBackwardKernel(stream, args);
}

void meanSquaredError(Stream& stream, const Tensor& prediction, const Tensor& target,
                      const Tensor& loss)
{
    regression("meanSquaredError", stream, Penalty::Square, prediction, target, 1, loss);
}

void meanSquaredErrorBackward(Stream& stream, const Tensor& prediction, const Tensor& target,
                              const Tensor& gradLoss, const Tensor& gradPrediction, bool accumulate)
{
    regressionBackward("meanSquaredErrorBackward", stream, Penalty::Square, prediction, target, 1,
                       gradLoss, gradPrediction, accumulate);
}

void smoothAbsoluteError(Stream& stream, const Tensor& prediction, const Tensor& target, double c,
                         const Tensor& loss)
{
    regression("smoothAbsoluteError", stream, Penalty::SmoothAbsolute, prediction, target, c, loss);
}

void smoothAbsoluteErrorBackward(Stream& stream, const Tensor& prediction, const Tensor& target,
                                 double c, const Tensor& gradLoss, const Tensor& gradPrediction,
                                 bool accumulate)
{
    regressionBackward("smoothAbsoluteErrorBackward", stream, Penalty::SmoothAbsolute, prediction,
                       target, c, gradLoss, gradPrediction, accumulate);
}

void smoothL1(Stream& stream, const Tensor& prediction, const Tensor& target, double beta,
              const Tensor& loss)
{
    regression("smoothL1", stream, Penalty::SmoothL1, prediction, target, beta, loss);
}

void smoothL1Backward(Stream& stream, const Tensor& prediction, const Tensor& target, double beta,
                      const Tensor& gradLoss, const Tensor& gradPrediction, bool accumulate)
{
    regressionBackward("smoothL1Backward", stream, Penalty::SmoothL1, prediction, target, beta,
                       gradLoss, gradPrediction, accumulate);
}

} // namespace vergence
