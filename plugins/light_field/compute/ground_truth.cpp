#include "plugins/light_field/compute/ground_truth.h"

#include <algorithm>

#include "core/base/error.h"
#include "plugins/light_field/compute/ground_truth_kernels.h"
#include "plugins/light_field/compute/operator_storage.h"
#include "plugins/light_field/compute/seed_operator.h"

namespace vergence::light_field {

namespace {

int channelCount(std::span<const LaneScene> scenes)
{
    int channels = 0;
    for (const LaneScene& scene : scenes) {
        expects(scene.channels == 1 || scene.channels == 3,
                "targets: a scene fills one or three lanes");
        channels += scene.channels;
    }
    return channels;
}

Targets emptyTargets(Stream& stream, const std::shared_ptr<Device>& device, Index states,
                     Index resolution, int channels)
{
    Targets targets;
    targets.channels = channels;
    targets.radiance =
        Tensor::zeros(stream, device, {states, resolution, resolution, lanesFor(channels)});
    targets.depth = Tensor::zeros(stream, device, {states, resolution, resolution});
    targets.coverage = Tensor::zeros(stream, device, {states, resolution, resolution});
    targets.roi = Tensor::zeros(stream, device, {states, resolution, resolution});
    return targets;
}

GroundTruthOutput outputOf(const Targets& targets, Index state, int firstLane, int channels)
{
    const Index pixels = state * targets.resolution() * targets.resolution();
    GroundTruthOutput out;
    out.radiance = static_cast<float*>(targets.radiance.data()) + pixels * targets.lanes();
    if (firstLane == 0) {
        out.depth = static_cast<float*>(targets.depth.data()) + pixels;
        out.coverage = static_cast<float*>(targets.coverage.data()) + pixels;
        out.roi = static_cast<float*>(targets.roi.data()) + pixels;
    }
    out.lanes = targets.lanes();
    out.firstLane = firstLane;
    out.channels = channels;
    return out;
}

template <class T>
Tensor upload(Stream& stream, const std::shared_ptr<Device>& device, std::span<const T> values)
{
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(values.data()),
                                              values.size_bytes());
    return Tensor::fromHost<std::uint8_t>(stream, device, {static_cast<Index>(bytes.size())},
                                          bytes);
}

/// Consecutive scenes that share their hits, on the device.
struct SceneGroup {
    SceneOnDevice scene; ///< the first one
    Tensor others;       ///< primitives of the others
    int otherCount, lane, channels;

    VariantView variants() const
    {
        return {static_cast<const Primitive*>(others.data()), otherCount};
    }
};

/// Calls `render` for every group of scenes that share their hits, lane after lane.
template <class Render>
void forEachGroup(Stream& stream, const std::shared_ptr<Device>& device,
                  std::span<const LaneScene> scenes, const Render& render)
{
    int lane = 0;
    for (std::size_t n = 0; n < scenes.size();) {
        const LaneScene& scene = scenes[n++];
        std::vector<Primitive> others;
        int count = 0;
        for (; n < scenes.size() && sharesHits(scene, scenes[n]); ++n, ++count) {
            const auto primitives = scenes[n].scene.primitives();
            others.insert(others.end(), primitives.begin(), primitives.end());
        }
        render(SceneGroup{SceneOnDevice(stream, device, scene.scene),
                          upload(stream, device, std::span<const Primitive>(others)), count, lane,
                          scene.channels});
        lane += scene.channels + count;
    }
}

} // namespace

int lanesFor(int channels)
{
    expects(channels >= 1 && channels <= 16,
            "lanesFor: between 1 and 16 channels fit side by side");
    return channels == 1 ? 1 : channels <= 4 ? 4 : 16;
}

bool sharesHits(const LaneScene& a, const LaneScene& b)
{
    const auto x = a.scene.primitives(), y = b.scene.primitives();
    if (a.channels != 1 || b.channels != 1 || a.scene.hasDepthImage() || b.scene.hasDepthImage() ||
        a.scene.lambert() != b.scene.lambert() || a.scene.background() != b.scene.background())
        return false;
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Primitive& p, const Primitive& q) {
                          return p.kind == q.kind && p.size == q.size &&
                                 std::equal(p.center, p.center + 3, q.center);
                      });
}

Targets renderTargets(Stream& stream, const std::shared_ptr<Device>& device, const Optics& optics,
                      std::span<const EyeState> states, int raysPerPixel,
                      std::span<const LaneScene> scenes, const std::function<bool()>& isStopped)
{
    checkOptics(optics);
    expects(!states.empty() && !scenes.empty(),
            "renderTargets: at least one eye state and one scene are needed");
    Targets targets = emptyTargets(stream, device, static_cast<Index>(states.size()),
                                   optics.renderResolution, channelCount(scenes));
    const Tensor stateData = upload(stream, device, states);
    const auto pattern = samplePattern(raysPerPixel, optics.pupilDiameter);
    const Tensor sampleData = upload(stream, device, std::span<const RaySample>(pattern));
    forEachGroup(stream, device, scenes, [&](const SceneGroup& group) {
        GroundTruthArguments arguments;
        arguments.scene = group.scene.view();
        arguments.samples = static_cast<const RaySample*>(sampleData.data());
        arguments.stateCount = 1;
        arguments.sampleCount = raysPerPixel;
        arguments.resolution = optics.renderResolution;
        arguments.slopeExtent = optics.slopeExtent();
        arguments.variants = group.variants();
        for (Index state = 0; state < static_cast<Index>(states.size()); ++state) {
            if (isStopped && isStopped())
                return;
            arguments.states = static_cast<const EyeState*>(stateData.data()) + state;
            arguments.output = outputOf(targets, state, group.lane, group.channels);
            groundTruthKernel(stream, arguments);
            stream.synchronize();
        }
    });
    return targets;
}

Targets renderSeedTargets(Stream& stream, const std::shared_ptr<Device>& device,
                          const Optics& optics, double eyeFocalLength, int raysPerPixel,
                          std::span<const LaneScene> scenes)
{
    checkOptics(optics);
    expects(!scenes.empty(), "renderSeedTargets: at least one scene is needed");
    for (const LaneScene& scene : scenes)
        expects(!scene.scene.hasDepthImage(),
                "renderSeedTargets: the seed profile knows spheres and cubes only");
    Targets targets =
        emptyTargets(stream, device, 1, optics.renderResolution, channelCount(scenes));
    const auto pattern = seedSamplePattern(raysPerPixel, optics.pupilDiameter);
    const Tensor sampleData = upload(stream, device, std::span<const RaySample>(pattern));
    forEachGroup(stream, device, scenes, [&](const SceneGroup& group) {
        SeedGroundTruthArguments arguments;
        arguments.scene = group.scene.view();
        arguments.optics = seedOpticsOf(optics, eyeFocalLength);
        arguments.samples = static_cast<const RaySample*>(sampleData.data());
        arguments.sampleCount = raysPerPixel;
        arguments.variants = group.variants();
        arguments.output = outputOf(targets, 0, group.lane, group.channels);
        seedGroundTruthKernel(stream, arguments);
        stream.synchronize();
    });
    return targets;
}

Tensor previewTarget(Stream& stream, const std::shared_ptr<Device>& device, const Optics& optics,
                     const EyeState& eye, int raysPerPixel, const LaneScene& scene)
{
    const std::span one(&scene, 1);
    if (!device->isCpu() || scene.scene.hasDepthImage())
        return renderTargets(stream, device, optics, std::span(&eye, 1), raysPerPixel, one)
            .radiance.slice(0);
    checkOptics(optics);
    const int channels = channelCount(one);
    const Index w = optics.renderResolution;
    const Tensor radiance = Tensor::zeros(stream, device, {w, w, lanesFor(channels)});
    const auto pattern = samplePattern(raysPerPixel, optics.pupilDiameter);
    const SceneOnDevice onDevice(stream, device, scene.scene);
    PreviewArguments arguments;
    arguments.scene = onDevice.view();
    arguments.eye = eye;
    arguments.samples = pattern.data();
    arguments.sampleCount = raysPerPixel;
    arguments.resolution = optics.renderResolution;
    arguments.slopeExtent = optics.slopeExtent();
    arguments.radiance = dataOf<float>(radiance);
    arguments.lanes = lanesFor(channels);
    arguments.channels = channels;
    previewKernel(stream, arguments);
    return radiance;
}

std::vector<Targets> separateLanes(Stream& stream, const Targets& targets)
{
    const auto lanes = static_cast<std::size_t>(targets.lanes());
    const auto used = static_cast<std::size_t>(targets.channels);
    const std::vector<float> all = targets.radiance.toHost<float>(stream);
    const std::size_t pixels = all.size() / lanes;
    std::vector<std::vector<float>> values(used, std::vector<float>(pixels));
    for (std::size_t i = 0; i < pixels; ++i) {
        for (std::size_t lane = 0; lane < used; ++lane)
            values[lane][i] = all[i * lanes + lane];
    }
    std::vector<Targets> single(used, targets);
    for (std::size_t lane = 0; lane < used; ++lane) {
        single[lane].channels = 1;
        single[lane].radiance = Tensor::fromHost<float>(
            stream, targets.radiance.device(),
            {targets.states(), targets.resolution(), targets.resolution(), 1}, values[lane]);
    }
    return single;
}

std::vector<float> laneToHost(Stream& stream, const Tensor& images, int state, int lane)
{
    expects(images.rank() == 3 || images.rank() == 4,
            "laneToHost: images must be [S, W, W, L] or [W, W, L]");
    const Tensor image = images.rank() == 4 ? images.slice(state) : images;
    const Index lanes = image.extent(2);
    expects(lane >= 0 && lane < lanes, "laneToHost: no such lane");
    const std::vector<float> all = image.toHost<float>(stream);
    std::vector<float> values(all.size() / static_cast<std::size_t>(lanes));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = all[i * static_cast<std::size_t>(lanes) + static_cast<std::size_t>(lane)];
    return values;
}

} // namespace vergence::light_field
