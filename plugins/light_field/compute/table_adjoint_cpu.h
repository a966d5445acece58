#pragma once

// The CPU driver of the separable operator's transposed product, included by table_tiles.cpp.

#include <algorithm>

#include "plugins/light_field/compute/table_bundle_cpu.h"

namespace vergence::light_field {

namespace {

/// Turns the residual of one bundle: out is [W, 16], scaled, 0 for rows that are none.
template <int L>
struct BundleResidual {
    AdjointArguments<float> a;
    Index bundles;

    void operator()(Index item) const
    {
        const Index w = a.tables.resolution;
        const int state = static_cast<int>(item / bundles);
        const Bundle<L> bundle(a.rows, state, item % bundles, a.tables.resolution);
        float* out = a.bundled + item * w * kPack;
        for (int i = 0; i < Bundle<L>::kRows; ++i) {
            const float* from = a.residual + (state * w + bundle.row[i]) * w * L;
            const float scale = bundle.isMember[i] ? a.tables.scale : 0.0f;
            for (Index j = 0; j < w; ++j) {
                for (int lane = 0; lane < L; ++lane)
                    out[j * kPack + i * L + lane] = from[j * L + lane] * scale;
            }
        }
    }
};

/// One strip of texel columns of one plane: all rays that touch it, then the update of its texels.
template <int L, bool Aperture>
struct AdjointTask {
    AdjointArguments<float> a;
    SlotPool* pool;
    TexelSums* partial;
    Index bundles, strips;

    void operator()(Index task) const
    {
        const TableView<float>& t = a.tables;
        const int plane = static_cast<int>(task / strips), strip = static_cast<int>(task % strips);
        const int slot = pool->take();
        const Index stripSize = static_cast<Index>(t.panel) * kStripTexels * L;
        float* gradient = a.slots + slot * stripSize;
        std::memset(gradient, 0, static_cast<std::size_t>(stripSize) * sizeof(float));
        alignas(64) float weighted[4096 * kPack]; // the residual times the gains
        for (int state = 0; state < t.states; ++state) {
            for (Index b = 0; b < bundles; ++b) {
                const Bundle<L> bundle(a.rows, state, b, t.resolution);
                const float* residual = a.bundled + (state * bundles + b) * t.resolution * kPack;
                if (t.gain) {
                    weigh(state, plane, bundle, residual, strip, weighted);
                    residual = weighted;
                }
                for (int m = 0; m < t.samples; ++m)
                    addSample(t.at(state, plane, m), bundle, residual, strip, gradient);
            }
        }
        const int q = strip * kStripTexels, width = std::min(kStripTexels, t.panel - q);
        TexelSums sums{};
        for (Index r = 0; r < t.panel; ++r) {
            simd::updateRun<L>(a.update, (static_cast<Index>(plane) * t.panel + r) * t.panel + q,
                               width, gradient + r * kStripTexels * L, sums);
        }
        partial[task] = sums;
        pool->give(slot);
    }

private:
    /// The residual times the gains of a plane, for the pixel columns that touch the strip.
    void weigh(int state, int plane, const Bundle<L>& bundle, const float* residual, int strip,
               float* weighted) const
    {
        const TableView<float>& t = a.tables;
        int low = t.resolution, high = -1;
        for (int m = 0; m < t.samples; ++m) {
            const int* start =
                a.strips.start + t.at(state, plane, m) / t.resolution * (strips + 1) + strip;
            if (start[0] == start[1])
                continue;
            low = std::min(low, a.strips.entries[start[0]].pixel);
            high = std::max(high, a.strips.entries[start[1] - 1].pixel);
        }
        for (int i = 0; i < Bundle<L>::kRows; ++i) {
            for (int j = low; j <= high; ++j) {
                const float gain = t.gainAt(state, plane, bundle.row[i], j);
                const Index at = static_cast<Index>(j) * kPack + i * L;
                for (int lane = 0; lane < L; ++lane)
                    weighted[at + lane] = gain * residual[at + lane];
            }
        }
    }

    void addSample(Index base, const Bundle<L>& bundle, const float* residual, int strip,
                   float* gradient) const
    {
        const TableView<float>& t = a.tables;
        const int* start = a.strips.start + base / t.resolution * (strips + 1) + strip;
        if (start[0] == start[1])
            return;
        const BundleRows<L> rows(t, base, bundle);
        if (rows.isEmpty)
            return;
        alignas(64) float texels[(kStripTexels + 2) * kPack] = {};
        for (int n = start[0]; n < start[1]; ++n) {
            const StripEntry entry = a.strips.entries[n];
            float* to = texels + (entry.texel + 1) * kPack;
            for (int part = 0; part < kParts; ++part) {
                const Native e = masked<Aperture>(
                    t, rows, part, simd::load(residual + entry.pixel * kPack + part * kNative),
                    entry.lenslet2, entry.aperture2);
                float* left = to + part * kNative;
                simd::store(left, simd::load(left) + (1 - entry.alpha) * e);
                simd::store(left + kPack, simd::load(left + kPack) + entry.alpha * e);
            }
        }
        spreadRows(rows, texels + kPack, gradient);
    }

    /// Turns the columns back into rows and adds each to the two texel rows it touches.
    static void spreadRows(const BundleRows<L>& rows, const float* texels, float* gradient)
    {
        constexpr int kSide = simd::kSide<L>;
        constexpr int kSlices = L > kNative ? L / kNative : 1;
        for (int group = 0; group < BundleRows<L>::kRows; group += kSide) {
            for (int q = 0; q < kStripTexels; q += kSide) {
                for (int slice = 0; slice < kSlices; ++slice) {
                    Native turned[kSide];
                    for (int i = 0; i < kSide; ++i)
                        turned[i] =
                            simd::load(texels + (q + i) * kPack + group * L + slice * kNative);
                    simd::transpose<L>(turned);
                    for (int i = 0; i < kSide; ++i) {
                        const float beta = rows.beta[group + i];
                        float* upper =
                            gradient +
                            (static_cast<Index>(rows.first[group + i]) * kStripTexels + q) * L +
                            slice * kNative;
                        float* lower = upper + kStripTexels * L;
                        simd::store(upper, simd::load(upper) + (1 - beta) * turned[i]);
                        simd::store(lower, simd::load(lower) + beta * turned[i]);
                    }
                }
            }
        }
    }
};

template <int L>
void runAdjoint(Stream& stream, const AdjointArguments<float>& a)
{
    const TableView<float>& t = a.tables;
    const Index subsetRows = (t.resolution + a.rows.count - 1) / a.rows.count,
                perBundle = kPack / L;
    const Index bundles = (subsetRows + perBundle - 1) / perBundle;
    const Index strips = (t.panel + kStripTexels - 1) / kStripTexels, tasks = t.planes * strips;
    forEach(stream, t.states * bundles, BundleResidual<L>{a, bundles}, 4);
    auto* partial = static_cast<TexelSums*>(
        stream.scratch(static_cast<std::size_t>(tasks) * sizeof(TexelSums)));
    SlotPool pool(a.slotCount);
    const Index raysPerTask =
        t.states * static_cast<Index>(t.samples) * t.resolution * t.resolution / strips;
    const Index grain = taskGrain(a.tileRays, raysPerTask);
    if (t.hasAperture)
        forEach(stream, tasks, AdjointTask<L, true>{a, &pool, partial, bundles, strips}, grain);
    else
        forEach(stream, tasks, AdjointTask<L, false>{a, &pool, partial, bundles, strips}, grain);
    *a.sums = TexelSums{};
    for (Index task = 0; task < tasks; ++task)
        a.sums->add(partial[task]);
}

} // namespace

} // namespace vergence::light_field
