#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

#if !defined(__CUDACC__)
#include "plugins/sugar/compute/order_cpu.h"

namespace vergence::sugar {

VERGENCE_REGISTER_KERNEL(orderGaussians, orderBody)
VERGENCE_REGISTER_KERNEL(listTiles, listBody)

} // namespace vergence::sugar
#endif
