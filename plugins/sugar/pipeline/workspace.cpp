#include "plugins/sugar/pipeline/workspace.h"

#include "plugins/sugar/pipeline/settings.h"

namespace vergence::sugar {

std::vector<std::size_t> Workspace::learnt() const
{
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < isTest.size(); ++i) {
        if (!isTest[i])
            numbers.push_back(i);
    }
    return numbers;
}

std::vector<Camera> Workspace::learntCameras() const
{
    std::vector<Camera> cameras;
    for (const std::size_t i : learnt())
        cameras.push_back(pictures->source().cameras()[i]);
    return cameras;
}

RasterSettings Workspace::raster() const
{
    RasterSettings settings;
    settings.mip = !gaussians.filter.empty();
    settings.threeSigma = config.rasterRadius == "3sigma";
    settings.near = nearPlane(config, extent);
    settings.background = backgroundOf(config);
    settings.shDegree = gaussians.degree;
    return settings;
}

} // namespace vergence::sugar
