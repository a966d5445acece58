#pragma once

// The CUDA driver of projection and of the backward pass per Gaussian: one thread per Gaussian,
// same formulas as the CPU driver.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/sh_math.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

__device__ inline RawGaussian<float> loadGaussian(const RasterView& view, Index i)
{
    RawGaussian<float> raw;
    for (int k = 0; k < 3; ++k) {
        raw.position[k] = view.values.position[3 * i + k];
        raw.logScale[k] = view.values.logScale[3 * i + k];
    }
    for (int k = 0; k < 4; ++k)
        raw.rotation[k] = view.values.rotation[4 * i + k];
    raw.opacity = view.values.opacity[i];
    raw.filter = view.filter ? view.filter[i] : 0.0F;
    return raw;
}

__device__ inline float coefficientOf(const RasterView& view, Index i, int k, int channel)
{
    return k == 0 ? view.values.shDc[3 * i + channel]
                  : view.values.shRest[3 * (i * view.restCount + k - 1) + channel];
}

/// Unit direction from the camera; returns 1 / distance.
__device__ inline float directionOf(const RasterView& view, const RawGaussian<float>& raw, float* d)
{
    for (int k = 0; k < 3; ++k)
        d[k] = raw.position[k] - view.camera.centre[k];
    const float inverse = 1.0F / sqrtf(dot3(d, d));
    for (int k = 0; k < 3; ++k)
        d[k] *= inverse;
    return inverse;
}

template <int Degree>
struct ProjectOne {
    ProjectArguments a;

    __device__ void operator()(Index at) const
    {
        const Index i = a.first + at;
        const RasterView& view = a.view;
        const RawGaussian<float> raw = loadGaussian(view, i);
        const Projection<float> p = project<float>(view.camera, view.blur, raw);
        const bool isSound = p.depth > view.camera.near && p.depth < view.camera.far &&
                             p.determinant > 0 && isfinite(p.determinant) &&
                             isfinite(p.inverseNorm) && isfinite(p.u) && isfinite(p.v) &&
                             p.opacity >= kAlphaCut;
        const float level = isSound ? log2f(p.opacity) : kLevelCut;
        const float tau2 = (level - kLevelCut) * (2 * 0.693147181F);
        float rx = sqrtf(tau2 * p.a), ry = sqrtf(tau2 * p.c);
        if (view.threeSigma) { // as threeSigma() of the CPU
            const float mean = 0.5F * (p.a + p.c);
            const float most =
                ceilf(3 * sqrtf(mean + sqrtf(fmaxf(0.1F, mean * mean - p.determinant))));
            rx = fminf(rx, most);
            ry = fminf(ry, most);
        }
        TileBox box{};
        if (isSound && p.u + rx > 0 && p.v + ry > 0 && p.u - rx < float(view.camera.width) &&
            p.v - ry < float(view.camera.height))
            box = {tileOf(floorf((p.u - rx) / kTile), 0, view.tilesX),
                   tileOf(ceilf((p.u + rx) / kTile), 0, view.tilesX),
                   tileOf(floorf((p.v - ry) / kTile), view.firstRow, view.lastRow),
                   tileOf(ceilf((p.v + ry) / kTile), view.firstRow, view.lastRow)};
        Splat splat{};
        if (box.x1 > box.x0)
            splat = splatOf(i, raw, p, level);
        unsigned count = 0;
        for (int row = box.y0; row < box.y1; ++row) {
            const TileSpan span = tileSpan(splat, box, row);
            count += static_cast<unsigned>(span.last - span.first);
        }
        a.splats[i] = splat;
        a.boxes[i] = count > 0 ? box : TileBox{};
        a.counts[i] = count;
        a.visible[i] = count > 0;
        a.keys[i] = count > 0 ? __float_as_uint(p.depth) : ~0U;
    }

private:
    __device__ static std::uint16_t tileOf(float tile, int first, int last)
    {
        return static_cast<std::uint16_t>(
            fminf(fmaxf(tile, static_cast<float>(first)), static_cast<float>(last)));
    }

    __device__ Splat splatOf(Index i, const RawGaussian<float>& raw, const Projection<float>& p,
                             float level) const
    {
        constexpr float kHalfLog2e = 0.72134752F;
        Splat splat{};
        splat.u = p.u;
        splat.v = p.v;
        splat.a = kHalfLog2e * p.conicA;
        splat.b = 2 * kHalfLog2e * p.conicB;
        splat.c = kHalfLog2e * p.conicC;
        splat.level = level;
        splat.depth = p.depth;
        splat.slope = -p.b / p.c;
        splat.row = kHalfLog2e / p.c;
        splat.column = p.determinant / (p.c * kHalfLog2e);
        float d[3], basis[16];
        directionOf(a.view, raw, d);
        shBasis<Degree>(d, basis);
        for (int channel = 0; channel < 3; ++channel) {
            float sum = 0.5F;
            for (int k = 0; k < shCoefficients(Degree); ++k)
                sum += basis[k] * coefficientOf(a.view, i, k, channel);
            splat.colour[channel] = fmaxf(sum, 0.0F);
            splat.normal[channel] = p.normal[channel];
        }
        return splat;
    }
};

/// Calls run(degree) with the degree as a constant.
template <class Run>
void withDegree(int degree, const Run& run)
{
    switch (degree) {
    case 0:
        return run(std::integral_constant<int, 0>{});
    case 1:
        return run(std::integral_constant<int, 1>{});
    case 2:
        return run(std::integral_constant<int, 2>{});
    default:
        return run(std::integral_constant<int, 3>{});
    }
}

void projectBody(Stream& stream, const ProjectArguments& a)
{
    withDegree(a.view.shDegree,
               [&](auto degree) { forEach(stream, a.last - a.first, ProjectOne<degree()>{a}); });
}

} // namespace

} // namespace vergence::sugar
