// Depth pictures for looking at: one pixel at a time from the lists of the last pass.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

struct FormRayGaussian {
    RayGaussianArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        if (a.counts[i] == 0)
            return;
        const RasterView& view = a.view;
        RawGaussian<float> raw;
        for (int k = 0; k < 3; ++k) {
            raw.position[k] = view.values.position[3 * i + k];
            raw.logScale[k] = view.values.logScale[3 * i + k];
        }
        for (int k = 0; k < 4; ++k)
            raw.rotation[k] = view.values.rotation[4 * i + k];
        raw.opacity = view.values.opacity[i];
        raw.filter = view.filter ? view.filter[i] : 0.0F;
        const Projection<float> p = project<float>(view.camera, view.blur, raw);
        RayGaussian& to = a.gaussians[i];
        float variance = 0;
        for (int k = 0; k < 3; ++k) {
            const float inverse = 1.0F / p.smooth[k];
            to.along[k] = 0;
            for (int row = 0; row < 3; ++row) {
                to.axis[3 * k + row] = p.camera[3 * row + k] * inverse;
                to.along[k] += to.axis[3 * k + row] * p.t[row];
            }
            const float z = p.camera[6 + k] * p.smooth[k];
            variance += z * z;
        }
        to.reach = 3 * std::sqrt(variance);
    }
};

/// Camera z where half of the light is left behind, or the mean of the ray depths by weight; 0
/// where there is none.
struct DepthOfPixel {
    PixelDepthArguments a;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const BlendArguments& b = a.blend;
        const auto column = static_cast<int>(pixel % b.width),
                   row = static_cast<int>(pixel / b.width);
        const Index tile = static_cast<Index>(row / kTile) * b.tilesX + column / kTile;
        const float x = static_cast<float>(column) + 0.5F, y = static_cast<float>(row) + 0.5F;
        float transmittance = 1, sum = 0;
        for (std::uint32_t entry = b.starts[tile]; entry < b.starts[tile + 1]; ++entry) {
            const std::uint32_t gaussian = b.gaussians[entry];
            const Splat& s = b.splats[gaussian];
            const float dx = s.u - x, dy = s.v - y;
            const float exponent = s.level - ((s.a * dx + s.b * dy) * dx + s.c * dy * dy);
            if (!(exponent >= kLevelCut && exponent <= s.level))
                continue;
            const float raw = exp2f(exponent), alpha = raw < kAlphaCap ? raw : kAlphaCap;
            const float weight = alpha * transmittance;
            if (transmittance - weight <= kTransmittanceStop)
                break;
            transmittance -= weight;
            if (a.gaussians) {
                sum += weight * rayDepth(a.gaussians[gaussian], (x - a.camera.cx) / a.camera.fx,
                                         (y - a.camera.cy) / a.camera.fy, s.depth);
            } else if (transmittance <= 0.5F) {
                sum = s.depth;
                break;
            }
        }
        const float coverage = 1 - transmittance;
        a.depth[pixel] = !a.gaussians ? sum : coverage > 1e-6F ? sum / coverage : 0.0F;
    }
};

void formRayGaussiansBody(Stream& stream, const RayGaussianArguments& a)
{
    forEach(stream, a.view.count, FormRayGaussian{a});
}

void pixelDepthBody(Stream& stream, const PixelDepthArguments& a)
{
    forEach(stream, static_cast<Index>(a.blend.width) * a.blend.height, DepthOfPixel{a}, 256);
}

} // namespace

VERGENCE_REGISTER_KERNEL(formRayGaussians, formRayGaussiansBody)
VERGENCE_REGISTER_KERNEL(pixelDepth, pixelDepthBody)

} // namespace vergence::sugar
