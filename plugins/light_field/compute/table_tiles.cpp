#include "core/compute/launch.h"
#include "plugins/light_field/compute/table_math.h"

#if defined(__CUDACC__)
#include "plugins/light_field/compute/table_tiles.cuh"
#else
#include "plugins/light_field/compute/table_adjoint_cpu.h"
#include "plugins/light_field/compute/table_forward_cpu.h"
#endif

namespace vergence::light_field {

namespace {

void forwardTilesBody(Stream& stream, const ForwardArguments<float>& a)
{
    withLanes(a.lanes, [&](auto lanes) { runForward<lanes()>(stream, a); });
}

void adjointTilesBody(Stream& stream, const AdjointArguments<float>& a)
{
    withLanes(a.lanes, [&](auto lanes) { runAdjoint<lanes()>(stream, a); });
}

} // namespace

VERGENCE_REGISTER_KERNEL(forwardTiles, forwardTilesBody)
VERGENCE_REGISTER_KERNEL(adjointTiles, adjointTilesBody)

} // namespace vergence::light_field
