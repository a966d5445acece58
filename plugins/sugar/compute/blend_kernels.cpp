#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

#if defined(__CUDACC__)
#include "plugins/sugar/compute/blend_tiles.cuh"
#else
#include "plugins/sugar/compute/blend_cpu.h"
#endif

namespace vergence::sugar {

VERGENCE_REGISTER_KERNEL(blendTiles, blendBody)
VERGENCE_REGISTER_KERNEL(blendTilesBackward, blendBackwardBody)

} // namespace vergence::sugar
