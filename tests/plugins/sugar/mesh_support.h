#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar::fixtures {

inline TriangleMesh meshOf(std::vector<float> position, std::vector<std::uint32_t> triangle)
{
    TriangleMesh mesh;
    mesh.position = std::move(position);
    mesh.triangle = std::move(triangle);
    return mesh;
}

/// The cube from 0 to 1, wound outwards.
inline TriangleMesh cube()
{
    return meshOf({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1},
                  {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                   2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5});
}

/// The unit square in the plane z = 0.
inline TriangleMesh openQuad()
{
    return meshOf({0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}, {0, 1, 2, 0, 2, 3});
}

/// Two triangles that share a vertex only.
inline TriangleMesh bowTie()
{
    return meshOf({0, 0, 0, 1, 0, 0, 1, 1, 0, -1, 0, 0, -1, -1, 0}, {0, 1, 2, 0, 3, 4});
}

/// Three triangles at one edge, of areas 0.5, 0.5 and 0.25.
inline TriangleMesh fin()
{
    return meshOf({0, 0, 0, 1, 0, 0, 0.5F, 1, 0, 0.5F, -1, 0, 0.5F, 0, 0.5F},
                  {0, 1, 2, 1, 0, 3, 0, 1, 4});
}

/// A strip of `count` quads whose ends are joined after half a turn.
inline TriangleMesh moebiusStrip(int count = 24)
{
    TriangleMesh mesh;
    for (int i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * i / count;
        for (const double side : {-0.3, 0.3}) {
            const double r = 1 + side * std::cos(angle / 2);
            for (const double x :
                 {r * std::cos(angle), r * std::sin(angle), side * std::sin(angle / 2)})
                mesh.position.push_back(static_cast<float>(x));
        }
    }
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i) {
        const bool isLast = i + 1 == static_cast<std::uint32_t>(count);
        const std::uint32_t a = 2 * i, b = 2 * i + 1, c = isLast ? 1 : a + 2,
                            d = isLast ? 0 : b + 2;
        mesh.triangle.insert(mesh.triangle.end(), {a, c, b, b, c, d});
    }
    return mesh;
}

/// The unit sphere from an octahedron whose faces are parted in four `levels` times: 8 · 4^levels
/// faces, wound outwards.
inline TriangleMesh octahedralSphere(int levels)
{
    TriangleMesh mesh =
        meshOf({1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1},
               {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5});
    for (int level = 0; level < levels; ++level) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middles;
        const auto middle = [&](std::uint32_t a, std::uint32_t b) {
            const auto [entry, isNew] =
                middles.try_emplace(std::minmax(a, b), static_cast<std::uint32_t>(mesh.vertices()));
            if (isNew) {
                const Point3 p = unit(vertexOf(mesh, a) + vertexOf(mesh, b));
                for (std::size_t k = 0; k < 3; ++k)
                    mesh.position.push_back(static_cast<float>(p[k]));
            }
            return entry->second;
        };
        std::vector<std::uint32_t> finer;
        for (std::size_t f = 0; f < mesh.triangle.size(); f += 3) {
            const std::uint32_t a = mesh.triangle[f], b = mesh.triangle[f + 1],
                                c = mesh.triangle[f + 2];
            const std::uint32_t ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
            finer.insert(finer.end(), {a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca});
        }
        mesh.triangle = finer;
    }
    return mesh;
}

/// A square of n × n quads in the plane z = 0, side 1.
inline TriangleMesh flatGrid(int n)
{
    TriangleMesh mesh;
    for (int y = 0; y <= n; ++y) {
        for (int x = 0; x <= n; ++x)
            mesh.position.insert(mesh.position.end(),
                                 {static_cast<float>(x) / static_cast<float>(n),
                                  static_cast<float>(y) / static_cast<float>(n), 0});
    }
    const auto at = [&](int x, int y) { return static_cast<std::uint32_t>(y * (n + 1) + x); };
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x)
            mesh.triangle.insert(mesh.triangle.end(), {at(x, y), at(x + 1, y), at(x + 1, y + 1),
                                                       at(x, y), at(x + 1, y + 1), at(x, y + 1)});
    }
    return mesh;
}

} // namespace vergence::sugar::fixtures
