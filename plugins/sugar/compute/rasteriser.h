#pragma once

#include <array>
#include <functional>
#include <memory>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/compute/rasteriser_limits.h"

namespace vergence::sugar {

struct RasterSettings {
    /// Adds 0.1 px² and compensates the opacity (Mip-Splatting, 2023) instead of adding 0.3 px².
    bool mip = false;
    /// Cuts splats off at tiles beyond a square of 3 standard deviations to each side, rounded up,
    /// as 3D Gaussian Splatting (2023) does; else they reach as far as they change a pixel.
    bool threeSigma = false;
    int shDegree = 3;      ///< bands in use; at most those that the Gaussians have
    float near = 0.2F;     ///< camera z below which a Gaussian is left out, world units
    float far = 1e6F;      ///< likewise above
    bool geometry = false; ///< also depth and normals
    std::array<float, 3> background{0, 0, 0};
};

/// What a pass leaves behind, F32 on the device of the Gaussians, planar. Owned by the rasteriser
/// and overwritten by its next pass.
struct RasterImages {
    Tensor colour;        ///< [3, H, W] with the background behind
    Tensor transmittance; ///< [H, W], what is left at the end; coverage is 1 − this
    Tensor depth;         ///< [H, W] Σ w tz, not normalised; empty without geometry
    Tensor normal; ///< [3, H, W] Σ w n in camera axes, not normalised; empty without geometry
    Tensor contributors; ///< [H, W] I32, how many Gaussians were blended into the pixel
};

/// Gradients of the loss with respect to the images. Empty tensors count as 0.
struct RasterImageGradients {
    Tensor colour;   ///< [3, H, W]
    Tensor coverage; ///< [H, W] of 1 − transmittance
    Tensor depth;    ///< [H, W]
    Tensor normal;   ///< [3, H, W]
};

/// Running sums for density control, F32, one entry per Gaussian.
/// Source: 3D Gaussian Splatting (2023), section 5; absolute sums: AbsGS (2024).
struct DensityStatistics {
    Tensor gradient; ///< [C] Σ |(W/2 ∂L/∂u, H/2 ∂L/∂v)| over steps in which it was visible
    Tensor absoluteGradient; ///< [C] the same from sums of |∂L/∂u|, |∂L/∂v| over pixels
    Tensor visible;          ///< [C] steps in which it was visible
    Tensor radius;           ///< [C] largest half extent on screen, px
};

/// Images of a band: rows [top, top + h) of the picture, of which those from `begin` to before
/// `end` count and the others are what a loss needs around them.
struct RasterBand {
    Index top = 0, begin = 0, end = 0;
};

struct RasterBands {
    Index rows = 512;      ///< that count in a band, and
    Index halo = 0;        ///< rows around them; both are rounded up to whole tiles of 16
    bool absolute = false; ///< also the sums of absolute gradients
};

/// Gradients of the images of a band; 0 in the rows that do not count.
using BandLoss =
    std::function<RasterImageGradients(const RasterImages& images, const RasterBand& band)>;

/// Adam's constants of one step, one learning rate per parameter group in the order of
/// GaussianArrays. Source: Adam (2015), algorithm 1, with bias correction.
struct AdamStep {
    std::array<float, 6> learningRate{};
    float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-15F;
    std::int64_t step = 1;         ///< counts from 1
    bool sparse = false;           ///< leaves Gaussians alone that the camera did not see,
    bool keepsExtra = false;       ///< but for those with a gradient among the `extra` ones
    float largestLogScale = 1e30F; ///< ln s is kept in [−20, this]
};

/// What a pass did, for charts, benchmarks and forecasts.
struct RasterCounts {
    Index visible = 0;     ///< Gaussians that survived all culls
    Index instances = 0;   ///< (Gaussian, tile) pairs
    Index evaluations = 0; ///< (Gaussian, pixel) pairs that were blended; counted on the CPU only
    Index lanes = 0;       ///< pairs that were looked at, in whole vectors; counted on the CPU only
};

/// Seconds of the stages of the last pass; 0 where they were not run.
struct RasterSeconds {
    double project = 0, sort = 0, blend = 0, blendBackward = 0, gaussianBackward = 0;
};

/// Projects, sorts and blends Gaussians, and runs the derivative of exactly that. Buffers grow and
/// are kept between passes. One thread at a time; every pass works on the Gaussians' device.
/// Results repeat bit for bit on the CPU for any number of threads.
class Rasteriser {
public:
    explicit Rasteriser(std::shared_ptr<Device> device);
    ~Rasteriser();
    Rasteriser(Rasteriser&&) noexcept;
    Rasteriser& operator=(Rasteriser&&) noexcept;

    /// Polled at least every 100 ms of work on the CPU; a pass that is told to stop throws nothing
    /// and leaves images undefined.
    void setStop(std::function<bool()> stopRequested);

    /// Renders the picture of a camera. With `keepForBackward`, backward() may follow.
    const RasterImages& render(Stream& stream, const Gaussians& gaussians, const Camera& camera,
                               const RasterSettings& settings, bool keepForBackward = false);

    /// Depth of the last picture that render() made, [H, W] in camera z, 0 where there is none:
    /// of the Gaussian behind which less than half of the light is left, or the mean by weight of
    /// where the densities of the Gaussians are largest along the pixel's ray.
    enum class Depth { Median, Ray };
    Tensor depthPicture(Stream& stream, Depth kind);

    /// Renders the picture in bands from above to below and goes back through the pixels of each
    /// before the next, so that what belongs to pixels and to entries of tile lists is held for one
    /// band at a time; sums of 64 bytes a Gaussian go through all of them. backward() or
    /// backwardAndUpdate() follows with no gradients of images. Both give what the whole picture
    /// gives, bit for bit on the CPU. counts() are sums over bands but for the visible ones, and
    /// visibleList() is that of the last band.
    void renderInBands(Stream& stream, const Gaussians& gaussians, const Camera& camera,
                       const RasterSettings& settings, const RasterBands& bands,
                       const BandLoss& loss);

    /// Derivative of the last render. Overwrites the first `count` rows of `gradients` (those of
    /// unseen Gaussians become 0; harmonics may be left empty) and adds to `statistics` where not
    /// null.
    void backward(Stream& stream, const Gaussians& gaussians, const RasterImageGradients& image,
                  GaussianArrays& gradients, DensityStatistics* statistics);

    /// The same, followed by Adam in one pass over the Gaussians: gradients are never stored.
    /// `extra` (may be null; harmonics may be left empty) are gradients of regularisers that are
    /// added; moments may be compact. Returns the number of Gaussians whose gradient was not
    /// finite; they are left as they are.
    Index backwardAndUpdate(Stream& stream, Gaussians& gaussians, const RasterImageGradients& image,
                            const GaussianArrays* extra, GaussianArrays& moment1,
                            GaussianArrays& moment2, const AdamStep& adam,
                            DensityStatistics* statistics);

    /// Whether Gaussian i took part in the last pass: [C] U8.
    const Tensor& visible() const;
    /// The numbers of those Gaussians, nearest first: [visible] I32. Valid until the next pass.
    Tensor visibleList() const;
    RasterCounts counts() const; ///< of the last pass
    RasterSeconds seconds() const;
    std::size_t allocatedBytes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Standard deviation of the 3D smoothing filter of each Gaussian: sqrt(0.2) · min over cameras of
/// z / focal among those that see it, farther than `near` world units (the largest found where none
/// does). Overwrites gaussians.filter ([C] F32, which must be there). Source: Mip-Splatting (2023),
/// equation 7.
void updateFilter(Stream& stream, Gaussians& gaussians, const std::vector<Camera>& cameras,
                  float near);

} // namespace vergence::sugar
