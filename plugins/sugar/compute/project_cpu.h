#pragma once

// The CPU driver of the projection, included by project_kernels.cpp.

#include <bit>

#include "core/compute/launch.h"
#include "plugins/sugar/compute/gaussian_lanes.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

using namespace lanes;

/// One task projects kBlock Gaussians, a vector at a time.
template <int Degree>
struct ProjectBlock {
    ProjectArguments a;

    void operator()(Index block) const
    {
        const Index end = std::min(a.last, a.first + (block + 1) * kBlock);
        for (Index i = a.first + block * kBlock; i < end; i += kLanes)
            projectLanes(Rows(i, end));
    }

private:
    struct Boxes {
        alignas(64) std::int32_t x0[kLanes], x1[kLanes], y0[kLanes], y1[kLanes];

        TileBox at(int i) const
        {
            return {static_cast<std::uint16_t>(x0[i]), static_cast<std::uint16_t>(x1[i]),
                    static_cast<std::uint16_t>(y0[i]), static_cast<std::uint16_t>(y1[i])};
        }
    };

    /// Tiles [low, high) that centre ± extent touches, of [first, last).
    static void tileRange(Vector centre, Vector extent, int first, int last, std::int32_t* low,
                          std::int32_t* high)
    {
        const Vector least = all(static_cast<float>(first)), most = all(static_cast<float>(last));
        const Vector from = floorOf((centre - extent) * (1.0F / kTile));
        const Vector to = -floorOf(-(centre + extent) * (1.0F / kTile));
        const auto clamped = [&](Vector x) {
            x = select(x > least, x, least);
            return select(x < most, x, most);
        };
        store(low, __builtin_convertvector(clamped(from), Whole));
        store(high, __builtin_convertvector(clamped(to), Whole));
    }

    /// Half the side of the square of 3D Gaussian Splatting (2023), px.
    static Vector threeSigma(const Projection<Vector>& p)
    {
        const Vector mean = 0.5F * (p.a + p.c), gap = mean * mean - p.determinant;
        const Vector largest = mean + squareRoot(select(gap > 0.1F, gap, all(0.1F)));
        return -floorOf(-3.0F * squareRoot(largest));
    }

    static Vector floorOf(Vector x)
    {
        // Beyond 2²² there is no tile; the shift rounds to the nearest whole number.
        const Vector bounded =
            select(absolute(x) < 4e6F, x, select(x > 0.0F, all(4e6F), all(-4e6F)));
        const Vector nearest = (bounded + fast::kRoundingShift) - fast::kRoundingShift;
        return select(nearest > bounded, nearest - 1.0F, nearest);
    }

    void projectLanes(const Rows& rows) const
    {
        const RasterView& view = a.view;
        const RawGaussian<Vector> raw = loadGaussians(view, rows);
        const Projection<Vector> p = project<Vector>(view.camera, view.blur, raw);
        const float huge = 3e38F;
        Whole isVisible = (p.depth > view.camera.near) & (p.depth < view.camera.far) &
                          (p.determinant > 0.0F) & (p.determinant < huge) & (p.inverseNorm < huge) &
                          (absolute(p.u) < huge) & (absolute(p.v) < huge) &
                          (p.opacity >= kAlphaCut);
        const Vector level = logarithm(p.opacity) * 1.44269504F;
        const Vector tau2 = (level - kLevelCut) * (2 * 0.693147181F);
        Vector rx = squareRoot(tau2 * p.a), ry = squareRoot(tau2 * p.c);
        if (view.threeSigma) {
            const Vector most = threeSigma(p);
            rx = select(rx < most, rx, most);
            ry = select(ry < most, ry, most);
        }
        isVisible &= (p.u + rx > 0.0F) & (p.v + ry > 0.0F) &
                     (p.u - rx < static_cast<float>(view.camera.width)) &
                     (p.v - ry < static_cast<float>(view.camera.height));
        Boxes boxes;
        tileRange(p.u, rx, 0, view.tilesX, boxes.x0, boxes.x1);
        tileRange(p.v, ry, view.firstRow, view.lastRow, boxes.y0, boxes.y1);
        Vector field[16];
        formSplats(rows, raw, p, level, field);
        alignas(64) std::uint64_t masks[kLanes] = {};
        alignas(64) std::int32_t flags[kLanes];
        store(flags, isVisible);
        markTiles(field, boxes, flags, masks);
        alignas(64) Splat splats[kLanes];
        for (int group = 0; group < 16; group += kLanes) {
            transpose(field + group);
            for (int i = 0; i < kLanes; ++i)
                store(reinterpret_cast<float*>(splats + i) + group, field[group + i]);
        }
        for (int i = 0; i < rows.used; ++i)
            writeRow(rows.first + i, flags[i] != 0, splats[i], boxes.at(i), masks[i]);
    }

    /// Tiles of boxes of at most kMaskSide × kMaskSide, a row of tiles of all lanes at a time.
    static void markTiles(const Vector* field, const Boxes& boxes, const std::int32_t* isVisible,
                          std::uint64_t* masks)
    {
        int rows = 0; // of boxes that are neither narrow nor large
        for (int i = 0; i < kLanes; ++i) {
            const int width = boxes.x1[i] - boxes.x0[i], height = boxes.y1[i] - boxes.y0[i];
            if (!isVisible[i] || width > kMaskSide || height > kMaskSide)
                continue;
            if (width == 1) {
                for (int row = 0; row < height; ++row)
                    masks[i] |= 1ULL << (kMaskSide * row);
            } else {
                rows = std::max(rows, height);
            }
        }
        for (int row = 0; row < rows; ++row) {
            const Vector top = __builtin_convertvector((load(boxes.y0) + row) * kTile, Vector);
            const EllipseBand<Vector> band = ellipseBand<Vector>(
                field[0], field[1], field[5], field[13], field[14], field[15], top);
            alignas(64) std::int32_t first[kLanes], last[kLanes];
            store(first, columnOf(-floorOf((kTile - 0.5F - band.low) / float(kTile))));
            store(last, columnOf(floorOf((band.high - 0.5F) / float(kTile)) + 1.0F));
            for (int i = 0; i < kLanes; ++i)
                markRow(boxes, i, row, first[i], last[i], isVisible[i] != 0, masks[i]);
        }
    }

    static void markRow(const Boxes& boxes, int i, int row, int first, int last, bool isVisible,
                        std::uint64_t& mask)
    {
        const int width = boxes.x1[i] - boxes.x0[i], height = boxes.y1[i] - boxes.y0[i];
        if (!isVisible || width < 2 || width > kMaskSide || height > kMaskSide || row >= height)
            return;
        first = std::max(first, boxes.x0[i]) - boxes.x0[i];
        last = std::min(last, boxes.x1[i]) - boxes.x0[i];
        if (first < last)
            mask |= ((1ULL << last) - (1ULL << first)) << (kMaskSide * row);
    }

    static Whole columnOf(Vector x) { return __builtin_convertvector(x, Whole); }

    /// The fields of Splat, one vector each.
    void formSplats(const Rows& rows, const RawGaussian<Vector>& raw, const Projection<Vector>& p,
                    Vector level, Vector* field) const
    {
        constexpr float kHalfLog2e = 0.72134752F;
        const Vector inverseC = 1.0F / p.c;
        field[0] = p.u;
        field[1] = p.v;
        field[2] = kHalfLog2e * p.conicA;
        field[3] = 2 * kHalfLog2e * p.conicB;
        field[4] = kHalfLog2e * p.conicC;
        field[5] = level;
        const Direction direction(a.view, raw);
        Vector basis[16];
        shBasis<Degree>(direction.d, basis);
        for (int channel = 0; channel < 3; ++channel) {
            const Vector colour = shChannel<Degree, Vector>(
                basis, [&](int k) { return loadCoefficient(a.view, rows, k, channel); });
            field[6 + channel] = select(colour > 0.0F, colour, Vector{});
        }
        field[9] = p.depth;
        for (int k = 0; k < 3; ++k)
            field[10 + k] = p.normal[k];
        field[13] = -p.b * inverseC;
        field[14] = kHalfLog2e * inverseC;
        field[15] = p.determinant * inverseC * (1 / kHalfLog2e);
    }

    void writeRow(Index i, bool isVisible, const Splat& splat, TileBox box,
                  std::uint64_t mask) const
    {
        const bool isSmall = box.x1 - box.x0 <= kMaskSide && box.y1 - box.y0 <= kMaskSide;
        auto count = static_cast<std::uint32_t>(std::popcount(mask));
        for (int row = box.y0; isVisible && !isSmall && row < box.y1; ++row) {
            const TileSpan span = tileSpan(splat, box, row);
            count += static_cast<std::uint32_t>(span.last - span.first);
        }
        a.boxes[i] = count > 0 ? box : TileBox{};
        a.masks[i] = mask;
        a.counts[i] = count;
        a.visible[i] = count > 0;
        a.keys[i] = count > 0 ? fast::sameBits<std::uint32_t>(splat.depth) : ~0U;
        if (count > 0)
            a.splats[i] = splat;
    }
};

void projectBody(Stream& stream, const ProjectArguments& a)
{
    const Index blocks = (a.last - a.first + kBlock - 1) / kBlock;
    withDegree(a.view.shDegree,
               [&](auto degree) { forEach(stream, blocks, ProjectBlock<degree()>{a}, 8); });
}

} // namespace

} // namespace vergence::sugar
