#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/compute/dense.h"

namespace vergence::live {

/// One convolution of a network and what precedes it.
struct ConvolutionShape {
    Index images = 1, channels = 0, height = 0, width = 0; ///< of the input
    Index outChannels = 0;
    int kernel = 3, stride = 1, padding = 1;
    bool upsamples = false; ///< nearest ×2 comes first; kernel 3, stride 1, padding 1
    bool channelsLast = true;
    DType type = DType::F32;

    Shape inputShape() const;
    Shape outputShape() const;
    auto operator<=>(const ConvolutionShape&) const = default;
};

enum class ConvolutionAlgorithm {
    Library,   ///< of the device; an upsampled image is made first
    Collapsed, ///< upsampling and convolution as four 2×2 convolutions of the small image
    Winograd,  ///< CPU, F32, channels last, 3×3: the library's, with fewer multiplications
};
std::string nameOf(ConvolutionAlgorithm algorithm);

/// Whether Winograd may serve it; the library has it for some processors alone.
bool fitsWinograd(const Device& device, const ConvolutionShape& shape);

/// Weights of a convolution in the order of one algorithm, and the call.
class Convolution {
public:
    /// weight [Cout, k, k, Cin], kept in the algorithm's own order only. Serves any number of
    /// images. Winograd becomes Library where the library lacks it.
    Convolution(Stream& stream, const std::shared_ptr<Device>& device,
                const ConvolutionShape& shape, ConvolutionAlgorithm algorithm,
                std::span<const float> weight);

    /// What is added to the result: F32 [Cout] for all images, or rows of them `biasStride` apart.
    struct Extras {
        const float* bias = nullptr;
        Index biasStride = 0;
        const Tensor* residual = nullptr; ///< shape and type of y, may be y
        bool silu = false;                ///< before the residual
    };
    /// `between` temporaryElements() of the type and of as many images.
    void operator()(Stream& stream, const Tensor& x, const Tensor& y, const Extras& extras,
                    const Tensor& between) const;

    ConvolutionAlgorithm algorithm() const { return m_algorithm; }
    Index temporaryElements(Index images) const;
    std::size_t weightBytes() const { return m_weightBytes; }
    int kernels() const { return m_algorithm == ConvolutionAlgorithm::Collapsed ? 2 : 1; }

private:
    void prepareLibrary(Stream& stream, std::span<const float> weight);
    void library(Stream& stream, const Tensor& x, const Tensor& y, const Extras& extras) const;

    std::shared_ptr<Device> m_device;
    ConvolutionShape m_shape; ///< as asked for
    ConvolutionShape m_inner; ///< what the library computes
    ConvolutionAlgorithm m_algorithm;
    Conv2dOptions m_options;
    Tensor m_weight;
    std::shared_ptr<const PackedWeight> m_packed;
    std::size_t m_weightBytes = 0;
};

/// Numbers of `values` as a tensor of any floating type.
Tensor uploaded(Stream& stream, const std::shared_ptr<Device>& device, const Shape& shape,
                std::span<const float> values, DType type);

} // namespace vergence::live
