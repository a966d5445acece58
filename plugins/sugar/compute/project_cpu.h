#pragma once

// The CPU driver of the projection, included by project_kernels.cpp.

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
    };

    /// Tiles [low, high) that centre ± extent touches, of `tiles`.
    static void tileRange(Vector centre, Vector extent, int tiles, std::int32_t* low,
                          std::int32_t* high)
    {
        const Vector limit = all(static_cast<float>(tiles));
        const Vector from = floorOf((centre - extent) * (1.0F / kTile));
        const Vector to = -floorOf(-(centre + extent) * (1.0F / kTile));
        const auto clamped = [&](Vector x) {
            x = select(x > 0.0F, x, Vector{});
            return select(x < limit, x, limit);
        };
        store(low, __builtin_convertvector(clamped(from), Whole));
        store(high, __builtin_convertvector(clamped(to), Whole));
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
        const Vector rx = squareRoot(tau2 * p.a), ry = squareRoot(tau2 * p.c);
        isVisible &= (p.u + rx > 0.0F) & (p.v + ry > 0.0F) &
                     (p.u - rx < static_cast<float>(view.camera.width)) &
                     (p.v - ry < static_cast<float>(view.camera.height));
        Boxes boxes;
        tileRange(p.u, rx, view.tilesX, boxes.x0, boxes.x1);
        tileRange(p.v, ry, view.tilesY, boxes.y0, boxes.y1);
        alignas(64) Splat splats[kLanes];
        writeSplats(rows, raw, p, level, splats);
        alignas(64) std::int32_t flags[kLanes];
        alignas(64) float depth[kLanes];
        store(flags, isVisible);
        store(depth, p.depth);
        for (int i = 0; i < rows.used; ++i)
            writeRow(
                rows.first + i, flags[i] != 0, depth[i], splats[i],
                {static_cast<std::uint16_t>(boxes.x0[i]), static_cast<std::uint16_t>(boxes.x1[i]),
                 static_cast<std::uint16_t>(boxes.y0[i]), static_cast<std::uint16_t>(boxes.y1[i])});
    }

    void writeSplats(const Rows& rows, const RawGaussian<Vector>& raw, const Projection<Vector>& p,
                     Vector level, Splat* splats) const
    {
        constexpr float kHalfLog2e = 0.72134752F;
        const Vector inverseC = 1.0F / p.c;
        Vector field[16];
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
        for (int group = 0; group < 16; group += kLanes) {
            transpose(field + group);
            for (int i = 0; i < kLanes; ++i)
                store(reinterpret_cast<float*>(splats + i) + group, field[group + i]);
        }
    }

    void writeRow(Index i, bool isVisible, float depth, const Splat& splat, TileBox box) const
    {
        std::uint32_t count = 0;
        if (isVisible && box.x1 - box.x0 == 1) {
            count = static_cast<std::uint32_t>(box.y1 - box.y0);
        } else if (isVisible) {
            for (int row = box.y0; row < box.y1; ++row) {
                const TileSpan span = tileSpan(splat, box, row);
                count += static_cast<std::uint32_t>(span.last - span.first);
            }
        }
        if (count == 0)
            box = {};
        a.boxes[i] = box;
        a.counts[i] = count;
        a.visible[i] = count > 0;
        a.keys[i] = count > 0 ? fast::sameBits<std::uint32_t>(depth) : ~0U;
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
