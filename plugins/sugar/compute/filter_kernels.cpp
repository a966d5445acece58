#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

namespace {

/// Least z / focal over the cameras that see a Gaussian beyond the near plane and inside the
/// image enlarged by 15 % per side; +infinity where none does.
struct LeastFootprint {
    FilterArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        float least = HUGE_VALF;
        const float* p = a.position + 3 * i;
        for (Index k = 0; k < a.cameraCount; ++k) {
            const CameraView<float>& view = a.cameras[k];
            float t[3];
            for (int row = 0; row < 3; ++row)
                t[row] = dot3(view.rotation + 3 * row, p) + view.translation[row];
            if (!(t[2] > view.near))
                continue;
            const float x = t[0] / t[2], y = t[1] / t[2];
            if (x < -view.left || x > view.right || y < -view.top || y > view.bottom)
                continue;
            const float focal = view.fx > view.fy ? view.fx : view.fy;
            const float footprint = t[2] / focal;
            least = footprint < least ? footprint : least;
        }
        a.filter[i] = smoothingSigma(least);
    }
};

struct FiniteFilter {
    const float* filter;
    VERGENCE_HD float operator()(Index i) const { return filter[i] < HUGE_VALF ? filter[i] : 0.0F; }
};

struct Larger {
    VERGENCE_HD float operator()(float a, float b) const { return a > b ? a : b; }
};

struct FillUnseen {
    float* filter;
    const float* largest;
    VERGENCE_HD void operator()(Index i) const
    {
        if (!(filter[i] < HUGE_VALF))
            filter[i] = *largest;
    }
};

void smoothingFilterBody(Stream& stream, const FilterArguments& a)
{
    forEach(stream, a.count, LeastFootprint{a}, 256);
    reduceInto(stream, a.count, FiniteFilter{a.filter}, Larger{}, 0.0F, a.largest);
    forEach(stream, a.count, FillUnseen{a.filter, a.largest}, 16384);
}

} // namespace

VERGENCE_REGISTER_KERNEL(smoothingFilter, smoothingFilterBody)

} // namespace vergence::sugar
