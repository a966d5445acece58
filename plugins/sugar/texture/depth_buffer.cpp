#include "plugins/sugar/texture/depth_buffer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <tbb/parallel_for.h>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

constexpr int kBandRows = 16;

/// A corner on the screen: pixels, and 1/z, which is linear there.
struct ScreenPoint {
    double u, v, inverse;
};

struct ScreenTriangle {
    std::array<ScreenPoint, 3> corner;
    std::uint32_t face;

    double top() const { return std::min({corner[0].v, corner[1].v, corner[2].v}); }
    double bottom() const { return std::max({corner[0].v, corner[1].v, corner[2].v}); }
};

ScreenPoint projected(const Camera& camera, const Point3& t)
{
    return {camera.fx * t.x / t.z + camera.cx, camera.fy * t.y / t.z + camera.cy, 1 / t.z};
}

/// What of a triangle lies beyond the near plane: up to four corners.
int clipped(const std::array<Point3, 3>& corner, double near, std::array<Point3, 4>& kept)
{
    int count = 0;
    for (std::size_t k = 0; k < 3; ++k) {
        const Point3 &a = corner[k], &b = corner[(k + 1) % 3];
        if (a.z >= near)
            kept[static_cast<std::size_t>(count++)] = a;
        if ((a.z >= near) != (b.z >= near))
            kept[static_cast<std::size_t>(count++)] = a + ((near - a.z) / (b.z - a.z)) * (b - a);
    }
    return count;
}

/// The triangles of one face on the screen; none, one or two.
int onScreen(const TriangleMesh& mesh, Index f, const Camera& camera, double near,
             std::array<ScreenTriangle, 2>& result)
{
    std::array<Point3, 3> corner;
    for (std::size_t k = 0; k < 3; ++k)
        corner[k] =
            seenFrom(camera, vertexOf(mesh, mesh.triangle[3 * static_cast<std::size_t>(f) + k]));
    std::array<Point3, 4> kept;
    const int count = clipped(corner, near, kept);
    if (count < 3)
        return 0;
    std::array<ScreenPoint, 4> points{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
        points[k] = projected(camera, kept[k]);
    const auto face = static_cast<std::uint32_t>(f);
    result[0] = {{points[0], points[1], points[2]}, face};
    if (count == 4)
        result[1] = {{points[0], points[2], points[3]}, face};
    return count - 2;
}

/// Writes the rows [begin, end) of a triangle where it is nearer than what is there; the depth is
/// still the inverse one.
void draw(const ScreenTriangle& t, const Camera& camera, int begin, int end, MeshHits& hits)
{
    const ScreenPoint &a = t.corner[0], &b = t.corner[1], &c = t.corner[2];
    const double area = (b.u - a.u) * (c.v - a.v) - (c.u - a.u) * (b.v - a.v);
    if (!(std::abs(area) > 0))
        return;
    const double least = std::min({a.u, b.u, c.u}), most = std::max({a.u, b.u, c.u});
    const auto limited = [](double value, int high) {
        return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(high)));
    };
    const int left = limited(std::ceil(least - 0.5), camera.width),
              right = limited(std::floor(most - 0.5) + 1, camera.width),
              first = std::max(begin, limited(std::ceil(t.top() - 0.5), camera.height)),
              last = std::min(end, limited(std::floor(t.bottom() - 0.5) + 1, camera.height));
    const double scale = 1 / area;
    // Weights of b and c change by these from one column to the next.
    const double stepB = (c.v - a.v) * scale, stepC = -(b.v - a.v) * scale;
    constexpr double kSlack = -1e-9; // pixels on a shared edge must not fall between triangles
    for (int row = first; row < last; ++row) {
        const double y = row + 0.5 - a.v, x = left + 0.5 - a.u;
        const double startB = (x * (c.v - a.v) - y * (c.u - a.u)) * scale,
                     startC = (y * (b.u - a.u) - x * (b.v - a.v)) * scale;
        const std::size_t line =
            static_cast<std::size_t>(row) * static_cast<std::size_t>(camera.width);
        for (int column = left; column < right; ++column) {
            const double wb = startB + (column - left) * stepB,
                         wc = startC + (column - left) * stepC, wa = 1 - wb - wc;
            if (wa < kSlack || wb < kSlack || wc < kSlack)
                continue;
            const auto value = static_cast<float>(wa * a.inverse + wb * b.inverse + wc * c.inverse);
            const std::size_t at = line + static_cast<std::size_t>(column);
            if (value > hits.depth[at]) {
                hits.depth[at] = value;
                hits.face[at] = t.face;
            }
        }
    }
}

/// Triangles in the order of the band of rows that they begin in; those of several bands are
/// listed in each.
struct Bands {
    std::vector<std::size_t> start;
    std::vector<std::uint32_t> triangle;

    Bands(const std::vector<ScreenTriangle>& triangles, int height)
        : start(static_cast<std::size_t>((height + kBandRows - 1) / kBandRows) + 1, 0)
    {
        const auto visit = [&](const auto& use) {
            for (std::size_t i = 0; i < triangles.size(); ++i) {
                const double last = static_cast<double>(start.size() - 2);
                const double top = triangles[i].top() / kBandRows,
                             bottom = triangles[i].bottom() / kBandRows;
                if (!(bottom >= 0 && top <= last + 1))
                    continue;
                const auto begin = static_cast<std::size_t>(std::max(0.0, std::floor(top))),
                           end = static_cast<std::size_t>(std::min(last, std::floor(bottom)));
                for (std::size_t band = begin; band <= end; ++band)
                    use(band, i);
            }
        };
        visit([&](std::size_t band, std::size_t) { ++start[band + 1]; });
        for (std::size_t band = 0; band + 1 < start.size(); ++band)
            start[band + 1] += start[band];
        triangle.resize(start.back());
        std::vector<std::size_t> next = start;
        visit([&](std::size_t band, std::size_t i) {
            triangle[next[band]++] = static_cast<std::uint32_t>(i);
        });
    }
};

} // namespace

Point3 seenFrom(const Camera& camera, const Point3& p)
{
    const auto& r = camera.rotation;
    const auto& d = camera.translation;
    return {r[0] * p.x + r[1] * p.y + r[2] * p.z + d[0],
            r[3] * p.x + r[4] * p.y + r[5] * p.z + d[1],
            r[6] * p.x + r[7] * p.y + r[8] * p.z + d[2]};
}

MeshHits meshHits(const TriangleMesh& mesh, const Camera& camera, double near)
{
    expects(near > 0, "meshHits: the near plane must lie in front of the camera");
    const std::size_t pixels =
        static_cast<std::size_t>(camera.width) * static_cast<std::size_t>(camera.height);
    MeshHits hits{std::vector<float>(pixels, 0.0F), std::vector<std::uint32_t>(pixels, kNoFace)};
    std::vector<ScreenTriangle> triangles;
    for (Index f = 0; f < mesh.faces(); ++f) {
        std::array<ScreenTriangle, 2> seen;
        const int count = onScreen(mesh, f, camera, near, seen);
        triangles.insert(triangles.end(), seen.begin(), seen.begin() + count);
    }
    const Bands bands(triangles, camera.height);
    tbb::parallel_for(std::size_t{0}, bands.start.size() - 1, [&](std::size_t band) {
        const int begin = static_cast<int>(band) * kBandRows,
                  end = std::min(begin + kBandRows, camera.height);
        for (std::size_t i = bands.start[band]; i < bands.start[band + 1]; ++i)
            draw(triangles[bands.triangle[i]], camera, begin, end, hits);
    });
    for (float& value : hits.depth)
        value = value > 0 ? 1 / value : std::numeric_limits<float>::infinity();
    return hits;
}

std::vector<float> meshDepth(const TriangleMesh& mesh, const Camera& camera, double near)
{
    return meshHits(mesh, camera, near).depth;
}

} // namespace vergence::sugar
