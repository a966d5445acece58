#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

#if defined(__CUDACC__)
#include "plugins/sugar/compute/update_tiles.cuh"
#else
#include "plugins/sugar/compute/update_cpu.h"
#endif

namespace vergence::sugar {

VERGENCE_REGISTER_KERNEL(gaussianBackward, gaussianBackwardBody)
VERGENCE_REGISTER_KERNEL(gaussianUpdate, gaussianUpdateBody)

} // namespace vergence::sugar
