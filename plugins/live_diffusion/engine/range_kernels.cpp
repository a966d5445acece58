#include "core/compute/launch.h"
#include "plugins/live_diffusion/engine/ranges.h"

#if defined(__CUDACC__)
#include <nvtx3/nvToolsExt.h>
#endif

namespace vergence::live {

namespace {

void markRangeBody(Stream&, [[maybe_unused]] const char* name)
{
#if defined(__CUDACC__)
    if (name)
        nvtxRangePushA(name);
    else
        nvtxRangePop();
#endif
}

} // namespace

VERGENCE_REGISTER_KERNEL(markRange, markRangeBody)

} // namespace vergence::live
