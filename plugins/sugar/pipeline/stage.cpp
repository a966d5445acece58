#include "plugins/sugar/pipeline/stage.h"

namespace vergence::sugar {

Stage::~Stage() = default;

const Gaussians* Stage::gaussians() const
{
    return nullptr;
}

const DensityStatistics* Stage::statistics() const
{
    return nullptr;
}

RasterSettings Stage::raster() const
{
    return {};
}

} // namespace vergence::sugar
