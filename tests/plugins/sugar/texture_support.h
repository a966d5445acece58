#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/compute/rng.h"
#include "plugins/sugar/texture/baking.h"
#include "tests/plugins/sugar/refine_support.h"

namespace vergence::sugar::fixtures {

using Colour = std::array<double, 3>;
using Point = std::array<double, 3>;

inline double uniform(std::uint64_t index)
{
    return static_cast<double>(Rng(31).uniform(index));
}

/// The unit square at z = 0 as two triangles.
inline TriangleMesh squareMesh()
{
    return gridMesh(1);
}

/// From above, the whole unit square in the picture.
inline Camera aboveCamera(int size = 200, const Point& eye = {0.5, 0.5, 1.5})
{
    return lookingAt(eye, {0.5, 0.5, 0}, {0, 1, 0}, 0.9 * size, size, size);
}

/// Where the ray of a pixel's centre meets z = height.
inline Point onPlane(const Camera& camera, int row, int column, double height = 0)
{
    const double t[3] = {(column + 0.5 - camera.cx) / camera.fx,
                         (row + 0.5 - camera.cy) / camera.fy, 1};
    const auto eye = camera.centre();
    Point d{};
    for (std::size_t k = 0; k < 3; ++k)
        d[k] = camera.rotation[k] * t[0] + camera.rotation[3 + k] * t[1] +
               camera.rotation[6 + k] * t[2];
    const double along = (height - eye[2]) / d[2];
    return {eye[0] + along * d[0], eye[1] + along * d[1], height};
}

/// A picture of the plane z = 0 with a colour at each place.
template <class ColourAt>
BakeView planeView(const Camera& camera, const ColourAt& colourAt)
{
    BakeView view{camera, makeImage(camera.width, camera.height, 3)};
    for (int row = 0; row < camera.height; ++row) {
        for (int column = 0; column < camera.width; ++column) {
            const Colour colour = colourAt(onPlane(camera, row, column));
            for (std::size_t k = 0; k < 3; ++k)
                view.image.row(row)[3 * column + static_cast<int>(k)] =
                    static_cast<std::uint8_t>(std::lround(255 * std::clamp(colour[k], 0.0, 1.0)));
        }
    }
    return view;
}

inline Colour linearField(const Point& p)
{
    return {0.2 + 0.5 * p[0] + 0.1 * p[1], 0.8 - 0.3 * p[0] - 0.2 * p[1], 0.1 + 0.7 * p[1]};
}

/// Bilinear lookup as a renderer does it.
inline Colour sampled(const Image& image, double u, double v)
{
    const double x = u * image.width - 0.5, y = (1 - v) * image.height - 0.5;
    const double left = std::floor(x), top = std::floor(y);
    Colour colour{};
    for (int dy = 0; dy < 2; ++dy) {
        for (int dx = 0; dx < 2; ++dx) {
            const int column = std::clamp(static_cast<int>(left) + dx, 0, image.width - 1),
                      row = std::clamp(static_cast<int>(top) + dy, 0, image.height - 1);
            const double weight =
                (dx == 0 ? 1 - (x - left) : x - left) * (dy == 0 ? 1 - (y - top) : y - top);
            for (std::size_t k = 0; k < 3; ++k)
                colour[k] += weight * image.row(row)[3 * column + static_cast<int>(k)] / 255;
        }
    }
    return colour;
}

/// A point of a triangle by barycentric coordinates: where it is, and its colour in the texture.
struct Probe {
    Point place{};
    Colour colour{};

    Probe(const TexturedMesh& textured, std::size_t f, const std::array<double, 3>& b)
    {
        double uv[2] = {};
        for (std::size_t k = 0; k < 3; ++k) {
            const std::size_t v = textured.mesh.triangle[3 * f + k];
            for (std::size_t axis = 0; axis < 3; ++axis)
                place[axis] += b[k] * static_cast<double>(textured.mesh.position[3 * v + axis]);
            for (std::size_t axis = 0; axis < 2; ++axis)
                uv[axis] += b[k] * static_cast<double>(textured.uv[2 * (3 * f + k) + axis]);
        }
        colour = sampled(textured.pages.at(textured.pageOf(f)), uv[0], uv[1]);
    }
};

inline std::array<double, 3> randomBarycentric(std::uint64_t i)
{
    const double a = std::sqrt(uniform(2 * i)), b = uniform(2 * i + 1);
    return {1 - a, a * (1 - b), a * b};
}

inline TexturedMesh baked(const TriangleMesh& mesh, TextureAtlas atlas,
                          const std::vector<BakeView>& views, const BakeSettings& settings = {})
{
    TextureBaker baker(mesh, std::move(atlas), settings, views.size(),
                       [&](std::size_t i) { return views.at(i); });
    while (!baker.isDone())
        baker.step();
    return baker.finish();
}

inline double largestError(const Colour& a, const Colour& b)
{
    return std::max({std::abs(a[0] - b[0]), std::abs(a[1] - b[1]), std::abs(a[2] - b[2])});
}

} // namespace vergence::sugar::fixtures
