#include "tests/support/heat/compute/jacobi.h"

#include "core/compute/launch.h"
#include "tests/support/heat/compute/jacobi_math.h"

namespace vergence::heat {
inline namespace VERGENCE_KERNEL_NAMESPACE {

namespace {
void jacobiBody(Stream& stream, const Tensor& u, Tensor& next)
{
    expectSameShape(u, next);
    forEach(stream, u.size(), JacobiStep<float>{u.view<const float, 2>(), next.view<float, 2>()});
}
} // namespace

VERGENCE_REGISTER_KERNEL(jacobi, jacobiBody)

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::heat
