#pragma once

// For the CPU builds of kernel files: one Gaussian per lane. Rows beyond the last Gaussian repeat
// it; what they give is not written.

#include <algorithm>

#include "plugins/sugar/compute/lanes.h"
#include "plugins/sugar/compute/raster_kernels.h"
#include "plugins/sugar/compute/sh_math.h"

namespace vergence::sugar {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace lanes {

/// Rows [first, first + kLanes) of an array, no further than `count`.
struct Rows {
    Index first;
    int used; ///< rows that exist
    Whole index;

    VERGENCE_HD Rows(Index start, Index count)
        : first(start),
          used(static_cast<int>(std::min<Index>(kLanes, count - start)))
    {
        for (int i = 0; i < kLanes; ++i)
            index[i] = std::min(i, used - 1);
    }

    /// Column `column` of rows of `width` numbers.
    VERGENCE_HD Vector load(const float* from, int width, int column) const
    {
        const float* base = from + first * width + column;
#if defined(__AVX512F__)
        const __m512i at = (__m512i)(index * width);
        return (Vector)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF, at, base, 4);
#elif defined(__AVX2__)
        const Whole at = index * width;
        const __m256 every = (__m256)(Whole{} - 1);
        return (Vector)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), base, (__m256i)at, every, 4);
#else
        Vector value;
        for (int i = 0; i < kLanes; ++i)
            value[i] = base[index[i] * width];
        return value;
#endif
    }
};

VERGENCE_HD RawGaussian<Vector> loadGaussians(const RasterView& view, const Rows& rows)
{
    RawGaussian<Vector> raw;
    for (int k = 0; k < 3; ++k) {
        raw.position[k] = rows.load(view.values.position, 3, k);
        raw.logScale[k] = rows.load(view.values.logScale, 3, k);
    }
    for (int k = 0; k < 4; ++k)
        raw.rotation[k] = rows.load(view.values.rotation, 4, k);
    raw.opacity = rows.load(view.values.opacity, 1, 0);
    raw.filter = view.filter ? rows.load(view.filter, 1, 0) : Vector{};
    return raw;
}

/// Unit direction from the camera and the distance.
struct Direction {
    Vector d[3], inverseDistance;

    VERGENCE_HD Direction(const RasterView& view, const RawGaussian<Vector>& raw)
    {
        for (int k = 0; k < 3; ++k)
            d[k] = raw.position[k] - view.camera.centre[k];
        inverseDistance = 1.0F / squareRoot(dot3(d, d));
        for (int k = 0; k < 3; ++k)
            d[k] *= inverseDistance;
    }
};

/// Coefficient k of a channel: h_0 from one array, the others from another.
VERGENCE_HD Vector loadCoefficient(const RasterView& view, const Rows& rows, int k, int channel)
{
    return k == 0 ? rows.load(view.values.shDc, 3, channel)
                  : rows.load(view.values.shRest, 3 * view.restCount, 3 * (k - 1) + channel);
}

} // namespace lanes

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

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::sugar
