#include "core/compute/dense/problem.h"

#include <algorithm>

#include <fmt/format.h>

namespace vergence {

PackedWeight::~PackedWeight() = default;
DenseMath::~DenseMath() = default;

std::shared_ptr<const PackedWeight> DenseMath::packLinear(Stream&, const Tensor&, Index)
{
    return nullptr;
}

std::shared_ptr<const PackedWeight> DenseMath::packConv2d(Stream&, const Tensor&, const Shape&,
                                                          const Conv2dOptions&)
{
    return nullptr;
}

double MatmulProblem::flops() const
{
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batches);
}

double ConvProblem::flops() const
{
    return 2.0 * static_cast<double>(images * outPixels()) * static_cast<double>(weights());
}

Index MatmulProblem::offsetOf(const MatrixBatch& matrix, Index index) const
{
    Index offset = 0;
    for (int d = batchRank; d-- > 0;) {
        const auto at = static_cast<std::size_t>(d);
        offset += index % batch[at] * matrix.batchStrides[at];
        index /= batch[at];
    }
    return offset;
}

namespace {

bool isProductType(DType type)
{
    return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

void expectOnDevice(Stream& stream, const char* what, const Tensor& tensor)
{
    if (tensor.device() && tensor.device().get() != &stream.device())
        throw ContractError(fmt::format("{}: a tensor lies on {} but the stream belongs to {}",
                                        what, tensor.device()->info().name,
                                        stream.device().info().name));
}

MatrixBatch matrixOf(const char* name, const Tensor& tensor, int batchRank)
{
    const int rank = tensor.rank();
    MatrixBatch matrix;
    matrix.data = tensor.data();
    if (tensor.size() == 0)
        return matrix;
    if (tensor.extent(rank - 1) > 1 && tensor.stride(rank - 1) != 1) {
        throw ContractError(fmt::format(
            "matmul: rows of {} {} are not contiguous (stride {}); use transposeA or transposeB, "
            "or contiguous()",
            name, toString(tensor.shape()), tensor.stride(rank - 1)));
    }
    matrix.rowStride = tensor.extent(rank - 2) > 1 ? tensor.stride(rank - 2)
                                                   : std::max<Index>(tensor.extent(rank - 1), 1);
    if (matrix.rowStride < tensor.extent(rank - 1))
        throw ContractError(fmt::format("matmul: rows of {} {} overlap (stride {})", name,
                                        toString(tensor.shape()), matrix.rowStride));
    for (int d = 0; d < batchRank && rank == batchRank + 2; ++d)
        matrix.batchStrides[static_cast<std::size_t>(d)] = tensor.stride(d);
    return matrix;
}

void checkShapes(const Tensor& a, const Tensor& b, const Tensor& y, const MatmulOptions& options)
{
    const int rank = a.rank();
    bool fits = rank >= 2 && y.rank() == rank && (b.rank() == 2 || b.rank() == rank);
    if (fits) {
        const int rows = rank - 2, columns = rank - 1, bRows = b.rank() - 2,
                  bColumns = b.rank() - 1;
        fits = a.extent(options.transposeA ? columns : rows) == y.extent(rows) &&
               b.extent(options.transposeB ? bRows : bColumns) == y.extent(columns) &&
               a.extent(options.transposeA ? rows : columns) ==
                   b.extent(options.transposeB ? bColumns : bRows);
        for (int d = 0; d < rank - 2; ++d)
            fits =
                fits && a.extent(d) == y.extent(d) && (b.rank() == 2 || b.extent(d) == y.extent(d));
    }
    if (!fits) {
        throw ContractError(
            fmt::format("matmul: {}{} times {}{} does not give {}", toString(a.shape()),
                        options.transposeA ? " transposed" : "", toString(b.shape()),
                        options.transposeB ? " transposed" : "", toString(y.shape())));
    }
}

void checkLike(const char* what, const char* name, const Tensor* tensor, const Tensor& y)
{
    if (!tensor)
        return;
    if (tensor->shape() != y.shape() || tensor->dtype() != y.dtype())
        throw ContractError(fmt::format("{}: {} is {} {} but y is {} {}", what, name,
                                        nameOf(tensor->dtype()), toString(tensor->shape()),
                                        nameOf(y.dtype()), toString(y.shape())));
}

void checkBias(const char* what, const Tensor* bias, Index count, const Tensor& y)
{
    if (!bias)
        return;
    if (bias->shape() != Shape{count} || !bias->isContiguous())
        throw ContractError(fmt::format("{}: the bias is {} but y {} needs a dense [{}]", what,
                                        toString(bias->shape()), toString(y.shape()), count));
    if (bias->dtype() != y.dtype() && !(bias->dtype() == DType::F32 && y.dtype() != DType::F64))
        throw ContractError(fmt::format("{}: the bias is {} but y is {}", what,
                                        nameOf(bias->dtype()), nameOf(y.dtype())));
}

/// Drops batch dimension `d`.
void drop(MatmulProblem& p, int d)
{
    for (int i = d; i + 1 < p.batchRank; ++i) {
        const auto at = static_cast<std::size_t>(i);
        p.batch[at] = p.batch[at + 1];
        for (MatrixBatch* x : {&p.a, &p.b, &p.y, &p.residual, &p.preActivation})
            x->batchStrides[at] = x->batchStrides[at + 1];
    }
    --p.batchRank;
}

/// Whether the innermost batch dimension is more rows of the same product.
bool isMoreRows(const MatmulProblem& p)
{
    const auto d = static_cast<std::size_t>(p.batchRank - 1);
    if (p.transposeA || p.biasPerRow || p.b.batchStrides[d] != 0)
        return false;
    for (const MatrixBatch* x : {&p.a, &p.y, &p.residual, &p.preActivation}) {
        if (*x && p.m > 1 && x->batchStrides[d] != p.m * x->rowStride)
            return false;
        if (*x && p.m == 1 && x->batchStrides[d] < (x == &p.a ? p.k : p.n))
            return false;
    }
    return true;
}

} // namespace

void joinBatches(MatmulProblem& p)
{
    for (int d = p.batchRank; d-- > 0;) {
        if (p.batch[static_cast<std::size_t>(d)] == 1)
            drop(p, d);
    }
    while (p.batchRank > 0 && isMoreRows(p)) {
        const auto d = static_cast<std::size_t>(p.batchRank - 1);
        if (p.m == 1) {
            for (MatrixBatch* x : {&p.a, &p.y, &p.residual, &p.preActivation})
                x->rowStride = x->batchStrides[d];
        }
        p.m *= p.batch[d];
        p.batches /= p.batch[d];
        --p.batchRank;
    }
    for (int d = p.batchRank - 1; d > 0; --d) {
        const auto inner = static_cast<std::size_t>(d), outer = inner - 1;
        bool joins = true;
        for (const MatrixBatch* x : {&p.a, &p.b, &p.y, &p.residual, &p.preActivation})
            joins = joins && x->batchStrides[outer] == x->batchStrides[inner] * p.batch[inner];
        if (!joins)
            continue;
        p.batch[outer] *= p.batch[inner];
        for (MatrixBatch* x : {&p.a, &p.b, &p.y, &p.residual, &p.preActivation})
            x->batchStrides[outer] = x->batchStrides[inner];
        drop(p, d);
    }
}

void expectResultType(const char* what, const char* name, DType operands, DType result)
{
    const bool is16 = operands == DType::F16 || operands == DType::BF16;
    if (result != operands && !(is16 && result == DType::F32))
        throw ContractError(fmt::format("{}: {} is {} but the operands are {}", what, name,
                                        nameOf(result), nameOf(operands)));
}

MatmulProblem describeMatmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                             const MatmulOptions& options)
{
    for (const Tensor* tensor :
         {&a, &b, &y, options.bias, options.residual, options.preActivation}) {
        if (tensor)
            expectOnDevice(stream, "matmul", *tensor);
    }
    if (a.dtype() != b.dtype() || !isProductType(a.dtype()))
        throw ContractError(fmt::format("matmul: a is {} and b is {}; both must be F32, F64, F16 "
                                        "or BF16",
                                        nameOf(a.dtype()), nameOf(b.dtype())));
    expectResultType("matmul", "y", a.dtype(), y.dtype());
    checkShapes(a, b, y, options);
    const int rank = a.rank();
    checkBias("matmul", options.bias, y.extent(rank - 1), y);
    checkLike("matmul", "the residual", options.residual, y);
    checkLike("matmul", "preActivation", options.preActivation, y);
    expects(options.activation == Activation::None || options.beta == 0,
            "matmul: an activation cannot be added to y (beta must be 0)");

    MatmulProblem p;
    p.m = y.extent(rank - 2);
    p.n = y.extent(rank - 1);
    p.k = a.extent(options.transposeA ? rank - 2 : rank - 1);
    p.batchRank = rank - 2;
    for (int d = 0; d < p.batchRank; ++d) {
        p.batch[static_cast<std::size_t>(d)] = y.extent(d);
        p.batches *= y.extent(d);
    }
    p.type = a.dtype();
    p.outType = y.dtype();
    p.transposeA = options.transposeA;
    p.transposeB = options.transposeB;
    p.a = matrixOf("a", a, p.batchRank);
    p.b = matrixOf("b", b, p.batchRank);
    p.y = matrixOf("y", y, p.batchRank);
    if (options.residual)
        p.residual = matrixOf("the residual", *options.residual, p.batchRank);
    if (options.preActivation)
        p.preActivation = matrixOf("preActivation", *options.preActivation, p.batchRank);
    p.alpha = options.alpha;
    p.beta = options.beta;
    if (options.bias) {
        p.bias = options.bias->data();
        p.biasType = options.bias->dtype();
    }
    p.activation = options.activation;
    p.packedB = options.packedB;
    if (y.size() > 0)
        joinBatches(p);
    return p;
}

Shape conv2dShape(const Shape& x, const Shape& w, const Conv2dOptions& options)
{
    const bool nhwc = options.layout == ImageLayout::Nhwc;
    const std::size_t h = nhwc ? 1 : 2, c = nhwc ? 3 : 1;
    if (x.size() != 4 || w.size() != 4 || x[c] != w[c])
        throw ContractError(fmt::format(
            "conv2d: images {} and weights {} do not fit ({})", toString(x), toString(w),
            nhwc ? "[N, H, W, C] and [Cout, kh, kw, C]" : "[N, C, H, W] and [Cout, C, kh, kw]"));
    expects(options.stride >= 1 && options.padding >= 0,
            fmt::format("conv2d: stride {} must be positive and padding {} not negative",
                        options.stride, options.padding));
    Shape y = x;
    y[c] = w[0];
    for (const std::size_t d : {h, h + 1}) {
        const Index padded = x[d] + 2 * options.padding;
        if (w[d] < 1 || w[d] > padded)
            throw ContractError(fmt::format("conv2d: the kernel of {} exceeds images {} with {} "
                                            "zeros around",
                                            toString(w), toString(x), options.padding));
        y[d] = (padded - w[d]) / options.stride + 1;
    }
    return y;
}

ConvProblem describeConv(Stream& stream, const char* what, const Tensor& x, const Tensor& w,
                         const Tensor& y, const Conv2dOptions& options)
{
    for (const Tensor* tensor : {&x, &w, &y}) {
        expectOnDevice(stream, what, *tensor);
        if (!tensor->isContiguous())
            throw ContractError(fmt::format("{}: {} is strided; use contiguous()", what,
                                            toString(tensor->shape())));
    }
    const Shape expected = conv2dShape(x.shape(), w.shape(), options);
    if (y.shape() != expected)
        throw ContractError(fmt::format("{}: images {} and weights {} give {}, not {}", what,
                                        toString(x.shape()), toString(w.shape()),
                                        toString(expected), toString(y.shape())));
    const bool nhwc = options.layout == ImageLayout::Nhwc;
    const int h = nhwc ? 1 : 2, c = nhwc ? 3 : 1;
    ConvProblem p;
    p.images = x.extent(0);
    p.channels = x.extent(c);
    p.height = x.extent(h);
    p.width = x.extent(h + 1);
    p.outChannels = w.extent(0);
    p.kernelHeight = w.extent(h);
    p.kernelWidth = w.extent(h + 1);
    p.outHeight = y.extent(h);
    p.outWidth = y.extent(h + 1);
    p.stride = options.stride;
    p.padding = options.padding;
    p.layout = options.layout;
    p.type = x.dtype();
    if (!isProductType(p.type))
        throw ContractError(fmt::format("{}: {} has no convolution; use F32, F64, F16 or BF16",
                                        what, nameOf(p.type)));
    return p;
}

void checkConvExtras(const ConvProblem& p, const Tensor& y, const Conv2dOptions& options)
{
    checkBias("conv2d", options.bias, p.outChannels, y);
    checkLike("conv2d", "the residual", options.residual, y);
    checkLike("conv2d", "preActivation", options.preActivation, y);
    for (const Tensor* tensor : {options.residual, options.preActivation})
        expects(!tensor || tensor->isContiguous(), "conv2d: residual and preActivation are dense");
}

void checkBackwardWeight(const ConvProblem& p, const Tensor& x, const Tensor& gradY,
                         const Tensor& gradW, const Tensor* gradBias)
{
    const char* what = "conv2dBackwardWeight";
    if (x.dtype() != gradY.dtype())
        throw ContractError(fmt::format("{}: x is {} and gradY is {}", what, nameOf(x.dtype()),
                                        nameOf(gradY.dtype())));
    expectResultType(what, "gradW", x.dtype(), gradW.dtype());
    if (!gradBias)
        return;
    if (gradBias->shape() != Shape{p.outChannels} || !gradBias->isContiguous())
        throw ContractError(fmt::format("{}: gradBias is {} but gradW {} needs a dense [{}]", what,
                                        toString(gradBias->shape()), toString(gradW.shape()),
                                        p.outChannels));
    expectResultType(what, "gradBias", x.dtype(), gradBias->dtype());
}

} // namespace vergence
