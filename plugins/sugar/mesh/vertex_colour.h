#pragma once

#include <cstdint>
#include <span>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Points with colours, as surface extraction gives them.
struct ColouredPoints {
    std::span<const float> position;      ///< [N, 3] finite
    std::span<const std::uint8_t> colour; ///< [N, 3] sRGB
};

/// Overwrites the colours of vertices: mean of the four nearest points, weighted by the inverse of
/// the distance. At least one point. Runs on all threads.
void colourVertices(TriangleMesh& mesh, const ColouredPoints& points);

/// Moves each vertex to its nearest point and gives it the colour, where that is closer than
/// `reach` (world units; three voxels are usual). Other vertices stay as they are; a mesh without
/// colours must be coloured first. Returns how many moved.
Index projectVertices(TriangleMesh& mesh, const ColouredPoints& points, double reach);

} // namespace vergence::sugar
