#include "plugins/light_field/compute/ground_truth_kernels.h"

#include "core/compute/launch.h"
#include "plugins/light_field/compute/optics_math.h"
#include "plugins/light_field/compute/update_math.h"
#if !defined(__CUDACC__)
#include "plugins/light_field/compute/scene_packs.h"
#endif

namespace vergence::light_field {

namespace {

/// Mean over the samples of one pixel.
struct PixelMean {
    double color[3] = {0, 0, 0};
    double depth = 0;
    int hits = 0;

    VERGENCE_HD void addMiss(const SceneView& scene)
    {
        for (int c = 0; c < 3; ++c)
            color[c] += scene.background[c];
    }

    VERGENCE_HD void addHit(const float* rgb, double z)
    {
        for (int c = 0; c < 3; ++c)
            color[c] += rgb[c];
        depth += z;
        ++hits;
    }

    VERGENCE_HD void write(const GroundTruthOutput& out, Index pixel, int samples) const
    {
        for (int c = 0; c < out.channels; ++c)
            out.radiance[pixel * out.lanes + out.firstLane + c] =
                static_cast<float>(color[c] / samples);
        if (!out.depth)
            return;
        out.depth[pixel] = hits > 0 ? static_cast<float>(depth / hits) : 0.0f;
        out.coverage[pixel] = static_cast<float>(hits) / static_cast<float>(samples);
        out.roi[pixel] = hits == samples ? 1.0f : 0.0f;
    }
};

VERGENCE_HD Ray<double> eyeRay(const GroundTruthArguments& a, const EyeState& eye,
                               const RaySample& sample, int row, int column)
{
    const double tx = pixelSlope(a.slopeExtent, a.resolution, column, sample.jitterX);
    const double ty = -pixelSlope(a.slopeExtent, a.resolution, row, sample.jitterY);
    const double power = eye.accommodation / 1000;
    return {{eye.x + sample.pupilX, eye.y + sample.pupilY, 0},
            {refract(tx, sample.pupilX, power), refract(ty, sample.pupilY, power), 1}};
}

struct PixelTruth {
    GroundTruthArguments a;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const Index w = a.resolution;
        const int column = static_cast<int>(pixel % w), row = static_cast<int>(pixel / w % w);
        const EyeState eye = a.states[pixel / (w * w)];
        PixelMean mean;
        for (int m = 0; m < a.sampleCount; ++m) {
            const Hit<double> hit = intersect(a.scene, eyeRay(a, eye, a.samples[m], row, column));
            if (hit.isHit)
                mean.addHit(hit.color, hit.t);
            else
                mean.addMiss(a.scene);
        }
        mean.write(a.output, pixel, a.sampleCount);
    }
};

/// Adds what a ray sees of scenes of equal geometry: of the first to `mean`, of variant v to
/// sums[v].
template <class Real>
VERGENCE_HD void addVariants(const SceneView& scene, const VariantView& variants,
                             const Ray<Real>& ray, PixelMean& mean, double* sums)
{
    Real t = 0;
    int axisHit = 0;
    const int nearest = nearestPrimitive(scene, ray, t, axisHit);
    if (nearest < 0) {
        mean.addMiss(scene);
        for (int v = 0; v < variants.count; ++v)
            sums[v] += static_cast<double>(scene.background[0]);
        return;
    }
    auto point = scene_detail::surfaceAt(scene.primitives[nearest], ray, t, axisHit);
    if (variants.count > 0 && !scene_detail::isChecker(scene.primitives[nearest].texture))
        scene_detail::measureAngles(point);
    const float light = scene_detail::lightOn(point, ray, scene.lambert);
    float rgb[3];
    scene_detail::paint(scene.primitives[nearest], point, rgb);
    for (float& channel : rgb)
        channel *= light;
    mean.addHit(rgb, static_cast<double>(t * ray.direction[2]));
    for (int v = 0; v < variants.count; ++v) {
        scene_detail::paint(variants.primitives[v * scene.count + nearest], point, rgb);
        sums[v] += static_cast<double>(rgb[0] * light);
    }
}

VERGENCE_HD void writeVariants(const GroundTruthOutput& out, Index pixel, int samples, int count,
                               const double* sums)
{
    float* lanes = out.radiance + pixel * out.lanes + out.firstLane + 1;
    for (int v = 0; v < count; ++v)
        lanes[v] = static_cast<float>(sums[v] / samples);
}

/// The same for scenes of equal geometry, one lane each.
struct PixelVariants {
    GroundTruthArguments a;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const Index w = a.resolution;
        const int column = static_cast<int>(pixel % w), row = static_cast<int>(pixel / w % w);
        const EyeState eye = a.states[pixel / (w * w)];
        PixelMean mean;
        double sums[kMaxLanes] = {};
        for (int m = 0; m < a.sampleCount; ++m)
            addVariants(a.scene, a.variants, eyeRay(a, eye, a.samples[m], row, column), mean, sums);
        mean.write(a.output, pixel, a.sampleCount);
        writeVariants(a.output, pixel, a.sampleCount, a.variants.count, sums);
    }
};

struct SeedPixelTruth {
    SeedGroundTruthArguments a;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const Index w = a.optics.resolution;
        PixelMean mean;
        double sums[kMaxLanes] = {};
        for (int m = 0; m < a.sampleCount; ++m) {
            const RaySample sample = a.samples[m];
            if (sample.pupilX != sample.pupilX) {
                mean.addMiss(a.scene);
                for (int v = 0; v < a.variants.count; ++v)
                    sums[v] += static_cast<double>(a.scene.background[0]);
                continue;
            }
            const SeedRay<float> eyeRay = seedEyeRay(
                a.optics, static_cast<int>(pixel / w), static_cast<float>(pixel % w),
                static_cast<float>(sample.pupilX), static_cast<float>(sample.pupilY), ScalarMath{});
            Ray<float> ray;
            for (int axis = 0; axis < 3; ++axis) {
                ray.origin[axis] = eyeRay.origin[axis];
                ray.direction[axis] = eyeRay.direction[axis];
            }
            addVariants(a.scene, a.variants, ray, mean, sums);
        }
        mean.write(a.output, pixel, a.sampleCount);
        writeVariants(a.output, pixel, a.sampleCount, a.variants.count, sums);
    }
};

void groundTruth(Stream& stream, const GroundTruthArguments& a)
{
    const Index pixels = static_cast<Index>(a.stateCount) * a.resolution * a.resolution;
    if (a.variants.count > 0)
        forEach(stream, pixels, PixelVariants{a}, 256);
    else
        forEach(stream, pixels, PixelTruth{a}, 256);
}

void seedGroundTruth(Stream& stream, const SeedGroundTruthArguments& a)
{
    const Index pixels = static_cast<Index>(a.optics.resolution) * a.optics.resolution;
    forEach(stream, pixels, SeedPixelTruth{a}, 1024);
}

#if !defined(__CUDACC__)
void preview(Stream& stream, const PreviewArguments& a)
{
    const Index packs = (a.resolution + simd::kNative - 1) / simd::kNative;
    forEach(stream, a.resolution * packs, simd::PreviewPack{a, packs}, 8);
}
#endif

} // namespace

VERGENCE_REGISTER_KERNEL(groundTruthKernel, groundTruth)
#if !defined(__CUDACC__)
VERGENCE_REGISTER_KERNEL(previewKernel, preview)
#endif
VERGENCE_REGISTER_KERNEL(seedGroundTruthKernel, seedGroundTruth)

} // namespace vergence::light_field
