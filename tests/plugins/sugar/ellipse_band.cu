// Compiled to PTX alone, for tst_sugar_tile_spans.cpp to read.

#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

__global__ void ellipseBands(const Splat* splats, EllipseBand<float>* bands)
{
    const Splat& s = splats[threadIdx.x];
    bands[threadIdx.x] = ellipseBand(s.u, s.v, s.level, s.slope, s.row, s.column, 16.0F);
}

} // namespace vergence::sugar
