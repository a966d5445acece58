#include <numbers>

#include "core/base/error.h"
#include "plugins/light_field/compute/direct_kernels.h"
#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/operator_storage.h"

namespace vergence::light_field {

namespace {

/// Working memory of one scene.
struct Splat {
    Tensor samples, planeVergence, color, vergence, weightedColor, weight;

    Splat(Stream& stream, const TableOperator& op, int channels)
    {
        const auto& device = op.device();
        const auto pattern = samplePattern(op.raysPerPixel(), op.optics().pupilDiameter);
        samples = uploadBytes(stream, device, std::span<const RaySample>(pattern));
        std::vector<float> vergences;
        for (int k = 0; k < op.planes(); ++k)
            vergences.push_back(static_cast<float>(planeGeometry(op.optics(), k).vergence));
        planeVergence = Tensor::fromHost<float>(stream, device, {op.planes()}, vergences);
        const Index rays =
            static_cast<Index>(op.raysPerPixel()) * op.resolution() * op.resolution();
        color = Tensor::empty(device, {rays, channels});
        vergence = Tensor::empty(device, {rays});
        weightedColor = Tensor::zeros(stream, device, {op.unknowns(), channels});
        weight = Tensor::zeros(stream, device, {op.unknowns()});
    }
};

void addState(Stream& stream, const TableOperator& op, const SceneView& scene, int channels,
              int state, Splat& splat)
{
    SampleArguments sample;
    sample.scene = scene;
    sample.eye = op.eyeStates()[static_cast<std::size_t>(state)];
    sample.samples = dataOf<const RaySample>(splat.samples);
    sample.sampleCount = op.raysPerPixel();
    sample.resolution = op.resolution();
    sample.channels = channels;
    sample.slopeExtent = op.optics().slopeExtent();
    sample.color = dataOf<float>(splat.color);
    sample.vergence = dataOf<float>(splat.vergence);
    sampleSceneKernel(stream, sample);
    SplatArguments add;
    add.tables = op.tables().view<float>(op);
    add.columns = op.tables().x.inverted<float>();
    add.lines = op.tables().y.inverted<float>();
    add.state = state;
    add.channels = channels;
    add.color = sample.color;
    add.vergence = sample.vergence;
    add.planeVergence = dataOf<const float>(splat.planeVergence);
    add.weightedColor = dataOf<float>(splat.weightedColor);
    add.weight = dataOf<float>(splat.weight);
    splatKernel(stream, add);
}

} // namespace

Tensor directPlanes(Stream& stream, const TableOperator& op, std::span<const LaneScene> scenes)
{
    expects(op.elementType() == DType::F32, "directPlanes: the operator must be of type F32");
    int channels = 0;
    for (const LaneScene& scene : scenes)
        channels += scene.channels;
    const int lanes = lanesFor(channels);
    op.tables().invert<float>(stream, op);
    Tensor planes = Tensor::zeros(stream, op.device(),
                                  {op.planes(), op.panelResolution(), op.panelResolution(), lanes});
    // Circular lenslets let π/4 of the light pass, which shows where missing light is absorbed; the
    // plane weights share the rest.
    const Optics& optics = op.optics();
    const bool darkens =
        optics.lensletShape == LensletShape::Circle && optics.missing == MissingPolicy::Absorb;
    const double passed = darkens ? std::numbers::pi / 4 : 1.0;
    int lane = 0;
    for (const LaneScene& scene : scenes) {
        const SceneOnDevice onDevice(stream, op.device(), scene.scene);
        Splat splat(stream, op, scene.channels);
        for (int state = 0; state < op.states(); ++state)
            addState(stream, op, onDevice.view(), scene.channels, state, splat);
        NormaliseArguments normalise;
        normalise.texels = op.unknowns();
        normalise.channels = scene.channels;
        normalise.lanes = lanes;
        normalise.firstLane = lane;
        normalise.gain = static_cast<float>(1 / (passed * optics.planeWeight()));
        normalise.weightedColor = dataOf<const float>(splat.weightedColor);
        normalise.weight = dataOf<const float>(splat.weight);
        normalise.planes = dataOf<float>(planes);
        normaliseSplatKernel(stream, normalise);
        stream.synchronize();
        lane += scene.channels;
    }
    return planes;
}

} // namespace vergence::light_field
