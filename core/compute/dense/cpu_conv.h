#pragma once

#include "core/compute/dense/cpu_dense.h"

namespace vergence {

/// How oneDNN is to convolve. Its Winograd convolutions exist for F32, kernels of 3×3 and stride 1
/// on processors with AVX-512, and have layouts of images of their own.
struct ConvKind {
    bool isNarrow = false; ///< operands and weights are BF16, the result F32 or BF16; else all F32
    bool isWinograd = false;
};

/// Weights of a convolution in oneDNN's own order, one slice of channels after another. With them
/// a convolution asks the plain weights for their shape alone.
class CpuPackedConv final : public PackedWeight {
public:
    std::size_t bytes() const override { return allBytes; }

    ConvProblem problem; ///< that they were packed for
    ConvKind kind;
    Index windows = 1; ///< of an image, for all of which oneDNN takes this order
    dnnl::memory::desc layout, lastLayout;
    std::shared_ptr<void> owned; ///< keeps the memory where it came from the workspace
    Tensor memory;               ///< U8, where it is the packed weight's own
    std::byte* data = nullptr;
    std::size_t sliceBytes = 0, allBytes = 0;
};

/// Rows of an image that a piece of a convolution reads and writes, and the zeros around them.
struct ConvWindow {
    Index firstIn = 0, rowsIn = 0;   ///< of the operand
    Index firstOut = 0, rowsOut = 0; ///< of the result
    Index padTop = 0, padBottom = 0; ///< of the forward convolution between them
};

/// Rows of x under rows [first, first + rows) of y.
ConvWindow forwardWindow(const ConvProblem& problem, Index first, Index rows);
/// Rows of y that touch rows [first, first + rows) of x.
ConvWindow backwardWindow(const ConvProblem& problem, Index first, Index rows);

/// oneDNN's layouts of one piece: x of `images` images and `rows` rows with `channels` channels, y
/// and the weights likewise.
struct ConvShape {
    Index images = 1, rowsX = 0, rowsY = 0, channels = 0, outChannels = 0;
    Index padTop = 0, padBottom = 0;
};

enum class ConvPass { Forward, BackwardData, BackwardWeight };

/// Whether oneDNN may multiply BF16 operands as they are instead of F32 copies of them.
bool canBeNarrow(const CpuDenseMath& dense, const ConvProblem& problem);

/// Builds and caches oneDNN's convolutions.
class ConvPlans {
public:
    ConvPlans(CpuDenseMath& dense, const ConvProblem& problem, ConvKind kind)
        : m_dense(dense),
          m_p(problem),
          m_isWinograd(kind.isWinograd),
          m_operandType(kind.isNarrow ? dnnl::memory::data_type::bf16
                                      : dnnl::memory::data_type::f32)
    {
    }

    struct Extras {
        bool bias = false, sum = false, addend = false;
        bool narrowResult = false, narrowBias = false; ///< BF16 instead of F32
    };

    /// Arguments in the order operand, weights, result, then bias and addend where asked: x, w, y
    /// forward; gradY, w, gradX; x, gradW, gradY for the weights. `weights` null: oneDNN chooses
    /// their layout. Null where oneDNN has nothing fast.
    std::shared_ptr<const Plan> find(ConvPass pass, const ConvShape& shape, Extras extras,
                                     const dnnl::memory::desc* weights) const;

    /// Copies between plain weights (Cout `outChannels`, Cin `channels`, a slice of the problem's
    /// where smaller) and oneDNN's order. `toPlain` the way back, added to what is there where
    /// `accumulate`; plain weights are then dense in themselves.
    std::shared_ptr<const Plan> findReorder(Index outChannels, Index channels,
                                            const dnnl::memory::desc& packed, bool toPlain,
                                            bool accumulate) const;

    /// Copies between `layout` of some rows of an image and the same rows with channels innermost,
    /// pixels `pixelStride` numbers apart.
    std::shared_ptr<const Plan> findImageReorder(const dnnl::memory::desc& layout,
                                                 Index pixelStride, bool toPlain) const;

    /// oneDNN's convolutions do for this problem; others are unfolded.
    static bool serves(const ConvProblem& problem);

private:
    std::shared_ptr<const Plan> make(ConvPass pass, const ConvShape& shape, Extras extras,
                                     const dnnl::memory::desc* weights) const;

    CpuDenseMath& m_dense;
    const ConvProblem& m_p;
    bool m_isWinograd;
    dnnl::memory::data_type m_operandType;
};

/// The images of `tensor` as F32 with channels innermost: itself, or a copy in `memory`.
const float* asNhwcFloats(CpuDenseMath& dense, Stream& stream, const Tensor& tensor,
                          const ConvProblem& problem, Index pixels, Index channels,
                          std::shared_ptr<void>& memory);
/// The weights as F32 in the order they have.
const float* asFloats(CpuDenseMath& dense, Stream& stream, const Tensor& tensor,
                      std::shared_ptr<void>& memory);

} // namespace vergence
