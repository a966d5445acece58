#if defined(__CUDACC__)
#include "cuda/primitives/sort_scan.cuh" // before launch.h, which has a namespace of that name
#endif

#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

#if defined(__CUDACC__)
#include "plugins/sugar/compute/order_tiles.cuh"
#else
#include "plugins/sugar/compute/order_cpu.h"
#endif

namespace vergence::sugar {

VERGENCE_REGISTER_KERNEL(orderGaussians, orderBody)
VERGENCE_REGISTER_KERNEL(listTiles, listBody)

} // namespace vergence::sugar
