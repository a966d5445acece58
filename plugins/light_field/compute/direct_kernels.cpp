#include "plugins/light_field/compute/direct_kernels.h"

#include "core/compute/launch.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {

namespace {

struct SampleRay {
    SampleArguments a;

    VERGENCE_HD void operator()(Index at) const
    {
        const Index w = a.resolution;
        const RaySample sample = a.samples[at / (w * w)];
        const double power = a.eye.accommodation / 1000;
        const double tx =
            pixelSlope(a.slopeExtent, a.resolution, static_cast<double>(at % w), sample.jitterX);
        const double ty = -pixelSlope(a.slopeExtent, a.resolution, static_cast<double>(at / w % w),
                                      sample.jitterY);
        const Ray<double> ray{
            {a.eye.x + sample.pupilX, a.eye.y + sample.pupilY, 0},
            {refract(tx, sample.pupilX, power), refract(ty, sample.pupilY, power), 1}};
        const Hit<double> hit = intersect(a.scene, ray);
        a.vergence[at] = hit.isHit ? static_cast<float>(1000 / hit.t) : 0.0f;
        for (int c = 0; c < a.channels; ++c)
            a.color[at * a.channels + c] = hit.isHit ? hit.color[c] : a.scene.background[c];
    }
};

/// Share of plane `k` when `vergence` is blended linearly between its two neighbouring planes,
/// clamped at the ends.
VERGENCE_HD float blendShare(const float* planeVergence, int planes, int k, float vergence)
{
    const float here = planeVergence[k];
    if (planes == 1 || vergence == here)
        return 1;
    const bool above = vergence > here;
    int neighbour = -1;
    if (k > 0 && (planeVergence[k - 1] > here) == above)
        neighbour = k - 1;
    if (k + 1 < planes && (planeVergence[k + 1] > here) == above)
        neighbour = k + 1;
    if (neighbour < 0)
        return 1;
    const float share = (planeVergence[neighbour] - vergence) / (planeVergence[neighbour] - here);
    return share > 0 ? share : 0;
}

struct SplatTexel {
    SplatArguments a;

    VERGENCE_HD void operator()(Index texel) const
    {
        const TableView<float>& t = a.tables;
        const Index r = t.panel, w = t.resolution;
        const int plane = static_cast<int>(texel / (r * r));
        float sum[3] = {0, 0, 0}, total = 0;
        for (int m = 0; m < t.samples; ++m) {
            const Index base = t.at(a.state, plane, m), group = base / w;
            const int* lines = a.lines.start + group * (r + 1) + texel / r % r;
            const int* columns = a.columns.start + group * (r + 1) + texel % r;
            for (int i = lines[0]; i < lines[1]; ++i) {
                const Index line = a.lines.pixel[2 * base + i];
                for (int j = columns[0]; j < columns[1]; ++j) {
                    const Index pixel = a.columns.pixel[2 * base + j];
                    if (!t.passes(base + line, base + pixel))
                        continue;
                    const float weight =
                        a.lines.weight[2 * base + i] * a.columns.weight[2 * base + j];
                    const Index ray = (m * w + line) * w + pixel;
                    total += weight;
                    const float share =
                        weight * blendShare(a.planeVergence, t.planes, plane, a.vergence[ray]);
                    for (int c = 0; c < a.channels; ++c)
                        sum[c] += share * a.color[ray * a.channels + c];
                }
            }
        }
        a.weight[texel] += total;
        for (int c = 0; c < a.channels; ++c)
            a.weightedColor[texel * a.channels + c] += sum[c];
    }
};

struct NormaliseTexel {
    NormaliseArguments a;

    VERGENCE_HD void operator()(Index texel) const
    {
        for (int c = 0; c < a.channels; ++c) {
            const float weight = a.weight[texel];
            const float mean = weight > 0 ? a.weightedColor[texel * a.channels + c] / weight : 0.0f;
            a.planes[texel * a.lanes + a.firstLane + c] = clampUnit(mean * a.gain);
        }
    }
};

void sampleScene(Stream& stream, const SampleArguments& a)
{
    forEach(stream, static_cast<Index>(a.sampleCount) * a.resolution * a.resolution, SampleRay{a},
            1024);
}

void splat(Stream& stream, const SplatArguments& a)
{
    const Index r = a.tables.panel;
    forEach(stream, a.tables.planes * r * r, SplatTexel{a}, 1024);
}

void normaliseSplat(Stream& stream, const NormaliseArguments& a)
{
    forEach(stream, a.texels, NormaliseTexel{a}, 4096);
}

} // namespace

VERGENCE_REGISTER_KERNEL(sampleSceneKernel, sampleScene)
VERGENCE_REGISTER_KERNEL(splatKernel, splat)
VERGENCE_REGISTER_KERNEL(normaliseSplatKernel, normaliseSplat)

} // namespace vergence::light_field
