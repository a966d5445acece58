#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar::fixtures {

/// A flat grid of `n` × `n` squares over [0, side]² at height z, two triangles each, seen from
/// above.
inline TriangleMesh gridMesh(int n, double side = 1, double z = 0)
{
    TriangleMesh mesh;
    for (int y = 0; y <= n; ++y) {
        for (int x = 0; x <= n; ++x)
            for (const double p : {side * x / n, side * y / n, z})
                mesh.position.push_back(static_cast<float>(p));
    }
    const auto at = [&](int x, int y) { return static_cast<std::uint32_t>(y * (n + 1) + x); };
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x)
            mesh.triangle.insert(mesh.triangle.end(), {at(x, y), at(x + 1, y), at(x + 1, y + 1),
                                                       at(x, y), at(x + 1, y + 1), at(x, y + 1)});
    }
    return mesh;
}

/// A sphere of `rings` × 2·rings patches, closed, seen from outside.
inline TriangleMesh sphereMesh(int rings, double radius = 1,
                               const std::array<double, 3>& centre = {0, 0, 0})
{
    constexpr double kPi = 3.14159265358979323846;
    const int around = 2 * rings;
    TriangleMesh mesh;
    const auto add = [&](double polar, double azimuth) {
        const double direction[3] = {std::sin(polar) * std::cos(azimuth),
                                     std::sin(polar) * std::sin(azimuth), std::cos(polar)};
        for (std::size_t k = 0; k < 3; ++k)
            mesh.position.push_back(static_cast<float>(centre[k] + radius * direction[k]));
    };
    add(0, 0);
    for (int ring = 1; ring < rings; ++ring) {
        for (int i = 0; i < around; ++i)
            add(kPi * ring / rings, 2 * kPi * i / around);
    }
    add(kPi, 0);
    const auto at = [&](int ring, int i) {
        return static_cast<std::uint32_t>(1 + (ring - 1) * around + i % around);
    };
    const auto last = static_cast<std::uint32_t>(mesh.vertices() - 1);
    for (int i = 0; i < around; ++i) {
        mesh.triangle.insert(mesh.triangle.end(), {0, at(1, i), at(1, i + 1)});
        for (int ring = 1; ring + 1 < rings; ++ring)
            mesh.triangle.insert(mesh.triangle.end(),
                                 {at(ring, i), at(ring + 1, i), at(ring + 1, i + 1), at(ring, i),
                                  at(ring + 1, i + 1), at(ring, i + 1)});
        mesh.triangle.insert(mesh.triangle.end(), {last, at(rings - 1, i + 1), at(rings - 1, i)});
    }
    return mesh;
}

} // namespace vergence::sugar::fixtures
