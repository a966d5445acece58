#pragma once

#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// What the term was: the mean of A − ⟨N, n̂⟩ over the pixels that count.
struct DepthNormalValue {
    double mean = 0;
    Index pixels = 0;
};

enum class DepthNormalMode {
    Normalised, ///< DepthNormalTerm
    Summed,     ///< SummedDepthNormalTerm: as SuGaR's own code, for comparison
};

/// Weight times the mean of A − ⟨N, n̂⟩: rendered normals N against the normals n̂ of the surface
/// that rendered depth makes, 1 − cosine on opaque pixels. Pixels count where their four neighbours
/// are covered by more than a half and depth does not jump. Keeps its buffers.
/// Source: 2D Gaussian Splatting (2024), section 5.
class DepthNormalLoss {
public:
    explicit DepthNormalLoss(DepthNormalMode mode = DepthNormalMode::Normalised) : m_mode(mode) {}

    /// `images` of `camera`, rendered with geometry. Overwrites depth, normal and coverage of
    /// `gradients` with tensors that stay valid until the next call. Waits for the stream.
    DepthNormalValue evaluate(Stream& stream, const Camera& camera, const RasterImages& images,
                              double weight, RasterImageGradients& gradients);

    std::size_t allocatedBytes() const;

private:
    DepthNormalMode m_mode;
    Tensor m_scratch, m_gradDepth, m_gradCoverage, m_gradNormal;
};

} // namespace vergence::sugar
