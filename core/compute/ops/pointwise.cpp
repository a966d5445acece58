#include "core/compute/ops/pointwise.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/compute/ops/operands.h"
#include "core/compute/ops/pointwise_kernels.h"

namespace vergence {

namespace {

/// Rows of a tensor whose innermost dimension is dense and whose rows lie at one distance.
struct RowWindow {
    Index rows = 0, columns = 0, pitch = 0;
};

RowWindow rowWindow(const char* operation, const Tensor& x)
{
    if (x.rank() < 1)
        throw ContractError(fmt::format("{}: a tensor without dimensions", operation));
    RowWindow window{1, x.extent(x.rank() - 1), 0};
    window.pitch = window.columns;
    bool isFit = x.stride(x.rank() - 1) == 1 || window.columns <= 1;
    for (int d = x.rank() - 2; d >= 0; --d) {
        if (x.extent(d) == 1)
            continue;
        if (window.rows == 1)
            window.pitch = x.stride(d);
        isFit = isFit && x.stride(d) == window.pitch * window.rows;
        window.rows *= x.extent(d);
    }
    if (!isFit && x.size() > 0)
        throw ContractError(fmt::format("{}: the rows of {} do not lie at one distance", operation,
                                        toString(x.shape())));
    return window;
}

void expectWindow(const char* operation, Stream& stream, const Tensor& x, const Tensor& like)
{
    expectSameShape(operation, x, like);
    if (x.dtype() != like.dtype())
        throw ContractError(fmt::format("{}: element types differ: {} and {}", operation,
                                        nameOf(like.dtype()), nameOf(x.dtype())));
    if (x.device().get() != &stream.device())
        throw ContractError(fmt::format("{}: the tensor {} lies on another device", operation,
                                        toString(x.shape())));
}

/// Groups of rows for operations that modulate each sample of x by one row [N, C].
AffineArguments affineOf(const Tensor& x, const Tensor& y, Index columns)
{
    AffineArguments args;
    args.type = x.dtype();
    args.rows = rowsOf(x, columns);
    args.columns = columns;
    args.x = x.data();
    args.y = y.data();
    return args;
}

Index rowsPerSample(const char* operation, const Tensor& x, const Tensor& modulation)
{
    const Index columns = columnsOf(operation, x);
    const Index samples = x.rank() > 1 ? x.extent(0) : 1;
    expectShape(operation, "the modulation", modulation, {samples, columns});
    return samples > 0 ? rowsOf(x, columns) / samples : 0;
}

void combine(Stream& stream, const Tensor* a, const Tensor* b, const Tensor& y,
             CombineArguments args)
{
    args.type = y.dtype();
    args.count = y.size();
    args.a = dataOf(a);
    args.b = dataOf(b);
    args.y = y.data();
    if (args.count > 0)
        combineKernel(stream, args);
}

} // namespace

void activate(Stream& stream, Activation kind, const Tensor& x, const Tensor& y)
{
    expectAlike("activate", stream, {&x, &y});
    expectSameShape("activate", x, y);
    activateKernel(stream, {kind, x.dtype(), x.size(), x.data(), nullptr, y.data(), false});
}

void activateBackward(Stream& stream, Activation kind, const Tensor& x, const Tensor& gradY,
                      const Tensor& gradX, bool accumulate)
{
    expectAlike("activateBackward", stream, {&x, &gradY, &gradX});
    expectSameShape("activateBackward", x, gradY);
    expectSameShape("activateBackward", x, gradX);
    activateBackwardKernel(
        stream, {kind, x.dtype(), x.size(), x.data(), gradY.data(), gradX.data(), accumulate});
}

void swiglu(Stream& stream, const Tensor& gate, const Tensor& up, const Tensor& y)
{
    expectNumbers("swiglu", stream, y);
    expectWindow("swiglu", stream, gate, y);
    expectWindow("swiglu", stream, up, y);
    SwigluArguments args;
    const RowWindow a = rowWindow("swiglu", gate), u = rowWindow("swiglu", up);
    args.type = y.dtype();
    args.rows = a.rows;
    args.columns = a.columns;
    args.gate = gate.data();
    args.up = up.data();
    args.y = y.data();
    args.gatePitch = a.pitch;
    args.upPitch = u.pitch;
    swigluKernel(stream, args);
}

void swigluBackward(Stream& stream, const Tensor& gate, const Tensor& up, const Tensor& gradY,
                    const Tensor& gradGate, const Tensor& gradUp)
{
    constexpr const char* kName = "swigluBackward";
    expectNumbers(kName, stream, gradY);
    for (const Tensor* tensor : {&gate, &up, &gradGate, &gradUp})
        expectWindow(kName, stream, *tensor, gradY);
    SwigluArguments args;
    const RowWindow a = rowWindow(kName, gate);
    args.type = gradY.dtype();
    args.rows = a.rows;
    args.columns = a.columns;
    args.gate = gate.data();
    args.up = up.data();
    args.gradY = gradY.data();
    args.gradGate = gradGate.data();
    args.gradUp = gradUp.data();
    args.gatePitch = a.pitch;
    args.upPitch = rowWindow(kName, up).pitch;
    args.gradGatePitch = rowWindow(kName, gradGate).pitch;
    args.gradUpPitch = rowWindow(kName, gradUp).pitch;
    swigluBackwardKernel(stream, args);
}

void addScaled(Stream& stream, double alpha, const Tensor& a, double beta, const Tensor& b,
               const Tensor& y)
{
    expectAlike("addScaled", stream, {&a, &b, &y});
    expectSameShape("addScaled", a, b);
    expectSameShape("addScaled", a, y);
    CombineArguments args;
    args.alpha = alpha;
    args.beta = beta;
    combine(stream, &a, &b, y, args);
}

void scale(Stream& stream, double alpha, const Tensor& x, const Tensor& y)
{
    expectAlike("scale", stream, {&x, &y});
    expectSameShape("scale", x, y);
    CombineArguments args;
    args.alpha = alpha;
    combine(stream, &x, nullptr, y, args);
}

void multiply(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y)
{
    expectAlike("multiply", stream, {&a, &b, &y});
    expectSameShape("multiply", a, b);
    expectSameShape("multiply", a, y);
    CombineArguments args;
    args.product = true;
    combine(stream, &a, &b, y, args);
}

void fill(Stream& stream, const Tensor& y, double value)
{
    expectNumbers("fill", stream, y);
    CombineArguments args;
    args.alpha = value;
    combine(stream, nullptr, nullptr, y, args);
}

void cast(Stream& stream, const Tensor& x, const Tensor& y)
{
    expectType("cast", stream, x, x.dtype());
    expectType("cast", stream, y, y.dtype());
    expectSameShape("cast", x, y);
    if (x.dtype() == y.dtype())
        stream.copy(y.data(), x.data(), x.bytes());
    else
        castKernel(stream, {x.dtype(), y.dtype(), x.size(), x.data(), y.data()});
}

void layerScale(Stream& stream, const Tensor& x, const Tensor& scale, const Tensor* residual,
                const Tensor& y)
{
    expectAlike("layerScale", stream, {&x, &y, residual});
    expectSameShape("layerScale", x, y);
    if (residual)
        expectSameShape("layerScale", x, *residual);
    const Index columns = columnsOf("layerScale", x);
    expectWeights("layerScale", stream, "the scale", &scale, x, columns);
    AffineArguments args = affineOf(x, y, columns);
    args.factor = scale.data();
    args.wideFactor = isWide(&scale, x.dtype());
    args.residual = dataOf(residual);
    affineKernel(stream, args);
}

void layerScaleBackward(Stream& stream, const Tensor& x, const Tensor& scale, const Tensor& gradY,
                        const Tensor& gradX, bool accumulate, const Tensor* gradScale)
{
    constexpr const char* kName = "layerScaleBackward";
    expectAlike(kName, stream, {&x, &gradY, &gradX});
    expectSameShape(kName, x, gradY);
    expectSums(kName, stream, "the scale's gradient", gradScale, x, scale.shape());
    if (gradScale && x.size() > 0) {
        ColumnSumArguments sums;
        sums.type = x.dtype();
        sums.columns = columnsOf(kName, x);
        sums.rowsPerGroup = rowsOf(x, sums.columns);
        sums.g = gradY.data();
        sums.x = x.data();
        sums.products = gradScale->data();
        columnSumKernel(stream, sums);
    }
    layerScale(stream, gradY, scale, accumulate ? &gradX : nullptr, gradX);
}

void film(Stream& stream, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y)
{
    expectAlike("film", stream, {&x, &gamma, &beta, &y});
    expectSameShape("film", x, y);
    expectSameShape("film", gamma, beta);
    AffineArguments args = affineOf(x, y, columnsOf("film", x));
    args.rowsPerGroup = rowsPerSample("film", x, gamma);
    args.grouped = true;
    args.factor = gamma.data();
    args.shift = beta.data();
    affineKernel(stream, args);
}

void filmBackward(Stream& stream, const Tensor& x, const Tensor& gamma, const Tensor& gradY,
                  const Tensor& gradX, bool accumulate, const Tensor& gradGamma,
                  const Tensor& gradBeta)
{
    constexpr const char* kName = "filmBackward";
    expectAlike(kName, stream, {&x, &gamma, &gradY, &gradX, &gradGamma, &gradBeta});
    expectSameShape(kName, x, gradY);
    expectSameShape(kName, x, gradX);
    expectSameShape(kName, gamma, gradGamma);
    expectSameShape(kName, gamma, gradBeta);
    ColumnSumArguments sums;
    sums.type = x.dtype();
    sums.columns = columnsOf(kName, x);
    sums.rowsPerGroup = rowsPerSample(kName, x, gamma);
    sums.groups = gamma.extent(0);
    sums.g = gradY.data();
    sums.x = x.data();
    sums.plain = gradBeta.data();
    sums.products = gradGamma.data();
    sums.overwrite = true;
    columnSumKernel(stream, sums);
    AffineArguments args = affineOf(gradY, gradX, sums.columns);
    args.rowsPerGroup = sums.rowsPerGroup;
    args.grouped = true;
    args.factor = gamma.data();
    args.residual = accumulate ? gradX.data() : nullptr;
    affineKernel(stream, args);
}

void addBias(Stream& stream, const Tensor& x, const Tensor& bias, const Tensor& y)
{
    expectAlike("addBias", stream, {&x, &y});
    expectSameShape("addBias", x, y);
    const Index columns = columnsOf("addBias", x);
    expectWeights("addBias", stream, "the bias", &bias, x, columns);
    AffineArguments args = affineOf(x, y, columns);
    args.shift = bias.data();
    args.wideShift = isWide(&bias, x.dtype());
    affineKernel(stream, args);
}

void addColumnSums(Stream& stream, const Tensor& x, const Tensor& sums)
{
    expectNumbers("addColumnSums", stream, x);
    ColumnSumArguments args;
    args.type = x.dtype();
    args.columns = columnsOf("addColumnSums", x);
    args.rowsPerGroup = rowsOf(x, args.columns);
    expectSums("addColumnSums", stream, "the sum", &sums, x, {args.columns});
    args.g = x.data();
    args.plain = sums.data();
    if (x.size() > 0)
        columnSumKernel(stream, args);
}

} // namespace vergence
