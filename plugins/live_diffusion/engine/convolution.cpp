#include "plugins/live_diffusion/engine/convolution.h"

#include <algorithm>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/spatial.h"
#include "plugins/live_diffusion/engine/image_kernels.h"

namespace vergence::live {

namespace {

Shape imageShape(Index images, Index channels, Index height, Index width, bool channelsLast)
{
    return channelsLast ? Shape{images, height, width, channels}
                        : Shape{images, channels, height, width};
}

/// [K, k, k, C] → [K, C, k, k]
std::vector<float> planarWeights(std::span<const float> weight, Index out, Index taps, Index in)
{
    std::vector<float> turned(weight.size());
    for (Index k = 0; k < out; ++k) {
        for (Index t = 0; t < taps; ++t) {
            for (Index c = 0; c < in; ++c)
                turned[static_cast<std::size_t>((k * in + c) * taps + t)] =
                    weight[static_cast<std::size_t>((k * taps + t) * in + c)];
        }
    }
    return turned;
}

/// 3×3 weights [K, 3, 3, C] behind a nearest ×2 → [4K, 2, 2, C] on the small image, phases (dy,
/// dx) one after the other: taps that read the same small pixel are summed.
std::vector<float> collapsedWeights(std::span<const float> weight, Index out, Index in)
{
    std::vector<float> collapsed(static_cast<std::size_t>(16 * out * in));
    std::vector<double> sums(static_cast<std::size_t>(4 * in));
    for (int phase = 0; phase < 4; ++phase) {
        const int dy = phase / 2, dx = phase % 2;
        for (Index k = 0; k < out; ++k) {
            std::fill(sums.begin(), sums.end(), 0.0);
            for (int r = 0; r < 3; ++r) {
                for (int s = 0; s < 3; ++s) {
                    // tap r of the large image falls on small row ⌊(dy + r − 1) / 2⌋ + 1 − dy
                    const int i = (dy + r + 1) / 2 - dy, j = (dx + s + 1) / 2 - dx;
                    for (Index c = 0; c < in; ++c)
                        sums[static_cast<std::size_t>((i * 2 + j) * in + c)] +=
                            weight[static_cast<std::size_t>(((k * 3 + r) * 3 + s) * in + c)];
                }
            }
            std::copy(sums.begin(), sums.end(),
                      collapsed.begin() + static_cast<Index>(phase * out + k) * 4 * in);
        }
    }
    return collapsed;
}

const float* windowOf(const float* numbers, Index offset)
{
    return numbers ? numbers + offset : nullptr;
}

} // namespace

bool fitsWinograd(const Device& device, const ConvolutionShape& shape)
{
    return device.isCpu() && shape.type == DType::F32 && shape.channelsLast && shape.kernel == 3 &&
           shape.stride == 1 && shape.padding == 1 && shape.channels >= 8;
}

Shape ConvolutionShape::inputShape() const
{
    return imageShape(images, channels, height, width, channelsLast);
}

Shape ConvolutionShape::outputShape() const
{
    const int factor = upsamples ? 2 : 1;
    return imageShape(images, outChannels, (height * factor + 2 * padding - kernel) / stride + 1,
                      (width * factor + 2 * padding - kernel) / stride + 1, channelsLast);
}

std::string nameOf(ConvolutionAlgorithm algorithm)
{
    switch (algorithm) {
    case ConvolutionAlgorithm::Library:
        return "library";
    case ConvolutionAlgorithm::Collapsed:
        return "collapsed";
    case ConvolutionAlgorithm::Winograd:
        return "winograd";
    }
    return "?";
}

Tensor uploaded(Stream& stream, const std::shared_ptr<Device>& device, const Shape& shape,
                std::span<const float> values, DType type)
{
    const Tensor numbers = Tensor::fromHost<float>(stream, device, shape, values);
    if (type == DType::F32)
        return numbers;
    const Tensor narrow = Tensor::empty(device, shape, type);
    cast(stream, numbers, narrow);
    stream.synchronize();
    return narrow;
}

Convolution::Convolution(Stream& stream, const std::shared_ptr<Device>& device,
                         const ConvolutionShape& shape, ConvolutionAlgorithm algorithm,
                         std::span<const float> weight)
    : m_device(device),
      m_shape(shape),
      m_inner(shape),
      m_algorithm(algorithm)
{
    expects(algorithm != ConvolutionAlgorithm::Winograd || fitsWinograd(*device, shape),
            "Convolution: no such algorithm for this shape");
    m_inner.upsamples = false;
    if (algorithm == ConvolutionAlgorithm::Collapsed) {
        expects(shape.upsamples, "Convolution: only upsampled ones collapse");
        m_inner.outChannels *= 4;
        m_inner.kernel = 2;
        prepareLibrary(stream, collapsedWeights(weight, shape.outChannels, shape.channels));
        return;
    }
    if (shape.upsamples) {
        m_inner.height *= 2;
        m_inner.width *= 2;
    }
    prepareLibrary(stream, weight);
}

void Convolution::prepareLibrary(Stream& stream, std::span<const float> weight)
{
    const Index taps = Index{m_inner.kernel} * m_inner.kernel;
    m_options.layout = m_inner.channelsLast ? ImageLayout::Nhwc : ImageLayout::Nchw;
    m_options.stride = m_inner.stride;
    m_options.padding = m_inner.padding;
    const Shape shape = imageShape(m_inner.outChannels, m_inner.channels, m_inner.kernel,
                                   m_inner.kernel, m_inner.channelsLast);
    if (m_inner.channelsLast)
        m_weight = uploaded(stream, m_device, shape, weight, m_inner.type);
    else
        m_weight = uploaded(stream, m_device, shape,
                            planarWeights(weight, m_inner.outChannels, taps, m_inner.channels),
                            m_inner.type);
    m_weightBytes = m_weight.bytes();
    if (!m_device->isCpu())
        return;
    if (m_algorithm == ConvolutionAlgorithm::Winograd)
        m_options.algorithm = ConvAlgorithm::Winograd;
    // images one by one, so that one order of the weights serves any number of them
    ConvolutionShape one = m_inner;
    one.images = 1;
    const auto pack = [&] {
        m_packed = m_device->dense().packConv2d(stream, m_weight, one.inputShape(), m_options);
    };
    pack();
    if (!m_packed && m_algorithm == ConvolutionAlgorithm::Winograd) {
        m_algorithm = ConvolutionAlgorithm::Library;
        m_options.algorithm = ConvAlgorithm::Direct;
        pack();
    }
    if (m_algorithm == ConvolutionAlgorithm::Winograd)
        m_weightBytes = m_packed->bytes();
    const bool isPointwise = m_inner.kernel == 1;
    if (m_packed && !isPointwise)
        m_weight = Tensor::wrap(m_device, nullptr, shape, m_inner.type); // gives the shape
}

Index Convolution::temporaryElements(Index images) const
{
    ConvolutionShape inner = m_inner;
    inner.images = images;
    if (m_algorithm == ConvolutionAlgorithm::Collapsed)
        return elementCount(inner.outputShape());
    return m_shape.upsamples ? elementCount(inner.inputShape()) : 0;
}

void Convolution::operator()(Stream& stream, const Tensor& x, const Tensor& y, const Extras& extras,
                             const Tensor& between) const
{
    ConvolutionShape inner = m_inner;
    inner.images = x.extent(0);
    if (m_algorithm != ConvolutionAlgorithm::Collapsed) {
        if (!m_shape.upsamples)
            return library(stream, x, y, extras);
        const Tensor large = between.reshaped(inner.inputShape());
        upsampleNearest2(stream, x, m_shape.channelsLast, large);
        return library(stream, large, y, extras);
    }
    expects(!extras.residual && !extras.silu, "Convolution: nothing follows a collapsed one");
    const Tensor phases = between.reshaped(inner.outputShape());
    library(stream, x, phases, {});
    const Shape shape = y.shape();
    const bool last = m_shape.channelsLast;
    const ImageShape image{shape[0], m_shape.outChannels, shape[last ? 1 : 2], shape[last ? 2 : 3],
                           last};
    interleavePhases(
        stream, {m_shape.type, image, phases.data(), extras.bias, extras.biasStride, y.data()});
}

void Convolution::library(Stream& stream, const Tensor& x, const Tensor& y,
                          const Extras& extras) const
{
    Conv2dOptions options = m_options;
    options.packed = m_packed.get();
    options.activation = extras.silu ? Activation::Silu : Activation::None;
    DenseMath& dense = m_device->dense();
    const Index out = m_inner.outChannels;
    const bool splits = m_device->isCpu() || x.extent(0) == 1;
    if (splits) {
        for (Index image = 0; image < x.extent(0); ++image) {
            const Tensor one = x.narrow(0, image, 1), result = y.narrow(0, image, 1);
            Tensor bias, residual;
            if (extras.bias) {
                auto* numbers =
                    const_cast<float*>(windowOf(extras.bias, image * extras.biasStride));
                bias = Tensor::wrap(m_device, numbers, {out}, DType::F32);
                options.bias = &bias;
            }
            if (extras.residual) {
                residual = extras.residual->narrow(0, image, 1);
                options.residual = &residual;
            }
            dense.conv2d(stream, one, m_weight, result, options);
        }
        return;
    }
    const bool ownBias = extras.biasStride != 0; // another for each image
    expects(!ownBias || (!extras.silu && !extras.residual),
            "Convolution: nothing follows biases of rows");
    Tensor bias;
    if (extras.bias && !ownBias) {
        bias = Tensor::wrap(m_device, const_cast<float*>(extras.bias), {out}, DType::F32);
        options.bias = &bias;
    }
    options.residual = extras.residual;
    dense.conv2d(stream, x, m_weight, y, options);
    if (ownBias) {
        const bool last = m_inner.channelsLast;
        const ImageShape image{y.extent(0), out, y.extent(last ? 1 : 2), y.extent(last ? 2 : 3),
                               last};
        affineChannels(stream, {m_inner.type, image, y.data(), y.data(), nullptr, extras.bias,
                                extras.biasStride, false});
    }
}

} // namespace vergence::live
