#include "plugins/sugar/surface/scene_box.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::sugar {

Region SceneBox::regionOf(const std::array<double, 3>& point) const
{
    double share = 0; // of the foreground's half sides
    for (std::size_t i = 0; i < 3; ++i) {
        const double here = std::abs(point[i] - centre[i]) / halfSize[i];
        if (!std::isfinite(here))
            return Region::Outside;
        share = std::max(share, here);
    }
    return share <= 1 ? Region::Foreground : share <= reach ? Region::Background : Region::Outside;
}

double SceneBox::reachOf(Region region) const
{
    const double longest = *std::max_element(halfSize.begin(), halfSize.end());
    return region == Region::Background ? std::max(reach, 1.0) * longest : longest;
}

double SceneBox::voxelOf(Region region, int depth) const
{
    expects(depth >= 1 && depth <= 16, "voxelOf: the depth must be 1 to 16");
    return 2 * reachOf(region) / std::ldexp(1.0, depth);
}

SceneBox boxAround(const std::vector<Camera>& cameras, double extent, bool hasBackground)
{
    expects(!cameras.empty(), "boxAround: there must be a camera");
    expects(extent > 0 && std::isfinite(extent), "boxAround: the extent must be above 0");
    SceneBox box;
    for (const Camera& camera : cameras) {
        const auto centre = camera.centre();
        for (std::size_t i = 0; i < 3; ++i)
            box.centre[i] += centre[i] / static_cast<double>(cameras.size());
    }
    box.halfSize.fill(extent);
    box.reach = hasBackground ? 4 : 1;
    return box;
}

} // namespace vergence::sugar
