#include "plugins/sugar/compute/alignment/sample_kernels.h"

#include "core/compute/launch.h"
#include "plugins/sugar/compute/alignment/density_field_math.h"
#include "plugins/sugar/compute/alignment/entropy_math.h"
#include "plugins/sugar/compute/learning/density_math.h"

namespace vergence::sugar {

namespace {

VERGENCE_HD FieldGaussian<float> loadField(const FieldView& field, std::uint32_t gaussian)
{
    const auto at = static_cast<Index>(gaussian);
    return {field.values.position + 3 * at, field.values.logScale + 3 * at,
            field.values.rotation + 4 * at, field.values.opacity[at],
            field.filter ? field.filter[at] : 0.0F};
}

[[maybe_unused]] VERGENCE_HD void addParameterGradient(const FieldView& field,
                                                       std::uint32_t gaussian,
                                                       const FieldGradient<float>& gradient,
                                                       const GaussianPointers<float>& to)
{
    const FieldParameterGradient<float> of(loadField(field, gaussian), gradient);
    const auto at = static_cast<Index>(gaussian);
    for (int k = 0; k < 3; ++k) {
        to.position[3 * at + k] += of.position[k];
        to.logScale[3 * at + k] += of.logScale[k];
    }
    for (int k = 0; k < 4; ++k)
        to.rotation[4 * at + k] += of.quaternion[k];
    to.opacity[at] += of.logit;
}

} // namespace

} // namespace vergence::sugar

#if defined(__CUDACC__)
#include "plugins/sugar/compute/alignment/sample_tiles.cuh"
#else
#include "plugins/sugar/compute/alignment/sample_cpu.h"
#endif

namespace vergence::sugar {

namespace {

/// Draws of a parent before a sample is given up.
constexpr std::uint64_t kTries = 8;

struct DrawSample {
    DrawArguments p;

    VERGENCE_HD void operator()(Index i) const
    {
        FieldSample sample{kNoParent, {}, 0};
        const auto number = static_cast<std::uint64_t>(i);
        const Rng rng(p.seed, sampleStream(SampleDraw::Parent, p.step));
        const std::uint64_t tries = p.isDistance ? kTries : 1;
        for (std::uint64_t t = 0; t < tries && sample.parent == kNoParent; ++t) {
            const std::uint64_t bits = rng.bits(kTries * number + t);
            const auto rank =
                static_cast<Index>((bits * static_cast<std::uint64_t>(p.visibleCount)) >> 32);
            const std::uint32_t drawn = p.visible[rank];
            if (!p.isDistance || isNearSurface(loadField(p.field, drawn)))
                sample.parent = drawn;
        }
        if (sample.parent != kNoParent) {
            threeNormals(p.seed, sampleStream(SampleDraw::Place, p.step), number, sample.normal);
            if (p.isDistance)
                lookUp(sample);
        }
        p.to[i] = sample;
    }

private:
    /// Camera z of a point and the rendered depth in front of it; false where there is none.
    VERGENCE_HD bool depths(const float* x, float& z, float& rendered) const
    {
        float t[3];
        for (int row = 0; row < 3; ++row)
            t[row] = dot3(p.camera.rotation + 3 * row, x) + p.camera.translation[row];
        z = t[2];
        if (!(z > p.camera.near))
            return false;
        rendered = p.picture.at(p.camera.fx * t[0] / z + p.camera.cx,
                                p.camera.fy * t[1] / z + p.camera.cy);
        return rendered >= 0;
    }

    /// Within two standard deviations, along the ray, of what is rendered there.
    VERGENCE_HD bool isNearSurface(const FieldGaussian<float>& g) const
    {
        float z, rendered;
        if (!depths(g.position, z, rendered))
            return false;
        float ray[3], squares = 0;
        for (int k = 0; k < 3; ++k)
            ray[k] = p.camera.centre[k] - g.position[k];
        for (int axis = 0; axis < 3; ++axis) {
            const float along = g.rotation[axis] * ray[0] + g.rotation[3 + axis] * ray[1] +
                                g.rotation[6 + axis] * ray[2];
            squares += g.scale[axis] * along * g.scale[axis] * along;
        }
        const float deviation = std::sqrt(squares / dot3(ray, ray));
        return std::fabs(rendered - z) < 2.0F * deviation;
    }

    VERGENCE_HD void lookUp(FieldSample& sample) const
    {
        float x[3], z, rendered;
        fieldSample(loadField(p.field, sample.parent), sample.normal, x);
        if (depths(x, z, rendered))
            sample.target = std::fabs(rendered - z);
        else
            sample.parent = kNoParent;
    }
};

struct Counts {
    const FieldSample* samples;
    VERGENCE_HD double operator()(Index i) const { return samples[i].parent != kNoParent; }
};

struct Entropy {
    EntropyArguments p;

    VERGENCE_HD double operator()(Index rank) const
    {
        const std::uint32_t i = p.visible[rank];
        const OpacityEntropy<float> entropy = opacityEntropy(p.logit[i]);
        return static_cast<double>(entropy.value);
    }
};

struct EntropyBackward {
    EntropyArguments p;

    VERGENCE_HD void operator()(Index rank) const
    {
        const std::uint32_t i = p.visible[rank];
        p.gradient[i] += p.factor * opacityEntropy(p.logit[i]).byLogit;
    }
};

void drawSamplesBody(Stream& stream, const DrawArguments& p)
{
    forEach(stream, p.samples, DrawSample{p}, 256);
}

void countSamplesBody(Stream& stream, const FieldSample* samples, Index size, Index* count)
{
    *count = static_cast<Index>(reduceSum(stream, size, Counts{samples}));
}

void opacityEntropiesBody(Stream& stream, const EntropyArguments& p)
{
    forEach(stream, p.visibleCount, EntropyBackward{p}, 512);
    *p.sum = reduceSum(stream, p.visibleCount, Entropy{p});
}

} // namespace

VERGENCE_REGISTER_KERNEL(drawSamples, drawSamplesBody)
VERGENCE_REGISTER_KERNEL(countSamples, countSamplesBody)
VERGENCE_REGISTER_KERNEL(sampleTerms, sampleTermsBody)
VERGENCE_REGISTER_KERNEL(opacityEntropies, opacityEntropiesBody)

} // namespace vergence::sugar
