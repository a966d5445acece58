#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "plugins/sugar/texture/depth_buffer.h"
#include "plugins/sugar/texture/texel_owners.h"

namespace vergence::sugar {

/// Texel centres of a triangle as a camera has them: t = origin + column · alongX + row · alongY.
struct TexelPlane {
    Point3 origin, alongX, alongY, normal;
    double distance; ///< ⟨n, c − p⟩ of the camera's centre, above 0 where the front is seen

    TexelPlane(const TriangleMesh& mesh, std::size_t f, const TexelTriangle& triangle,
               const Camera& camera)
    {
        Point3 corner[3];
        for (std::size_t k = 0; k < 3; ++k)
            corner[k] = seenFrom(camera, vertexOf(mesh, mesh.triangle[3 * f + k]));
        const Point3 side1 = corner[1] - corner[0], side2 = corner[2] - corner[0];
        const double x1 = triangle.x[1] - triangle.x[0], y1 = triangle.y[1] - triangle.y[0],
                     x2 = triangle.x[2] - triangle.x[0], y2 = triangle.y[2] - triangle.y[0];
        const double inverse = 1 / triangle.area;
        alongX = inverse * (y2 * side1 - y1 * side2);
        alongY = inverse * (x1 * side2 - x2 * side1);
        origin = corner[0] + (0.5 - triangle.x[0]) * alongX + (0.5 - triangle.y[0]) * alongY;
        normal = unit(cross(side1, side2));
        distance = -dot(normal, corner[0]);
    }

    Point3 at(int row, int column) const
    {
        return origin + static_cast<double>(column) * alongX + static_cast<double>(row) * alongY;
    }
    /// Camera z of the plane at the centre of a pixel is distance / slope; the pixel looks past it
    /// where the slope is not above 0.
    double slopeAt(const Camera& camera, int row, int column) const
    {
        return -(normal.x * (column + 0.5 - camera.cx) / camera.fx +
                 normal.y * (row + 0.5 - camera.cy) / camera.fy + normal.z);
    }
};

/// The four pixels that a bilinear lookup reads, and how much of the further ones.
struct Footprint {
    int left, right, top, bottom;
    float toRight, toBottom;

    Footprint(const Camera& camera, double u, double v)
    {
        const double x = std::clamp(u - 0.5, 0.0, camera.width - 1.0),
                     y = std::clamp(v - 0.5, 0.0, camera.height - 1.0);
        left = static_cast<int>(x);
        top = static_cast<int>(y);
        right = std::min(left + 1, camera.width - 1);
        bottom = std::min(top + 1, camera.height - 1);
        toRight = static_cast<float>(x - left);
        toBottom = static_cast<float>(y - top);
    }
};

/// Colour 0 to 1.
inline std::array<float, 3> colourAt(const Image& image, const Footprint& at)
{
    const float a = at.toRight, b = at.toBottom;
    const std::uint8_t *upper = image.row(at.top), *lower = image.row(at.bottom);
    std::array<float, 3> colour{};
    for (int k = 0; k < 3; ++k) {
        const float above = (1 - a) * upper[3 * at.left + k] + a * upper[3 * at.right + k],
                    below = (1 - a) * lower[3 * at.left + k] + a * lower[3 * at.right + k];
        colour[static_cast<std::size_t>(k)] = ((1 - b) * above + b * below) / 255;
    }
    return colour;
}

/// Whether a mask leaves out a pixel that the lookup reads.
inline bool isMasked(const std::vector<std::uint8_t>& mask, int width, const Footprint& at)
{
    for (const int row : {at.top, at.bottom}) {
        const std::uint8_t* line =
            mask.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
        if (line[at.left] == 0 || line[at.right] == 0)
            return true;
    }
    return false;
}

/// Depth of the mesh in a view, against which triangles are held. A triangle is compared where
/// the pixels are, in its own plane, so that slanted ones lose nothing to the size of pixels.
struct DepthTest {
    const std::vector<float>& depth;
    const Camera& camera;
    double spareExtent; ///< world units

    double spare(double z) const { return 0.005 * z + spareExtent; }
    double at(int row, int column) const
    {
        return static_cast<double>(
            depth[static_cast<std::size_t>(row) * static_cast<std::size_t>(camera.width) +
                  static_cast<std::size_t>(column)]);
    }
    /// Whether something lies before the plane in a pixel that the lookup reads.
    bool isHidden(const TexelPlane& plane, const Footprint& read) const
    {
        for (const int row : {read.top, read.bottom}) {
            for (const int column : {read.left, read.right}) {
                const double nearest = at(row, column);
                if (plane.distance >
                    plane.slopeAt(camera, row, column) * (nearest + spare(nearest)))
                    return true;
            }
        }
        return false;
    }
    /// Whether the plane stands out of the surface that the pixel sees.
    bool standsOut(const TexelPlane& plane, int row, int column) const
    {
        const double z = plane.distance / plane.slopeAt(camera, row, column);
        return z > 0 && z + spare(z) < at(row, column);
    }
};

} // namespace vergence::sugar
