#pragma once

// The CPU drivers of the separable operator, included by table_tiles.cpp. Sixteen values travel
// together: 16 / L image rows of L lanes. For one sample of one plane the texel rows that 16 / L
// image rows look at are blended once and turned so that those sixteen values lie side by side;
// then a pixel column is two loads, a blend, a mask and an addition, and nothing is gathered.

#include <algorithm>

#include "core/compute/launch.h"
#include "plugins/light_field/compute/slot_pool.h"
#include "plugins/light_field/compute/table_math.h"
#include "plugins/light_field/compute/update_run.h"

namespace vergence::light_field {

namespace {

using simd::kNative;
using simd::kPack;
using simd::kParts;
using simd::Native;

/// The image rows of a bundle: 16 / L rows of one state, every `rows.count`-th one.
template <int L>
struct Bundle {
    static constexpr int kRows = kPack / L;
    int row[kRows];
    bool isMember[kRows];

    VERGENCE_HD Bundle(const RowSubset& rows, int state, Index bundle, int resolution)
    {
        const int offset = ((rows.index - state) % rows.count + rows.count) % rows.count;
        for (int i = 0; i < kRows; ++i) {
            const int wanted = offset + rows.count * (static_cast<int>(bundle) * kRows + i);
            isMember[i] = wanted < resolution;
            row[i] = isMember[i] ? wanted : 0;
        }
    }
};

/// The row tables of a bundle for one sample, spread over the sixteen values.
template <int L>
struct BundleRows {
    static constexpr int kRows = kPack / L;
    int first[kRows];
    float beta[kRows];
    alignas(64) float lenslet2[kPack];
    alignas(64) float aperture2[kPack];
    bool isEmpty = true;

    VERGENCE_HD BundleRows(const TableView<float>& t, Index base, const Bundle<L>& bundle)
    {
        for (int i = 0; i < kRows; ++i) {
            const Index at = base + bundle.row[i];
            const float distance2 = bundle.isMember[i] ? t.y.lenslet2[at] : HUGE_VALF;
            first[i] = t.y.first[at];
            beta[i] = t.y.alpha[at];
            isEmpty = isEmpty && !(distance2 <= t.lensletLimit2);
            for (int lane = 0; lane < L; ++lane) {
                lenslet2[i * L + lane] = distance2;
                aperture2[i * L + lane] = t.y.aperture2[at];
            }
        }
    }
};

/// Whether a pixel column passes, for part of the sixteen values.
template <bool Aperture, int L>
VERGENCE_HD Native masked(const TableView<float>& t, const BundleRows<L>& rows, int part,
                          const Native& value, float lenslet2, float aperture2)
{
    const Native distance = simd::load(rows.lenslet2 + part * kNative) + lenslet2;
    Native kept = simd::keepWithin(value, distance, simd::spread(t.lensletLimit2));
    if constexpr (Aperture) {
        const Native atLens = simd::load(rows.aperture2 + part * kNative) + aperture2;
        kept = simd::keepWithin(kept, atLens, simd::spread(t.apertureLimit2));
    }
    return kept;
}

/// Blends the texel rows of a bundle for texels low … high and turns them: out is [high − low + …,
/// 16].
template <int L>
VERGENCE_HD void blendRows(const float* plane, int panel, const BundleRows<L>& rows, int low,
                           int high, float* out)
{
    constexpr int kSide = simd::kSide<L>;
    constexpr int kSlices = L > kNative ? L / kNative : 1;
    for (int start = low; start <= high; start += kSide) {
        const int q = std::min(start, panel - kSide);
        for (int group = 0; group < BundleRows<L>::kRows; group += kSide) {
            for (int slice = 0; slice < kSlices; ++slice) {
                Native turned[kSide];
                for (int i = 0; i < kSide; ++i) {
                    const float* upper =
                        plane + (static_cast<Index>(rows.first[group + i]) * panel + q) * L +
                        slice * kNative;
                    const float beta = rows.beta[group + i];
                    turned[i] = (1 - beta) * simd::load(upper) +
                                beta * simd::load(upper + static_cast<Index>(panel) * L);
                }
                simd::transpose<L>(turned);
                for (int i = 0; i < kSide; ++i)
                    simd::store(out + (q - low + i) * kPack + group * L + slice * kNative,
                                turned[i]);
            }
        }
    }
}

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

Index taskGrain(int tileRays, Index raysPerTask)
{
    return std::max<Index>(1, tileRays / std::max<Index>(1, raysPerTask));
}

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
