#include "plugins/light_field/compute/ground_truth_kernels.h"

#include "core/compute/launch.h"
#include "plugins/light_field/compute/optics_math.h"
#include "plugins/light_field/compute/update_math.h"

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
        for (int m = 0; m < a.sampleCount; ++m) {
            const Ray<double> ray = eyeRay(a, eye, a.samples[m], row, column);
            double t = 0;
            int axisHit = 0;
            const int nearest = nearestPrimitive(a.scene, ray, t, axisHit);
            if (nearest < 0) {
                mean.addMiss(a.scene);
                for (int v = 0; v < a.variantCount; ++v)
                    sums[v] += static_cast<double>(a.scene.background[0]);
                continue;
            }
            auto point = scene_detail::surfaceAt(a.scene.primitives[nearest], ray, t, axisHit);
            scene_detail::measureAngles(point);
            const float light = scene_detail::lightOn(point, ray, a.scene.lambert);
            float rgb[3];
            scene_detail::paint(a.scene.primitives[nearest], point, rgb);
            for (float& channel : rgb)
                channel *= light;
            mean.addHit(rgb, t);
            for (int v = 0; v < a.variantCount; ++v) {
                scene_detail::paint(a.variants[v * a.scene.count + nearest], point, rgb);
                sums[v] += static_cast<double>(rgb[0] * light);
            }
        }
        mean.write(a.output, pixel, a.sampleCount);
        float* lanes = a.output.radiance + pixel * a.output.lanes + a.output.firstLane + 1;
        for (int v = 0; v < a.variantCount; ++v)
            lanes[v] = static_cast<float>(sums[v] / a.sampleCount);
    }
};

struct SeedPixelTruth {
    SeedGroundTruthArguments a;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const int w = a.optics.resolution;
        PixelMean mean;
        for (int m = 0; m < a.sampleCount; ++m) {
            const RaySample sample = a.samples[m];
            if (sample.pupilX != sample.pupilX) {
                mean.addMiss(a.scene);
                continue;
            }
            const SeedRay eyeRay =
                seedEyeRay(a.optics, static_cast<int>(pixel / w), static_cast<int>(pixel % w),
                           static_cast<float>(sample.pupilX), static_cast<float>(sample.pupilY));
            Ray<float> ray;
            for (int axis = 0; axis < 3; ++axis) {
                ray.origin[axis] = eyeRay.origin[axis];
                ray.direction[axis] = eyeRay.direction[axis];
            }
            const Hit<float> hit = intersect(a.scene, ray);
            if (hit.isHit)
                mean.addHit(hit.color, static_cast<double>(hit.t * ray.direction[2]));
            else
                mean.addMiss(a.scene);
        }
        mean.write(a.output, pixel, a.sampleCount);
    }
};

void groundTruth(Stream& stream, const GroundTruthArguments& a)
{
    const Index pixels = static_cast<Index>(a.stateCount) * a.resolution * a.resolution;
    if (a.variantCount > 0)
        forEach(stream, pixels, PixelVariants{a}, 256);
    else
        forEach(stream, pixels, PixelTruth{a}, 256);
}

void seedGroundTruth(Stream& stream, const SeedGroundTruthArguments& a)
{
    const Index pixels = static_cast<Index>(a.optics.resolution) * a.optics.resolution;
    forEach(stream, pixels, SeedPixelTruth{a}, 1024);
}

} // namespace

VERGENCE_REGISTER_KERNEL(groundTruthKernel, groundTruth)
VERGENCE_REGISTER_KERNEL(seedGroundTruthKernel, seedGroundTruth)

} // namespace vergence::light_field
