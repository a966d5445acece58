#include "cuda/backend/cuda_dense.h"

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/compute/dense/tile_kernels.h"
#include "cuda/backend/cudnn_conv.h"

namespace vergence {

namespace {

std::unique_ptr<CublasLt> openCublas()
{
    std::string reason;
    auto lt = CublasLt::open(reason);
    if (!lt)
        throw DeviceError(
            reason + " Install the cuBLAS library of this CUDA version, or choose the CPU.",
            ExitCode::NoDevice);
    return lt;
}

std::byte* advanced(const MatrixBatch& matrix, Index elements, DType type)
{
    auto* bytes = static_cast<std::byte*>(matrix.data);
    return bytes ? bytes + elements * static_cast<Index>(sizeOf(type)) : nullptr;
}

/// A dense copy of the extents of y, in F32 (F64 for F64).
MatrixBatch denseLike(const MatmulProblem& p, void* data)
{
    MatrixBatch dense{data, p.n, {}};
    Index stride = p.m * p.n;
    for (int d = p.batchRank; d-- > 0;) {
        dense.batchStrides[static_cast<std::size_t>(d)] = stride;
        stride *= p.batch[static_cast<std::size_t>(d)];
    }
    return dense;
}

/// Whether cuBLASLt can add the bias: one number a column, of the result's type, where its widest
/// loads may begin.
bool fusesBias(const MatmulProblem& p)
{
    constexpr std::uintptr_t kAlignment = 16;
    return p.bias && !p.biasPerRow && p.biasType == p.outType && p.type != DType::F64 &&
           reinterpret_cast<std::uintptr_t>(p.bias) % kAlignment == 0;
}

} // namespace

CudaDenseMath::CudaDenseMath(Device& device) : m_device(device), m_products(device, openCublas())
{
    std::string reason;
    m_convolutions = CudnnConvolutions::open(device.info(), reason);
    if (!m_convolutions)
        log("cuda").warn("{} Convolutions use unfolded products instead, which are slower.",
                         reason);
}

CudaDenseMath::~CudaDenseMath() = default;

CudaDenseMath::StreamMemory& CudaDenseMath::memoryOf(Stream& stream)
{
    const std::lock_guard lock(m_mutex);
    auto& memory = m_streams[stream.native()];
    if (!memory) {
        memory = std::make_unique<StreamMemory>(m_device);
        memory->ltWorkspace = memory->blocks.take(m_products.workspaceBytes());
    }
    return *memory;
}

void CudaDenseMath::forget(void* stream) noexcept
{
    const std::lock_guard lock(m_mutex);
    m_streams.erase(stream);
}

std::shared_ptr<void> CudaDenseMath::workspace(Stream& stream, std::size_t bytes)
{
    return memoryOf(stream).blocks.take(bytes);
}

void CudaDenseMath::matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                           const MatmulOptions& options)
{
    expects(!options.packedB, "matmul: this device has no packed weights");
    product(stream, describeMatmul(stream, a, b, y, options));
}

void CudaDenseMath::setPolicy(const ProductPolicy& policy)
{
    m_policy = policy;
    if (m_convolutions)
        m_convolutions->setPolicy(policy);
}

bool CudaDenseMath::multiply(Stream& stream, const MatmulProblem& p, const MatrixBatch& target,
                             DType targetType, const MatrixBatch& addend, double beta,
                             const void* bias, cublasLtEpilogue_t epilogue)
{
    StreamMemory& memory = memoryOf(stream);
    // cuBLASLt steps over one dimension of batches; outer ones are calls of their own.
    const int inner = p.batchRank - 1;
    const auto at = static_cast<std::size_t>(std::max(inner, 0));
    LtProduct one;
    one.policy = ProductPolicyScope::inForce(m_policy);
    one.m = p.m;
    one.n = p.n;
    one.k = p.k;
    one.batches = inner >= 0 ? p.batch[at] : 1;
    one.type = p.type;
    one.resultType = targetType;
    one.transposeA = p.transposeA;
    one.transposeB = p.transposeB;
    one.aStride = p.a.rowStride;
    one.bStride = p.b.rowStride;
    one.cStride = addend.rowStride;
    one.dStride = target.rowStride;
    one.aBatch = p.a.batchStrides[at];
    one.bBatch = p.b.batchStrides[at];
    one.cBatch = addend.batchStrides[at];
    one.dBatch = target.batchStrides[at];
    one.alpha = p.alpha;
    one.beta = beta;
    one.bias = bias;
    one.epilogue = epilogue;
    const auto place = [&](Index first) {
        one.a = advanced(p.a, p.offsetOf(p.a, first), p.type);
        one.b = advanced(p.b, p.offsetOf(p.b, first), p.type);
        one.c = advanced(addend, p.offsetOf(addend, first), targetType);
        one.d = advanced(target, p.offsetOf(target, first), targetType);
    };
    // All are planned before the first is queued: where one is refused, another way does them all.
    std::vector<std::shared_ptr<const LtProducts::Plan>> plans;
    for (Index first = 0; first < p.batches; first += one.batches) {
        place(first);
        plans.push_back(m_products.plan(stream, one, memory.ltWorkspace.get(), memory.blocks));
        if (!plans.back())
            return false;
    }
    for (std::size_t i = 0; i < plans.size(); ++i) {
        place(static_cast<Index>(i) * one.batches);
        m_products.run(stream, one, *plans[i], memory.ltWorkspace.get());
    }
    return true;
}

bool CudaDenseMath::multiplyFused(Stream& stream, const MatmulProblem& p)
{
    // The library adds c before it activates, and its GELU is the tanh form.
    const bool isPlain = p.activation == Activation::None;
    const bool isTanh = p.activation == Activation::GeluTanh;
    const bool isRelu = p.activation == Activation::Relu;
    const bool activates = (isTanh || isRelu) && !p.residual && p.type != DType::F64;
    const bool biasFits = !p.bias || fusesBias(p);
    const bool addsFit = !(p.residual && p.beta != 0);
    if (p.preActivation || !biasFits || !addsFit || !(isPlain || activates))
        return false;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    if (isTanh)
        epilogue = p.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    else if (isRelu)
        epilogue = p.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    else if (p.bias)
        epilogue = CUBLASLT_EPILOGUE_BIAS;
    const MatrixBatch none;
    const bool hasAddend = p.residual && !p.residualIsY();
    return multiply(stream, p, p.y, p.outType, hasAddend ? p.residual : none,
                    p.residual ? 1.0 : p.beta, p.bias, epilogue);
}

void CudaDenseMath::multiplyAndFinish(Stream& stream, const MatmulProblem& p)
{
    const MatrixBatch none;
    // The bias belongs to the number that the derivative reads: where the library adds it, the
    // product is rounded once, straight to where it is wanted.
    const bool addsBias = fusesBias(p);
    const cublasLtEpilogue_t epilogue =
        addsBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    const bool isWhole = addsBias || !p.bias;
    if (isWhole && p.preActivation &&
        multiply(stream, p, p.preActivation, p.outType, none, 0, addsBias ? p.bias : nullptr,
                 epilogue)) {
        MatmulProblem rest = p;
        rest.preActivation = none;
        finish(stream, rest, p.preActivation, true, false);
        return;
    }
    const bool yIsFree = p.beta == 0 && !p.residualIsY();
    if (isWhole && !p.preActivation && yIsFree &&
        multiply(stream, p, p.y, p.outType, none, 0, addsBias ? p.bias : nullptr, epilogue)) {
        finish(stream, p, p.y, true, false);
        return;
    }
    const DType sumType = p.type == DType::F64 ? DType::F64 : DType::F32;
    const auto memory =
        workspace(stream, static_cast<std::size_t>(p.batches * p.m * p.n) * sizeOf(sumType));
    const MatrixBatch product = denseLike(p, memory.get());
    if (!multiply(stream, p, product, sumType, none, 0, nullptr, CUBLASLT_EPILOGUE_DEFAULT))
        throw DeviceError(fmt::format(
            "cuBLASLt has no algorithm for a product of {} × {} × {} in {} on {}. Choose another "
            "precision.",
            p.m, p.n, p.k, nameOf(p.type), m_device.info().name));
    finish(stream, p, product, false, true);
}

void CudaDenseMath::finish(Stream& stream, const MatmulProblem& p, const MatrixBatch& product,
                           bool isRounded, bool hasBias)
{
    const DType productType = isRounded                 ? p.outType
                              : p.outType == DType::F64 ? DType::F64
                                                        : DType::F32;
    TileFinish tile;
    tile.productIsRounded = isRounded;
    tile.productStride = product.rowStride;
    tile.rows = p.m;
    tile.columns = p.n;
    tile.type = p.outType;
    tile.yStride = p.y.rowStride;
    tile.residualStride = p.residual.rowStride;
    tile.preActivationStride = p.preActivation.rowStride;
    tile.bias = hasBias ? p.bias : nullptr;
    tile.biasType = p.biasType;
    tile.biasPerRow = p.biasPerRow;
    tile.activation = p.activation;
    tile.beta = p.beta;
    for (Index batch = 0; batch < p.batches; ++batch) {
        const auto place = [&](const MatrixBatch& matrix, DType type) {
            return advanced(matrix, p.offsetOf(matrix, batch), type);
        };
        tile.product = place(product, productType);
        tile.y = place(p.y, p.outType);
        tile.residual = place(p.residual, p.outType);
        tile.preActivation = place(p.preActivation, p.outType);
        finishTile(stream, tile);
    }
}

void CudaDenseMath::product(Stream& stream, const MatmulProblem& p)
{
    if (p.m == 0 || p.n == 0 || p.batches == 0)
        return;
    if (p.k == 0)
        finish(stream, p, MatrixBatch{}, false, true);
    else if (!multiplyFused(stream, p))
        multiplyAndFinish(stream, p);
}

void CudaDenseMath::conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                           const Conv2dOptions& options)
{
    const ConvProblem p = describeConv(stream, "conv2d", x, w, y, options);
    expects(w.dtype() == x.dtype(), "conv2d: images and weights differ in type");
    expectResultType("conv2d", "y", x.dtype(), y.dtype());
    checkConvExtras(p, y, options);
    expects(!options.packed, "conv2d: this device has no packed weights");
    if (y.size() == 0)
        return;
    const bool isProduct = p.isPointwise() && p.layout == ImageLayout::Nhwc;
    if (isProduct || p.channels == 0 || !m_convolutions ||
        !m_convolutions->forward(*this, stream, p, x, w, y, options))
        unfoldedConv(*this, stream, p, x, w, y, options);
}

void CudaDenseMath::conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                                       const Tensor& gradX, const Conv2dOptions& options)
{
    ConvProblem p = describeConv(stream, "conv2dBackwardData", gradX, w, gradY, options);
    expects(w.dtype() == gradY.dtype(), "conv2dBackwardData: gradY and weights differ in type");
    expectResultType("conv2dBackwardData", "gradX", gradY.dtype(), gradX.dtype());
    if (gradX.size() == 0)
        return;
    p.type = gradY.dtype();
    const bool isProduct = p.isPointwise() && p.layout == ImageLayout::Nhwc;
    if (isProduct || p.outChannels == 0 || !m_convolutions ||
        !m_convolutions->backwardData(*this, stream, p, gradY, w, gradX))
        unfoldedConvBackwardData(*this, stream, p, gradY, w, gradX);
}

void CudaDenseMath::conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                                         const Tensor& gradW, const Tensor* gradBias,
                                         bool accumulate, const Conv2dOptions& options)
{
    const ConvProblem p = describeConv(stream, "conv2dBackwardWeight", x, gradW, gradY, options);
    checkBackwardWeight(p, x, gradY, gradW, gradBias);
    if (gradBias && p.outChannels > 0)
        convBackwardBias(*this, stream, p, gradY, *gradBias, accumulate);
    if (gradW.size() == 0)
        return;
    if (gradY.size() == 0) {
        if (!accumulate)
            stream.fillBytes(gradW.data(), 0, gradW.bytes());
        return;
    }
    const bool isProduct = p.isPointwise() && p.layout == ImageLayout::Nhwc;
    if (isProduct || !m_convolutions ||
        !m_convolutions->backwardWeight(*this, stream, p, x, gradY, gradW, accumulate))
        unfoldedConvBackwardWeight(*this, stream, p, x, gradY, gradW, accumulate);
}

} // namespace vergence
