#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

struct SampleSettings {
    Index samples = 0;
    bool isDistance = false; ///< the signed distance is compared, not the density
    bool isDetached = false; ///< gradients of neighbours alone: samples and targets are held fixed
    bool useFilter = false;  ///< shapes and opacities are those after the 3D filter
    double weight = 0.2;     ///< of the density or the signed distance
    double normalWeight = 0.2;
    double extent = 1; ///< world units; of the signed distance
    std::uint64_t seed = 1;
    std::int64_t step = 0; ///< samples are a function of seed and step
};

/// What the camera saw; parents of samples are among that.
struct SampledView {
    Tensor visible; ///< [V] I32 numbers of Gaussians
    // For the signed distance:
    Camera camera;
    float near = 0.2F;
    Tensor depth;         ///< [H, W] Σ w z
    Tensor transmittance; ///< [H, W]
};

/// Means over the samples that count.
struct SampleValues {
    double field = 0;  ///< |d − d̄|, or the error of the signed distance in tenths of the extent
    double normal = 0; ///< |n − Σ w n|²
    Index samples = 0;
    bool isStopped = false; ///< nothing was evaluated, as `stop` said so
};

/// Terms of the loss that compare the density of Gaussians, at samples drawn about visible ones,
/// with that of a surface, and their normals with those of their neighbours. Keeps its buffers. On
/// the CPU gradients repeat bit for bit for any number of threads.
/// Source: SuGaR (2024), section 4.1.
class SurfaceSamples {
public:
    explicit SurfaceSamples(std::shared_ptr<Device> device);
    ~SurfaceSamples();
    SurfaceSamples(SurfaceSamples&&) noexcept;
    SurfaceSamples& operator=(SurfaceSamples&&) noexcept;

    /// index: [count, k] neighbours of each Gaussian, itself first, of which the first `valid`
    /// (1 to 32) of each row count.
    void setNeighbours(Stream& stream, std::span<const std::uint32_t> index, Index count, int k,
                       int valid);

    /// Draws samples, evaluates both terms and adds their derivatives to position, logScale,
    /// rotation and opacity of `gradients`. The Gaussians are those of the table. On the CPU `stop`
    /// is asked at least every 100 ms; where it says so, gradients stay as they were. Waits for the
    /// stream.
    SampleValues add(Stream& stream, const Gaussians& gaussians, const SampledView& view,
                     const SampleSettings& settings, GaussianArrays& gradients,
                     const std::function<bool()>& stop = {});

    std::size_t allocatedBytes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Adds the derivative of weight times the mean entropy of visible ([V] I32) opacities to the
/// logits of `gradients`; returns the mean, in nats. Waits for the stream.
/// Source: SuGaR (2024), section 5.
double addOpacityEntropy(Stream& stream, const Gaussians& gaussians, const Tensor& visible,
                         double weight, GaussianArrays& gradients);

} // namespace vergence::sugar
