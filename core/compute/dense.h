#pragma once

#include <cstdint>
#include <memory>

#include "core/compute/tensor.h"

namespace vergence {

/// Pointwise function after a product. Formulas and derivatives:
/// core/compute/ops/activation_math.h.
enum class Activation : std::uint8_t { None, GeluErf, GeluTanh, QuickGelu, Silu, Relu };

/// A weight matrix in the layout that the device's library likes best; made once by pack().
class PackedWeight {
public:
    virtual ~PackedWeight();
    virtual std::size_t bytes() const = 0;
};

/// y = activation(alpha · op(a) · op(b) + bias) + residual + beta · y
struct MatmulOptions {
    bool transposeA = false; ///< a is [.., K, M] instead of [.., M, K]
    bool transposeB = false; ///< b is [.., N, K] instead of [.., K, N]; a linear layer's weight
    double alpha = 1;
    double beta = 0;                          ///< 0: y is overwritten; 1: added to (gradients)
    const Tensor* bias = nullptr;             ///< [N], type of y or F32
    const Tensor* residual = nullptr;         ///< shape and type of y; may be y itself
    Activation activation = Activation::None; ///< not together with beta ≠ 0
    const Tensor* preActivation = nullptr;    ///< shape and type of y; receives what entered the
                                              ///< activation, for the derivative
    const PackedWeight* packedB = nullptr;    ///< of b, by packLinear(); b still gives the shape
};

/// Whether channels are innermost: x [N, H, W, C], w [Cout, kh, kw, Cin]; or x [N, C, H, W],
/// w [Cout, Cin, kh, kw].
enum class ImageLayout : std::uint8_t { Nhwc, Nchw };

/// How a convolution with packed weights is computed: product by product, or with fewer
/// multiplications and more additions, from transformed patches and larger, transformed weights.
/// Source: Fast Algorithms for Convolutional Neural Networks (2015), equation 8.
enum class ConvAlgorithm : std::uint8_t { Direct, Winograd };

struct Conv2dOptions {
    ImageLayout layout = ImageLayout::Nhwc;
    int stride = 1;
    int padding = 0;                          ///< zeros on every side; (k − 1) / 2 keeps the size
    const Tensor* bias = nullptr;             ///< [Cout]
    const Tensor* residual = nullptr;         ///< shape of y
    Activation activation = Activation::None; ///< before the residual is added
    const Tensor* preActivation = nullptr;    ///< as in MatmulOptions
    const PackedWeight* packed = nullptr;
    ConvAlgorithm algorithm = ConvAlgorithm::Direct; ///< read by packConv2d() alone
};

/// The dense products of a device: oneDNN on the CPU (Eigen for F64), cuBLASLt and cuDNN on CUDA.
/// Types: F32, F64, F16, BF16, all operands alike; y (and dw) may be F32 where the operands have 16
/// bits. Sums are kept in F32 (F64 for F64). Matrices may have any row stride and batch stride as
/// long as their innermost extent is contiguous. Products with an extent of 0 give 0 (· beta).
/// Results repeat bit for bit for one shape, device and thread count. Thread-safe.
/// Errors: ContractError names both shapes or types where they do not fit.
class DenseMath {
public:
    virtual ~DenseMath();

    /// a [.., M, K], b [.., K, N] or [K, N] for all batches, y [.., M, N]. Leading extents are
    /// batches and must be equal.
    virtual void matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                        const MatmulOptions& options = {}) = 0;

    /// Cross-correlation (no flip), dilation 1, groups 1.
    virtual void conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                        const Conv2dOptions& options = {}) = 0;
    /// dx: derivative with respect to x, overwritten; only layout, stride and padding are read.
    virtual void conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                                    const Tensor& gradX, const Conv2dOptions& options = {}) = 0;
    /// dw, and db where not null, are added to (accumulate) or overwritten.
    virtual void conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                                      const Tensor& gradW, const Tensor* gradBias, bool accumulate,
                                      const Conv2dOptions& options = {}) = 0;

    /// Reorders the weight of a linear layer ([N, K], used with transposeB) for products with about
    /// `rows` rows; null where the device gains nothing. The result holds a copy: pack again after
    /// the weight changed.
    virtual std::shared_ptr<const PackedWeight> packLinear(Stream& stream, const Tensor& weight,
                                                           Index rows);
    /// The same for a convolution on images of `inputShape`; null too where the device's library
    /// lacks the algorithm for them.
    virtual std::shared_ptr<const PackedWeight> packConv2d(Stream& stream, const Tensor& weight,
                                                           const Shape& inputShape,
                                                           const Conv2dOptions& options);
};

/// [N, Hout, Wout, Cout] (or channels first) of a convolution. Throws ContractError where the
/// kernel exceeds the padded image or the channels differ.
Shape conv2dShape(const Shape& x, const Shape& w, const Conv2dOptions& options);

} // namespace vergence
