#include "plugins/sugar/compute/learning/over_background_kernels.h"

#include "core/compute/launch.h"

namespace vergence::sugar {

namespace {

struct OverBackground {
    OverBackgroundArguments p;

    VERGENCE_HD void operator()(Index pixel) const
    {
        const float share = static_cast<float>(p.transparency[pixel]);
        for (Index i = 3 * pixel; i < 3 * pixel + 3; ++i) {
            const float value = static_cast<float>(p.photo[i]) + share * p.colour[i % 3] + 0.5F;
            p.result[i] = static_cast<std::uint8_t>(value < 255 ? value : 255);
        }
    }
};

void overBackgroundBody(Stream& stream, const OverBackgroundArguments& p)
{
    forEach(stream, p.pixels, OverBackground{p});
}

} // namespace

VERGENCE_REGISTER_KERNEL(overBackgroundKernel, overBackgroundBody)

} // namespace vergence::sugar
