#pragma once

// The CPU driver of the backward pass per Gaussian, included by update_kernels.cpp. One task takes
// kBlock neighbouring Gaussians: their gradients are formed in the cache, a vector of Gaussians at
// a time, and then handed to an epilogue as rows, as they lie in memory: one stores them, the other
// runs Adam.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/gaussian_lanes.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

using namespace lanes;

/// Gradients of a block, rows as in GaussianArrays.
struct BlockGradients {
    alignas(64) float position[kBlock * 3];
    alignas(64) float logScale[kBlock * 3];
    alignas(64) float rotation[kBlock * 4];
    alignas(64) float opacity[kBlock];
    alignas(64) float shDc[kBlock * 3];
    alignas(64) float shRest[kBlock * 45];
};

/// Writes lane i of `value` to row i of a column, and 0 where `mask` is not set.
VERGENCE_HD void writeColumn(Vector value, Whole mask, float* rows, int width)
{
    alignas(64) float lane[kLanes];
    store(lane, (Vector)((Whole)value & mask));
    for (int i = 0; i < kLanes; ++i)
        rows[i * width] = lane[i];
}

/// Gradients of kLanes Gaussians from the records of their tiles.
template <int Degree>
struct LanesBackward {
    const GaussianBackwardArguments& a;

    /// `at` is the first row in the block; returns without writing where no lane is visible.
    VERGENCE_HD void run(const Rows& rows, BlockGradients& out, Index at) const
    {
        Vector sums[16];
        const Whole isVisible = sumRecords(rows, sums);
        const RawGaussian<Vector> raw = loadGaussians(a.view, rows);
        const Projection<Vector> p = project<Vector>(a.view.camera, a.view.blur, raw);
        SplatGradient<Vector> g;
        g.u = p.conicA * sums[1] + p.conicB * sums[2];
        g.v = p.conicB * sums[1] + p.conicC * sums[2];
        g.conicA = 0.5F * sums[3];
        g.conicB = sums[4];
        g.conicC = 0.5F * sums[5];
        g.opacity = -sums[0] / p.opacity;
        g.depth = sums[9];
        for (int k = 0; k < 3; ++k)
            g.normal[k] = sums[10 + k];
        RawGradient<Vector> grad;
        projectBackward(a.view.camera, raw, p, g, grad);
        colourBackward(rows, raw, sums + 6, isVisible, grad.position, out, at);
        for (int k = 0; k < 3; ++k) {
            writeColumn(grad.position[k], isVisible, out.position + 3 * at + k, 3);
            writeColumn(grad.logScale[k], isVisible, out.logScale + 3 * at + k, 3);
        }
        for (int k = 0; k < 4; ++k)
            writeColumn(grad.rotation[k], isVisible, out.rotation + 4 * at + k, 4);
        writeColumn(grad.opacity, isVisible, out.opacity + at, 1);
        if (a.statistics.gradient)
            addStatistics(rows, isVisible, p, g, sums);
    }

private:
    /// Sums of the records of each Gaussian, in the order of its tiles; which lanes are visible.
    VERGENCE_HD Whole sumRecords(const Rows& rows, Vector* sums) const
    {
        alignas(64) float total[kLanes][16] = {};
        Whole isVisible{};
        for (int i = 0; i < rows.used; ++i) {
            const Index gaussian = rows.first + i;
            const std::uint32_t count = a.counts[gaussian];
            const auto* from = reinterpret_cast<const float*>(
                a.records + (a.slots ? a.slots[gaussian] : static_cast<std::uint32_t>(gaussian)));
            isVisible[i] = count > 0 ? -1 : 0;
            for (std::uint32_t k = 0; k < count; ++k, from += 16) {
                for (int j = 0; j < 16; j += kLanes)
                    store(total[i] + j, load(total[i] + j) + load(from + j));
            }
        }
        for (int group = 0; group < 16; group += kLanes) {
            for (int i = 0; i < kLanes; ++i)
                sums[group + i] = load(total[i] + group);
            transpose(sums + group);
        }
        return isVisible;
    }

    VERGENCE_HD void colourBackward(const Rows& rows, const RawGaussian<Vector>& raw,
                                    const Vector* gradColour, Whole isVisible, Vector* gradPosition,
                                    BlockGradients& out, Index at) const
    {
        const Direction direction(a.view, raw);
        Vector basis[16], weights[16] = {};
        shBasis<Degree>(direction.d, basis);
        const int width = 3 * a.view.restCount;
        for (int channel = 0; channel < 3; ++channel) {
            Vector h[16];
            const Vector colour = shChannel<Degree, Vector>(
                basis, [&](int k) { return h[k] = loadCoefficient(a.view, rows, k, channel); });
            const Vector g = select(colour >= 0.0F, gradColour[channel], Vector{});
            writeColumn(g * basis[0], isVisible, out.shDc + 3 * at + channel, 3);
            for (int k = 1; k < shCoefficients(Degree); ++k) {
                weights[k] = multiplyAdd(g, h[k], weights[k]);
                writeColumn(g * basis[k], isVisible,
                            out.shRest + width * at + 3 * (k - 1) + channel, width);
            }
        }
        if constexpr (Degree > 0) {
            Vector gradD[3];
            shBasisBackward<Degree>(direction.d, weights, gradD);
            const Vector along = dot3(gradD, direction.d);
            for (int k = 0; k < 3; ++k)
                gradPosition[k] += (gradD[k] - along * direction.d[k]) * direction.inverseDistance;
        }
    }

    VERGENCE_HD void addStatistics(const Rows& rows, Whole isVisible, const Projection<Vector>& p,
                                   const SplatGradient<Vector>& g, const Vector* sums) const
    {
        const float halfWidth = 0.5F * static_cast<float>(a.view.camera.width),
                    halfHeight = 0.5F * static_cast<float>(a.view.camera.height);
        const auto length = [&](Vector u, Vector v) {
            u *= halfWidth;
            v *= halfHeight;
            return squareRoot(u * u + v * v);
        };
        const Vector level = logarithm(p.opacity) * 1.44269504F;
        const Vector larger = select(p.a > p.c, p.a, p.c);
        const Vector radius = squareRoot((level - kLevelCut) * (2 * 0.693147181F) * larger);
        alignas(64) float plain[kLanes], absolute[kLanes], extent[kLanes];
        store(plain, length(g.u, g.v));
        store(absolute, length(sums[13], sums[14]));
        store(extent, radius);
        for (int i = 0; i < rows.used; ++i) {
            const Index to = rows.first + i;
            if (!isVisible[i])
                continue;
            a.statistics.gradient[to] += plain[i];
            if (a.statistics.absolute)
                a.statistics.absolute[to] += absolute[i];
            a.statistics.visible[to] += 1;
            a.statistics.radius[to] = std::max(a.statistics.radius[to], extent[i]);
        }
    }
};

/// Rows of a group: `width` numbers each, of which the first `used` take part.
struct Group {
    int width, used;
};

/// The groups of GaussianArrays, with how much of the harmonics is in use.
struct Groups {
    Group group[6];
    int count;

    explicit Groups(const RasterView& view)
        : group{{3, 3}, {3, 3}, {4, 4},
                {1, 1}, {3, 3}, {3 * view.restCount, 3 * (shCoefficients(view.shDegree) - 1)}},
          count(view.restCount > 0 ? 6 : 5)
    {
    }
};

template <class T>
VERGENCE_HD T* pointerOf(const GaussianPointers<T>& arrays, int group)
{
    T* const all[] = {arrays.position, arrays.logScale, arrays.rotation,
                      arrays.opacity,  arrays.shDc,     arrays.shRest};
    return all[group];
}

VERGENCE_HD float* pointerOf(BlockGradients& block, int group)
{
    float* const all[] = {block.position, block.logScale, block.rotation,
                          block.opacity,  block.shDc,     block.shRest};
    return all[group];
}

/// Epilogue: writes the gradients.
struct StoreGradients {
    void operator()(const GaussianBackwardArguments& a, const Groups& groups, Index first,
                    Index rows, BlockGradients& block) const
    {
        for (int k = 0; k < groups.count; ++k) {
            const int width = groups.group[k].width;
            if (!pointerOf(a.gradients, k))
                continue;
            std::memcpy(pointerOf(a.gradients, k) + first * width, pointerOf(block, k),
                        static_cast<std::size_t>(rows * width) * sizeof(float));
        }
    }
};

/// Epilogue: adds the gradients of regularisers and runs Adam on rows whose gradient is finite.
struct UpdateGaussians {
    void operator()(const GaussianBackwardArguments& a, const Groups& groups, Index first,
                    Index rows, BlockGradients& block) const
    {
        if (a.extra.position)
            addExtra(a, groups, first, rows, block);
        bool isUpdated[kBlock];
        Index skipped = 0;
        for (Index row = 0; row < rows; ++row) {
            const bool isFinite = finiteRow(groups, block, row);
            skipped += isFinite ? 0 : 1;
            isUpdated[row] = isFinite && (!a.sparse || a.counts[first + row] > 0 ||
                                          (a.keepsExtra && hasExtra(a, groups, first + row)));
        }
        a.skipped[first / kBlock] = skipped;
        for (Index row = 0; row < rows;) {
            Index end = row;
            while (end < rows && isUpdated[end])
                ++end;
            if (end > row)
                updateRows(a, groups, first, row, end, block);
            row = end + 1;
        }
    }

private:
    static void addExtra(const GaussianBackwardArguments& a, const Groups& groups, Index first,
                         Index rows, BlockGradients& block)
    {
        for (int k = 0; k < groups.count; ++k) {
            const Index width = groups.group[k].width;
            if (!pointerOf(a.extra, k))
                continue;
            const float* from = pointerOf(a.extra, k) + first * width;
            float* to = pointerOf(block, k);
            for (Index i = 0; i < rows * width; ++i)
                to[i] += from[i];
        }
    }

    static bool hasExtra(const GaussianBackwardArguments& a, const Groups& groups, Index row)
    {
        bool any = false;
        for (int k = 0; a.extra.position && k < groups.count; ++k) {
            const Index width = groups.group[k].width;
            const float* from = pointerOf(a.extra, k);
            for (Index i = 0; from && i < width; ++i)
                any = any || from[row * width + i] != 0;
        }
        return any;
    }

    static bool finiteRow(const Groups& groups, BlockGradients& block, Index row)
    {
        float poison = 0; // becomes NaN where an entry is not finite
        for (int k = 0; k < groups.count; ++k) {
            const float* from = pointerOf(block, k) + row * groups.group[k].width;
            for (int i = 0; i < groups.group[k].used; ++i)
                poison += from[i] * 0.0F;
        }
        return poison == 0;
    }

    /// Rows [row, end) of the block: a run of memory, but for harmonics that are not in use.
    static void updateRows(const GaussianBackwardArguments& a, const Groups& groups, Index first,
                           Index row, Index end, BlockGradients& block)
    {
        for (int k = 0; k < groups.count; ++k) {
            const Group group = groups.group[k];
            const bool isWhole = group.used == group.width;
            const Index runs = isWhole ? 1 : end - row;
            const Index length = isWhole ? (end - row) * group.width : group.used;
            withMoments(a.compactMoments, k, pointerOf(a.moment1, k), pointerOf(a.moment2, k),
                        [&](auto* moment1, auto* moment2) {
                            for (Index run = 0; run < runs; ++run)
                                updateRun(a, k, (first + row + run) * group.width,
                                          pointerOf(block, k) + (row + run) * group.width, length,
                                          moment1, moment2);
                        });
        }
        const Index to = first + row;
        clampRun(a.values.logScale + 3 * to, 3 * (end - row), adamRange(a.adam, kLogScale));
        clampRun(a.values.opacity + to, end - row, adamRange(a.adam, kOpacity));
    }

    /// `length` numbers of the group's arrays from place `from` on.
    template <class First, class Second>
    static void updateRun(const GaussianBackwardArguments& a, int group, Index from,
                          const float* gradient, Index length, First* moment1, Second* moment2)
    {
        const AdamFactors<float>& adam = a.adam;
        const float rate = adam.stepSize[static_cast<std::size_t>(group)];
        float* values = pointerOf(a.values, group) + from;
        First* first = moment1 + from;
        Second* second = moment2 + from;
        Index i = 0;
        for (; i + kLanes <= length; i += kLanes) {
            Vector m = loadMoment1<Vector>(first + i), v = loadMoment2<Vector>(second + i),
                   value = load(values + i);
            adamElement(adam, rate, load(gradient + i), m, v, value);
            storeMoment1(first + i, m);
            storeMoment2(second + i, v, roundingOf(adam, group, from + i));
            store(values + i, value);
        }
        for (; i < length; ++i) {
            float m = loadMoment1<float>(first + i), v = loadMoment2<float>(second + i);
            adamElement(adam, rate, gradient[i], m, v, values[i]);
            storeMoment1(first + i, m);
            storeMoment2(second + i, v, roundingOf(adam, group, from + i));
        }
    }

    static void clampRun(float* values, Index length, const AdamRange<float>& range)
    {
        for (Index i = 0; i < length; ++i)
            values[i] = clampedTo(range, values[i]);
    }
};

template <int Degree, class Epilogue>
struct BackwardBlock {
    GaussianBackwardArguments a;
    Groups groups;

    void operator()(Index block) const
    {
        const Index first = a.first + block * kBlock, end = std::min(a.last, first + kBlock);
        BlockGradients gradients;
        for (int k = 0; k < groups.count; ++k)
            std::memset(pointerOf(gradients, k), 0,
                        static_cast<std::size_t>((end - first) * groups.group[k].width) *
                            sizeof(float));
        for (Index i = first; i < end; i += kLanes) {
            const Rows rows(i, end);
            if (anyVisible(rows))
                LanesBackward<Degree>{a}.run(rows, gradients, i - first);
        }
        Epilogue{}(a, groups, first, end - first, gradients);
    }

private:
    bool anyVisible(const Rows& rows) const
    {
        std::uint32_t any = 0;
        for (int i = 0; i < rows.used; ++i)
            any |= a.counts[rows.first + i];
        return any != 0;
    }
};

template <class Epilogue>
void runGaussianBackward(Stream& stream, const GaussianBackwardArguments& a)
{
    const Index blocks = (a.last - a.first + kBlock - 1) / kBlock;
    withDegree(a.view.shDegree, [&](auto degree) {
        forEach(stream, blocks, BackwardBlock<degree(), Epilogue>{a, Groups(a.view)}, 4);
    });
}

void gaussianBackwardBody(Stream& stream, const GaussianBackwardArguments& a)
{
    runGaussianBackward<StoreGradients>(stream, a);
}

void gaussianUpdateBody(Stream& stream, const GaussianBackwardArguments& a)
{
    runGaussianBackward<UpdateGaussians>(stream, a);
}

} // namespace

} // namespace vergence::sugar
