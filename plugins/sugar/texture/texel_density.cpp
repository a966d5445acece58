#include "plugins/sugar/texture/texel_density.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/depth_buffer.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kMostSamples = 20'000;

/// Pixels per world unit of a camera at a point; 0 where the point is out of its sight.
double densityAt(const Point3& point, const Camera& camera, double near)
{
    const Point3 t = seenFrom(camera, point);
    if (t.z < near)
        return 0;
    const double u = camera.fx * t.x / t.z + camera.cx, v = camera.fy * t.y / t.z + camera.cy;
    const bool isInside = u >= 0 && v >= 0 && u < camera.width && v < camera.height;
    return isInside ? std::sqrt(camera.fx * camera.fy) / t.z : 0;
}

} // namespace

double pictureDensity(const TriangleMesh& mesh, const std::vector<Camera>& cameras, double near)
{
    expectSound(mesh);
    const auto faces = static_cast<std::size_t>(mesh.faces());
    const std::size_t each = 1 + faces / kMostSamples;
    std::vector<std::pair<double, double>> seen; // density, area
    double area = 0;
    for (std::size_t f = 0; f < faces; f += each) {
        Point3 centre;
        for (std::size_t k = 0; k < 3; ++k)
            centre = centre + (1.0 / 3) * vertexOf(mesh, mesh.triangle[3 * f + k]);
        double most = 0;
        for (const Camera& camera : cameras)
            most = std::max(most, densityAt(centre, camera, near));
        if (most > 0) {
            seen.emplace_back(most, norm(faceVector(mesh, f)));
            area += seen.back().second;
        }
    }
    std::sort(seen.begin(), seen.end());
    double below = 0;
    for (const auto& [density, size] : seen) {
        below += size;
        if (below >= area / 2)
            return density;
    }
    return 0;
}

} // namespace vergence::sugar
