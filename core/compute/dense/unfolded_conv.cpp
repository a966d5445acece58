#include "core/compute/dense/unfolded_conv.h"

#include "core/compute/dense/tile_kernels.h"
#include "core/compute/dense/unfold_kernels.h"

namespace vergence {

namespace {

std::byte* at(const Tensor& tensor, Index element)
{
    return static_cast<std::byte*>(tensor.data()) +
           element * static_cast<Index>(sizeOf(tensor.dtype()));
}

/// Sums of 16-bit numbers are kept in F32.
DType typeOfSums(DType type)
{
    return type == DType::F64 ? DType::F64 : DType::F32;
}

bool isNhwc(const ConvProblem& p)
{
    return p.layout == ImageLayout::Nhwc;
}

Index rowLength(const ConvProblem& p)
{
    return p.taps() * p.channels;
}

/// An unfolded image, made in memory of its own.
class Unfolded {
public:
    Unfolded(ProductBackend& backend, Stream& stream, const ConvProblem& p, DType type)
        : m_stream(stream),
          m_memory(backend.workspace(
              stream, static_cast<std::size_t>(p.outPixels() * rowLength(p)) * sizeOf(type)))
    {
        m_unfolding.conv = p;
        m_unfolding.unfolded = m_memory.get();
    }

    void* data() const { return m_memory.get(); }
    void fill(const Tensor& images, Index image)
    {
        prepare(images, image);
        unfold(m_stream, m_unfolding);
    }
    void foldInto(const Tensor& images, Index image)
    {
        prepare(images, image);
        fold(m_stream, m_unfolding);
    }

private:
    void prepare(const Tensor& images, Index image)
    {
        const ConvProblem& p = m_unfolding.conv;
        m_unfolding.type = images.dtype();
        m_unfolding.image = at(images, image * p.pixels() * p.channels);
    }

    Stream& m_stream;
    std::shared_ptr<void> m_memory;
    Unfolding m_unfolding;
};

MatmulProblem forwardProduct(const ConvProblem& p, const Tensor& w, const Tensor& y,
                             const Conv2dOptions& options)
{
    MatmulProblem product;
    product.k = rowLength(p);
    product.type = p.type;
    product.outType = y.dtype();
    product.activation = options.activation;
    if (options.bias) {
        product.bias = options.bias->data();
        product.biasType = options.bias->dtype();
    }
    if (isNhwc(p)) {
        product.m = p.outPixels();
        product.n = p.outChannels;
        product.transposeB = true;
        product.b = {w.data(), product.k, {}};
        product.y.rowStride = p.outChannels;
    } else {
        product.m = p.outChannels;
        product.n = p.outPixels();
        product.a = {w.data(), product.k, {}};
        product.biasPerRow = product.bias != nullptr;
        product.y.rowStride = p.outPixels();
    }
    return product;
}

/// Sets y, residual and preActivation to those of image `image`.
void setResults(MatmulProblem& product, const ConvProblem& p, Index image, const Tensor& y,
                const Conv2dOptions& options)
{
    const Index first = image * p.outPixels() * p.outChannels;
    product.y.data = at(y, first);
    product.residual = product.preActivation = product.y;
    product.residual.data = options.residual ? at(*options.residual, first) : nullptr;
    product.preActivation.data =
        options.preActivation ? at(*options.preActivation, first) : nullptr;
}

/// Lets one product run over all images; strides between the images of a and b in elements.
void runOverImages(MatmulProblem& product, const ConvProblem& p, Index aStride, Index bStride,
                   Index yStride)
{
    product.batchRank = 1;
    product.batch[0] = product.batches = p.images;
    product.a.batchStrides[0] = aStride;
    product.b.batchStrides[0] = bStride;
    for (MatrixBatch* result : {&product.y, &product.residual, &product.preActivation})
        result->batchStrides[0] = yStride;
    joinBatches(product);
}

} // namespace

void unfoldedConv(ProductBackend& backend, Stream& stream, const ConvProblem& p, const Tensor& x,
                  const Tensor& w, const Tensor& y, const Conv2dOptions& options)
{
    MatmulProblem product = forwardProduct(p, w, y, options);
    const Index yStride = p.outPixels() * p.outChannels, xStride = p.pixels() * p.channels;
    if (p.isPointwise()) {
        setResults(product, p, 0, y, options);
        if (isNhwc(p))
            product.a = {x.data(), p.channels, {}};
        else
            product.b = {x.data(), p.pixels(), {}};
        product.packedB = isNhwc(p) ? options.packed : nullptr;
        runOverImages(product, p, isNhwc(p) ? xStride : 0, isNhwc(p) ? 0 : xStride, yStride);
        backend.product(stream, product);
        return;
    }
    Unfolded unfolded(backend, stream, p, p.type);
    MatrixBatch& patches = isNhwc(p) ? product.a : product.b;
    patches = {unfolded.data(), rowLength(p), {}};
    product.transposeB = true;
    for (Index image = 0; image < p.images; ++image) {
        unfolded.fill(x, image);
        setResults(product, p, image, y, options);
        backend.product(stream, product);
    }
}

void unfoldedConvBackwardData(ProductBackend& backend, Stream& stream, const ConvProblem& p,
                              const Tensor& gradY, const Tensor& w, const Tensor& gradX)
{
    const Index yStride = p.outPixels() * p.outChannels, xStride = p.pixels() * p.channels;
    MatmulProblem product;
    product.type = p.type;
    product.k = p.outChannels;
    if (p.isPointwise()) {
        product.outType = gradX.dtype();
        if (isNhwc(p)) {
            product.m = p.pixels();
            product.n = p.channels;
            product.a = {gradY.data(), p.outChannels, {}};
            product.b = {w.data(), p.channels, {}};
            product.y = {gradX.data(), p.channels, {}};
        } else {
            product.m = p.channels;
            product.n = p.pixels();
            product.transposeA = true;
            product.a = {w.data(), p.channels, {}};
            product.b = {gradY.data(), p.pixels(), {}};
            product.y = {gradX.data(), p.pixels(), {}};
        }
        runOverImages(product, p, isNhwc(p) ? yStride : 0, isNhwc(p) ? 0 : yStride, xStride);
        backend.product(stream, product);
        return;
    }
    product.outType = typeOfSums(p.type);
    Unfolded unfolded(backend, stream, p, product.outType);
    product.m = p.outPixels();
    product.n = rowLength(p);
    product.transposeA = !isNhwc(p);
    product.b = {w.data(), product.n, {}};
    product.y = {unfolded.data(), product.n, {}};
    for (Index image = 0; image < p.images; ++image) {
        product.a = {at(gradY, image * yStride), isNhwc(p) ? p.outChannels : p.outPixels(), {}};
        backend.product(stream, product);
        unfolded.foldInto(gradX, image);
    }
}

void unfoldedConvBackwardWeight(ProductBackend& backend, Stream& stream, const ConvProblem& p,
                                const Tensor& x, const Tensor& gradY, const Tensor& gradW,
                                bool accumulate)
{
    const Index yStride = p.outPixels() * p.outChannels, xStride = p.pixels() * p.channels;
    MatmulProblem product;
    product.type = p.type;
    product.m = p.outChannels;
    product.n = rowLength(p);
    product.k = p.outPixels();
    product.transposeA = isNhwc(p);
    product.outType = typeOfSums(p.type);

    // Sums over images are kept in F32 also where gradW has 16 bits.
    std::shared_ptr<void> sums;
    if (gradW.dtype() != product.outType)
        sums = backend.workspace(stream,
                                 static_cast<std::size_t>(p.weights()) * sizeOf(product.outType));
    product.y = {sums ? sums.get() : gradW.data(), product.n, {}};

    std::unique_ptr<Unfolded> unfolded;
    if (!p.isPointwise())
        unfolded = std::make_unique<Unfolded>(backend, stream, p, p.type);
    Index images = p.images;
    if (p.isPointwise() && isNhwc(p)) {
        product.k *= images;
        images = 1;
    }
    for (Index image = 0; image < images; ++image) {
        product.a = {at(gradY, image * yStride), isNhwc(p) ? p.outChannels : p.outPixels(), {}};
        if (unfolded) {
            unfolded->fill(x, image);
            product.b = {unfolded->data(), product.n, {}};
        } else {
            product.transposeB = !isNhwc(p);
            product.b = {at(x, image * xStride), isNhwc(p) ? p.channels : p.pixels(), {}};
        }
        product.beta = image > 0 || (accumulate && !sums) ? 1 : 0;
        backend.product(stream, product);
    }
    if (sums) {
        TileFinish finish;
        finish.product = sums.get();
        finish.rows = product.m;
        finish.columns = finish.productStride = finish.yStride = product.n;
        finish.type = gradW.dtype();
        finish.y = gradW.data();
        finish.beta = accumulate ? 1 : 0;
        finishTile(stream, finish);
    }
}

void convBackwardBias(ProductBackend& backend, Stream& stream, const ConvProblem& p,
                      const Tensor& gradY, const Tensor& gradBias, bool accumulate)
{
    ChannelSum sum;
    sum.y = gradY.data();
    sum.type = gradY.dtype();
    sum.images = p.images;
    sum.pixels = p.outPixels();
    sum.channels = p.outChannels;
    sum.channelsLast = isNhwc(p);
    sum.sums = gradBias.data();
    sum.sumType = gradBias.dtype();
    sum.accumulate = accumulate;
    const auto memory = backend.workspace(stream, channelSumBytes(sum));
    sum.partials = memory.get();
    sumChannels(stream, sum);
}

} // namespace vergence
