#pragma once

// The CPU driver of the separable operator's product, included by table_tiles.cpp.

#include <algorithm>

#include "plugins/light_field/compute/table_bundle_cpu.h"

namespace vergence::light_field {

namespace {

/// One state, one bundle of rows, one block of columns.
template <int L, bool Aperture>
struct ForwardTask {
    ForwardArguments<float> a;
    double* partial; ///< [tasks, 2 L]
    Index bundles, blocks;

    void operator()(Index task) const
    {
        const TableView<float>& t = a.tables;
        const int state = static_cast<int>(task / (bundles * blocks));
        const Bundle<L> bundle(a.rows, state, task / blocks % bundles, t.resolution);
        const int begin = static_cast<int>(task % blocks) * kBlockPixels;
        const int end = std::min(begin + kBlockPixels, t.resolution);
        alignas(64) float sum[kBlockPixels * kPack] = {};
        alignas(64) float ofPlane[kBlockPixels * kPack]; // before the gains weight it
        const Index planeSize = static_cast<Index>(t.panel) * t.panel * L;
        for (int k = a.firstPlane; k < a.firstPlane + a.planeCount; ++k) {
            if (t.gain)
                std::memset(ofPlane, 0, sizeof(ofPlane));
            float* to = t.gain ? ofPlane : sum;
            for (int m = 0; m < t.samples; ++m)
                addSample(a.x + k * planeSize, t.at(state, k, m), bundle, begin, end, to);
            if (t.gain)
                addPlane(state, k, bundle, begin, end, ofPlane, sum);
        }
        finish(state, bundle, begin, end, sum, partial + task * 2 * L);
    }

private:
    void addPlane(int state, int plane, const Bundle<L>& bundle, int begin, int end,
                  const float* ofPlane, float* sum) const
    {
        for (int i = 0; i < Bundle<L>::kRows; ++i) {
            for (int j = begin; j < end; ++j) {
                const float gain = a.tables.gainAt(state, plane, bundle.row[i], j);
                const Index at = static_cast<Index>(j - begin) * kPack + i * L;
                for (int lane = 0; lane < L; ++lane)
                    sum[at + lane] += gain * ofPlane[at + lane];
            }
        }
    }

    void addSample(const float* plane, Index base, const Bundle<L>& bundle, int begin, int end,
                   float* sum) const
    {
        const TableView<float>& t = a.tables;
        const BundleRows<L> rows(t, base, bundle);
        if (rows.isEmpty)
            return;
        const int* first = t.x.first + base;
        int low = first[begin], high = first[begin];
        for (int j = begin; j < end; ++j) {
            low = std::min(low, first[j]);
            high = std::max(high, first[j]);
        }
        low = std::max(0, std::min(low, t.panel - simd::kSide<L>));
        alignas(64) float texels[(4096 + kPack) * kPack];
        blendRows<L>(plane, t.panel, rows, low, high + 1, texels);
        const float* alphas = t.x.alpha + base;
        const float* lenslets = t.x.lenslet2 + base;
        const float* apertures = t.x.aperture2 + base;
        for (int j = begin; j < end; ++j) {
            const float* left = texels + (first[j] - low) * kPack;
            float* to = sum + (j - begin) * kPack;
            const float alpha = alphas[j];
            for (int part = 0; part < kParts; ++part) {
                const Native value = (1 - alpha) * simd::load(left + part * kNative) +
                                     alpha * simd::load(left + kPack + part * kNative);
                const Native kept =
                    masked<Aperture>(t, rows, part, value, lenslets[j], apertures[j]);
                simd::store(to + part * kNative, simd::load(to + part * kNative) + kept);
            }
        }
    }

    void finish(int state, const Bundle<L>& bundle, int begin, int end, const float* sum,
                double* sums) const
    {
        const Index w = a.tables.resolution;
        double squared[L] = {}, weighted[L] = {};
        for (int i = 0; i < Bundle<L>::kRows; ++i) {
            if (!bundle.isMember[i])
                continue;
            const Index line = (state * w + bundle.row[i]) * w;
            for (int j = begin; j < end; ++j) {
                const float* values = sum + (j - begin) * kPack + i * L;
                const Index at = (line + j) * L;
                const float omega = a.target && a.weights ? a.weights[line + j] : 1.0f;
                for (int lane = 0; lane < L; ++lane) {
                    const float value = values[lane] * a.tables.scale;
                    a.images[at + lane] = value;
                    if (!a.target)
                        continue;
                    const float difference = value - a.target[at + lane];
                    const double square =
                        static_cast<double>(difference) * static_cast<double>(difference);
                    a.residual[at + lane] = omega * difference;
                    squared[lane] += square;
                    weighted[lane] += static_cast<double>(omega) * square;
                }
            }
        }
        for (int lane = 0; lane < L; ++lane) {
            sums[lane] = squared[lane];
            sums[L + lane] = weighted[lane];
        }
    }
};

template <int L>
void runForward(Stream& stream, const ForwardArguments<float>& a)
{
    const TableView<float>& t = a.tables;
    const Index w = t.resolution;
    const Index subsetRows = (w + a.rows.count - 1) / a.rows.count, perBundle = kPack / L;
    const Index bundles = (subsetRows + perBundle - 1) / perBundle,
                blocks = (w + kBlockPixels - 1) / kBlockPixels;
    const Index tasks = t.states * bundles * blocks;
    if (a.target && a.rows.count > 1)
        stream.fillBytes(a.residual, 0,
                         static_cast<std::size_t>(t.states * w * w * L) * sizeof(float));
    auto* partial = static_cast<double*>(
        stream.scratch(static_cast<std::size_t>(tasks * 2 * L) * sizeof(double)));
    const Index grain = taskGrain(a.tileRays, kPack / L * kBlockPixels *
                                                  static_cast<Index>(t.samples) * a.planeCount);
    if (t.hasAperture)
        forEach(stream, tasks, ForwardTask<L, true>{a, partial, bundles, blocks}, grain);
    else
        forEach(stream, tasks, ForwardTask<L, false>{a, partial, bundles, blocks}, grain);
    if (!a.target)
        return;
    std::fill(a.sums, a.sums + 2 * L, 0.0);
    for (Index task = 0; task < tasks; ++task) {
        for (int i = 0; i < 2 * L; ++i)
            a.sums[i] += partial[task * 2 * L + i];
    }
}

} // namespace

} // namespace vergence::light_field
