#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/compute/tensor.h"
#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/optics.h"
#include "plugins/light_field/compute/scene.h"

namespace vergence::light_field {

/// Number of values kept per pixel and texel for `channels` channels: 1, 4 (RGB and up to four
/// boards) or 16.
int lanesFor(int channels);

/// What an eye would see of scenes, for all states. Several scenes (boards) lie side by side in the
/// innermost dimension.
struct Targets {
    Tensor radiance;  ///< [S, W, W, L] float, linear light; unused lanes are 0
    Tensor depth;     ///< [S, W, W] float, mean z of the hits in mm; 0 where nothing was hit
    Tensor coverage;  ///< [S, W, W] float, share of samples that hit
    Tensor roi;       ///< [S, W, W] float, 1 where all samples hit something, otherwise 0
    int channels = 0; ///< lanes in use

    int states() const { return static_cast<int>(radiance.extent(0)); }
    int resolution() const { return static_cast<int>(radiance.extent(1)); }
    int lanes() const { return static_cast<int>(radiance.extent(3)); }
};

/// A scene and the lanes it fills: 3 for RGB, 1 for achromatic scenes (their red channel).
struct LaneScene {
    Scene scene;
    int channels = 3; ///< 1 or 3
};

/// Whether two achromatic scenes differ in colours and textures alone: their depth, coverage and
/// ROI are equal, and rendering them together costs little more than one.
bool sharesHits(const LaneScene& a, const LaneScene& b);

/// Renders every scene for every eye state (profile P), scene after scene into consecutive lanes.
/// Depth, coverage and ROI come from the first scene. At most 16 lanes. Incomplete where
/// `isStopped`, which is asked before every state, said so.
Targets renderTargets(Stream& stream, const std::shared_ptr<Device>& device, const Optics& optics,
                      std::span<const EyeState> states, int raysPerPixel,
                      std::span<const LaneScene> scenes,
                      const std::function<bool()>& isStopped = {});

/// The same with the seed's retina, pupil and eye lens (profile S, one state). Images are mirrored
/// as stored by the seed.
Targets renderSeedTargets(Stream& stream, const std::shared_ptr<Device>& device,
                          const Optics& optics, double eyeFocalLength, int raysPerPixel,
                          std::span<const LaneScene> scenes);

/// Radiance [W, W, L] of one scene for one eye (profile P), fast enough to follow a slider. On the
/// CPU spheres and cubes are traced in float, so that pixels with a sample within rounding of an
/// edge may differ from renderTargets().
Tensor previewTarget(Stream& stream, const std::shared_ptr<Device>& device, const Optics& optics,
                     const EyeState& eye, int raysPerPixel, const LaneScene& scene);

/// Every lane in use as targets of its own; depth, coverage and ROI are shared.
std::vector<Targets> separateLanes(Stream& stream, const Targets& targets);

/// Lane `lane` of state `state` as [W, W] on the host. `images` is [S, W, W, L] (or [W, W, L] with
/// state 0).
std::vector<float> laneToHost(Stream& stream, const Tensor& images, int state, int lane);

} // namespace vergence::light_field
