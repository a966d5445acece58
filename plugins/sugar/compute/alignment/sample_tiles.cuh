#pragma once

// The CUDA driver of samples: one thread per sample walks over the neighbours of its parent twice.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/alignment/sample_terms_math.h"

namespace vergence::sugar {

namespace {

/// Adds to gradients that other threads add to at the same time. The order of the sums, and with it
/// their last bits, are those of the moment.
__device__ inline void addParameterGradientAtOnce(const FieldGaussian<float>& g, std::uint32_t row,
                                                  const FieldGradient<float>& gradient,
                                                  const GaussianPointers<float>& to)
{
    const FieldParameterGradient<float> of(g, gradient);
    for (int k = 0; k < 3; ++k) {
        atomicAdd(to.position + 3 * static_cast<Index>(row) + k, of.position[k]);
        atomicAdd(to.logScale + 3 * static_cast<Index>(row) + k, of.logScale[k]);
    }
    for (int k = 0; k < 4; ++k)
        atomicAdd(to.rotation + 4 * static_cast<Index>(row) + k, of.quaternion[k]);
    atomicAdd(to.opacity + row, of.logit);
}

struct OneSample {
    SampleTermArguments a;

    __device__ void operator()(Index i) const
    {
        const FieldSample sample = a.samples[i];
        float* values = a.values + 2 * i;
        values[0] = values[1] = 0;
        if (sample.parent == kNoParent)
            return;
        const std::uint32_t* row =
            a.field.neighbours + static_cast<Index>(sample.parent) * a.field.k;
        const FieldGaussian<float> parent = loadField(a.field, sample.parent);
        const float parentNormal[3] = {parent.normal(0), parent.normal(1), parent.normal(2)};
        float x[3], gradX[3] = {};
        fieldSample(parent, sample.normal, x);
        FieldSums<float> sums;
        for (int k = 0; k < a.field.valid; ++k) {
            const FieldGaussian<float> g = loadField(a.field, row[k]);
            sums.add(g, {g, x}, parentNormal);
        }
        FieldGradient<float> parentGradient;
        SampleGradient<float> gradient;
        values[0] = a.isDistance ? distanceTerm(sums, sample.target, a.extent, a.factor,
                                                a.isDetached, gradient)
                                 : densityTerm(parent, sample.normal, sums, a.factor, a.isDetached,
                                               gradient, parentGradient);
        values[1] = normalTerm(parent, sums, a.normalFactor, gradient, parentGradient);
        for (int k = 0; k < a.field.valid; ++k) {
            const FieldGaussian<float> g = loadField(a.field, row[k]);
            FieldGradient<float> own;
            gradient.backward(g, {g, x}, x, parentNormal, own, gradX);
            addParameterGradientAtOnce(g, row[k], own, a.gradients);
        }
        if (!a.isDetached)
            fieldSampleBackward(parent, sample.normal, gradX, parentGradient);
        addParameterGradientAtOnce(parent, sample.parent, parentGradient, a.gradients);
    }
};

struct SampleValue {
    const float* values;
    int term;
    VERGENCE_HD double operator()(Index i) const { return values[2 * i + term]; }
};

void sampleTermsBody(Stream& stream, const SampleTermArguments& a)
{
    forEach(stream, a.count, OneSample{a});
    for (int term = 0; term < 2; ++term)
        a.sums[term] += reduceSum(stream, a.count, SampleValue{a.values, term});
}

} // namespace

} // namespace vergence::sugar
