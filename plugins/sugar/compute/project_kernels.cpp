#include "core/compute/launch.h"
#include "plugins/sugar/compute/raster_kernels.h"

#if !defined(__CUDACC__)
#include "plugins/sugar/compute/project_cpu.h"

namespace vergence::sugar {

VERGENCE_REGISTER_KERNEL(projectGaussians, projectBody)

} // namespace vergence::sugar
#endif
