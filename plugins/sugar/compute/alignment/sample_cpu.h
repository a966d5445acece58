#pragma once

// The CPU driver of samples, included by sample_kernels.cpp: one task takes the samples of a
// parent, its neighbours side by side in vectors, and leaves a record of gradients for each of
// them; another adds the records of a Gaussian in a fixed order.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/alignment/sample_terms_math.h"
#include "plugins/sugar/compute/lanes.h"

namespace vergence::sugar {

namespace {

using namespace lanes;

constexpr int kMostPacks = kMostFieldNeighbours / kLanes;

VERGENCE_HD Vector gather(const float* from, Whole at)
{
#if defined(__AVX512F__)
    return (Vector)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF, (__m512i)at, from, 4);
#elif defined(__AVX2__)
    const __m256 every = (__m256)(Whole{} - 1);
    return (Vector)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, (__m256i)at, every, 4);
#else
    Vector value;
    for (int i = 0; i < kLanes; ++i)
        value[i] = from[at[i]];
    return value;
#endif
}

VERGENCE_HD FieldGaussian<Vector> loadField(const FieldView& field, Whole index)
{
    Vector position[3], logScale[3], quaternion[4];
    for (int k = 0; k < 3; ++k) {
        position[k] = gather(field.values.position, 3 * index + k);
        logScale[k] = gather(field.values.logScale, 3 * index + k);
    }
    for (int k = 0; k < 4; ++k)
        quaternion[k] = gather(field.values.rotation, 4 * index + k);
    const Vector filter = field.filter ? gather(field.filter, index) : Vector{};
    return {position, logScale, quaternion, gather(field.values.opacity, index), filter};
}

/// One lane as a number.
VERGENCE_HD FieldGaussian<float> laneOf(const FieldGaussian<Vector>& from, int lane)
{
    FieldGaussian<float> one;
    for (int i = 0; i < 3; ++i) {
        one.position[i] = from.position[i][lane];
        one.scale[i] = from.scale[i][lane];
        one.filteredPart[i] = from.filteredPart[i][lane];
        one.pick[i] = from.pick[i][lane];
    }
    for (int i = 0; i < 9; ++i)
        one.rotation[i] = from.rotation[i][lane];
    for (int i = 0; i < 4; ++i)
        one.unit[i] = from.unit[i][lane];
    one.opacity = from.opacity[lane];
    one.inverseNorm = from.inverseNorm[lane];
    one.opacityRoom = from.opacityRoom[lane];
    return one;
}

/// Adds the gradient of the parent, which is the first of its own neighbours.
VERGENCE_HD void addToFirst(const FieldGradient<float>& parent, FieldGradient<Vector>& to)
{
    for (int i = 0; i < 3; ++i) {
        to.position[i][0] += parent.position[i];
        to.logScale[i][0] += parent.logScale[i];
    }
    for (int i = 0; i < 9; ++i)
        to.rotation[i][0] += parent.rotation[i];
    to.opacity[0] += parent.opacity;
}

/// Lane i becomes record i; the first `used` lanes are written.
VERGENCE_HD void storeRecords(const FieldGradient<Vector>& gradient, int used, float* records)
{
    static_assert(sizeof(gradient) == kRecordNumbers * sizeof(Vector));
    Vector rows[kRecordNumbers];
    std::memcpy(rows, &gradient, sizeof(rows));
    for (int first = 0; first < kRecordNumbers; first += kLanes) {
        transpose(rows + first);
        for (int lane = 0; lane < used; ++lane)
            store(records + lane * kRecordNumbers + first, rows[first + lane]);
    }
}

/// Samples of one parent.
struct SampleGroup {
    SampleTermArguments a;

    void operator()(Index number) const
    {
        const Index group = a.firstGroup + number;
        const std::uint32_t first = a.starts[group], last = a.starts[group + 1];
        const std::uint32_t parentIndex = a.samples[a.order[first]].parent;
        const std::uint32_t* row = a.field.neighbours + static_cast<Index>(parentIndex) * a.field.k;
        const int packs = (a.field.valid + kLanes - 1) / kLanes;
        FieldGaussian<Vector> neighbours[kMostPacks];
        FieldGradient<Vector> gradients[kMostPacks];
        for (int pack = 0; pack < packs; ++pack)
            neighbours[pack] = load(row, pack);
        const FieldGaussian<float> parent = laneOf(neighbours[0], 0);
        FieldGradient<float> parentGradient;
        float* values = a.values + 2 * group;
        values[0] = values[1] = 0;
        for (std::uint32_t i = first; i < last; ++i)
            evaluate(a.samples[a.order[i]], parent, neighbours, packs, parentGradient, gradients,
                     values);
        addToFirst(parentGradient, gradients[0]);
        float* records = a.records + group * a.field.valid * kRecordNumbers;
        for (int pack = 0; pack < packs; ++pack)
            storeRecords(gradients[pack], std::min(kLanes, a.field.valid - pack * kLanes),
                         records + pack * kLanes * kRecordNumbers);
    }

private:
    FieldGaussian<Vector> load(const std::uint32_t* row, int pack) const
    {
        Whole index;
        Vector present;
        for (int lane = 0; lane < kLanes; ++lane) {
            const int at = std::min(pack * kLanes + lane, a.field.valid - 1);
            index[lane] = static_cast<std::int32_t>(row[at]);
            present[lane] = pack * kLanes + lane < a.field.valid ? 1.0F : 0.0F;
        }
        FieldGaussian<Vector> g = loadField(a.field, index);
        g.leaveOut(present);
        return g;
    }

    void evaluate(const FieldSample& sample, const FieldGaussian<float>& parent,
                  const FieldGaussian<Vector>* neighbours, int packs,
                  FieldGradient<float>& parentGradient, FieldGradient<Vector>* gradients,
                  float* values) const
    {
        const float parentNormal[3] = {parent.normal(0), parent.normal(1), parent.normal(2)};
        float x[3];
        fieldSample(parent, sample.normal, x);
        FieldSums<Vector> sums;
        for (int pack = 0; pack < packs; ++pack)
            sums.add(neighbours[pack], {neighbours[pack], x}, parentNormal);
        const FieldSums<float> total = sums.total();
        SampleGradient<float> gradient;
        values[0] += a.isDistance ? distanceTerm(total, sample.target, a.extent, a.factor,
                                                 a.isDetached, gradient)
                                  : densityTerm(parent, sample.normal, total, a.factor,
                                                a.isDetached, gradient, parentGradient);
        values[1] += normalTerm(parent, total, a.normalFactor, gradient, parentGradient);
        Vector gradX[3] = {};
        for (int pack = 0; pack < packs; ++pack)
            gradient.backward(neighbours[pack], {neighbours[pack], x}, x, parentNormal,
                              gradients[pack], gradX);
        if (a.isDetached)
            return;
        const float toX[3] = {sumOfLanes(gradX[0]), sumOfLanes(gradX[1]), sumOfLanes(gradX[2])};
        fieldSampleBackward(parent, sample.normal, toX, parentGradient);
    }
};

struct GatherRow {
    static constexpr std::uint32_t kAhead = 12; ///< records that are asked for before their turn

    GatherRecordsArguments p;

    void operator()(Index row) const
    {
        const std::uint32_t last = p.starts[p.rows] - 1;
        FieldGradient<float> sum;
        auto* numbers = reinterpret_cast<float*>(&sum);
        static_assert(sizeof(sum) == kRecordNumbers * sizeof(float));
        for (std::uint32_t i = p.starts[row]; i < p.starts[row + 1]; ++i) {
            const Index later = p.entries[std::min(i + kAhead, last)];
            __builtin_prefetch(p.records + later * kRecordNumbers);
            const float* record = p.records + static_cast<Index>(p.entries[i]) * kRecordNumbers;
            for (int k = 0; k < kRecordNumbers; ++k)
                numbers[k] += record[k];
        }
        addParameterGradient(p.field, p.gaussians[row], sum, p.gradients);
    }
};

struct GroupValue {
    const float* values;
    int term;
    double operator()(Index group) const { return values[2 * group + term]; }
};

void sampleTermsBody(Stream& stream, const SampleTermArguments& a)
{
    const Index groups = a.lastGroup - a.firstGroup;
    const float* values = a.values + 2 * a.firstGroup;
    forEach(stream, groups, SampleGroup{a}, 16);
    for (int term = 0; term < 2; ++term)
        a.sums[term] += reduceSum(stream, groups, GroupValue{values, term});
}

void gatherRecordsBody(Stream& stream, const GatherRecordsArguments& p)
{
    forEach(stream, p.rows, GatherRow{p}, 64);
}

} // namespace

VERGENCE_REGISTER_KERNEL(gatherRecords, gatherRecordsBody)

} // namespace vergence::sugar
