#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

#if defined(__CUDACC__)
#include "plugins/sugar/compute/project_tiles.cuh"
#else
#include "plugins/sugar/compute/project_cpu.h"
#endif

namespace vergence::sugar {

VERGENCE_REGISTER_KERNEL(projectGaussians, projectBody)

} // namespace vergence::sugar
