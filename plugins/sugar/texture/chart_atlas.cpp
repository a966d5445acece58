#include "plugins/sugar/texture/chart_atlas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/shape_packing.h"
#include "plugins/sugar/texture/texel_owners.h"

namespace vergence::sugar {

namespace {

using Flat = std::array<double, 2>;

/// Triangles of one piece, and their corners in its plane.
struct Chart {
    std::vector<std::uint32_t> faces;
    std::vector<std::array<Flat, 3>> corners; ///< of each face, world units; the least is (0, 0)
    Flat size{};
};

Flat turned(const Flat& p, double angle)
{
    const double c = std::cos(angle), s = std::sin(angle);
    return {c * p[0] + s * p[1], c * p[1] - s * p[0]};
}

/// The box around a piece that is turned by an angle.
struct Bounds {
    Flat low{HUGE_VAL, HUGE_VAL}, high{-HUGE_VAL, -HUGE_VAL};

    Bounds(const Chart& chart, double angle)
    {
        const Flat x = turned({1, 0}, -angle), y = turned({0, 1}, -angle);
        for (const auto& corners : chart.corners) {
            for (const Flat& p : corners) {
                const Flat q{x[0] * p[0] + x[1] * p[1], y[0] * p[0] + y[1] * p[1]};
                for (std::size_t axis = 0; axis < 2; ++axis) {
                    low[axis] = std::min(low[axis], q[axis]);
                    high[axis] = std::max(high[axis], q[axis]);
                }
            }
        }
    }
    Flat size() const { return {high[0] - low[0], high[1] - low[1]}; }
};

/// Grows pieces one after the other.
class ChartGrowth {
public:
    /// `reach`: a piece stays so near to the triangle that it begins with, world units.
    ChartGrowth(const TriangleMesh& mesh, double leastCosine, double texelsPerUnit, double reach)
        : m_mesh(mesh),
          m_edges(edgesOf(mesh)),
          m_leastCosine(leastCosine),
          m_texelsPerUnit(texelsPerUnit),
          m_reach(reach),
          m_isTaken(static_cast<std::size_t>(mesh.faces()), 0)
    {
    }

    std::vector<Chart> all(const std::function<bool()>& stop)
    {
        std::vector<Chart> charts;
        for (std::uint32_t f = 0; f < m_isTaken.size(); ++f) {
            while (!m_isTaken[f]) { // a piece always keeps the triangle that it begins with
                if (stop && stop())
                    return {};
                charts.push_back(chartFrom(f));
            }
        }
        return charts;
    }

private:
    Chart chartFrom(std::uint32_t seed)
    {
        const Point3 own = unit(faceVector(m_mesh, seed));
        Point3 normal = unit(meanNormal(grown(seed, own)));
        if (dot(normal, own) < m_leastCosine)
            normal = own;
        Chart chart;
        chart.faces = grown(seed, normal);
        flatten(chart, normal);
        dropOverlaps(chart);
        for (const std::uint32_t f : chart.faces)
            m_isTaken[f] = 1;
        moveToOrigin(chart);
        return chart;
    }

    Point3 meanNormal(const std::vector<std::uint32_t>& faces) const
    {
        Point3 sum;
        for (const std::uint32_t f : faces)
            sum = sum + faceVector(m_mesh, f);
        return sum;
    }

    /// Free triangles around `seed`, ring by ring, whose normals are near to `normal`.
    std::vector<std::uint32_t> grown(std::uint32_t seed, const Point3& normal)
    {
        std::vector<std::uint32_t> faces{seed};
        m_isTaken[seed] = 1;
        for (std::size_t next = 0; next < faces.size(); ++next) {
            for (std::size_t k = 0; k < 3; ++k) {
                const std::uint32_t edge = m_edges.ofCorner[3 * std::size_t{faces[next]} + k];
                for (const std::uint32_t corner : m_edges.corners.of(edge)) {
                    const std::uint32_t f = corner / 3;
                    if (m_isTaken[f] || !isNear(f, seed) ||
                        dot(unit(faceVector(m_mesh, f)), normal) < m_leastCosine)
                        continue;
                    m_isTaken[f] = 1;
                    faces.push_back(f);
                }
            }
        }
        for (const std::uint32_t f : faces)
            m_isTaken[f] = 0;
        return faces;
    }

    bool isNear(std::uint32_t f, std::uint32_t seed) const
    {
        const Point3 from = vertexOf(m_mesh, m_mesh.triangle[3 * std::size_t{seed}]);
        for (std::size_t k = 0; k < 3; ++k) {
            if (norm(vertexOf(m_mesh, m_mesh.triangle[3 * std::size_t{f} + k]) - from) > m_reach)
                return false;
        }
        return true;
    }

    /// Corners along two axes across the normal, turned to the smallest bounding box.
    void flatten(Chart& chart, const Point3& normal) const
    {
        const Point3 other = std::abs(normal.x) < 0.6 ? Point3{1, 0, 0} : Point3{0, 1, 0};
        const Point3 right = unit(cross(other, normal)), up = cross(normal, right);
        for (const std::uint32_t f : chart.faces) {
            auto& corners = chart.corners.emplace_back();
            for (std::size_t k = 0; k < 3; ++k) {
                const Point3 p = vertexOf(m_mesh, m_mesh.triangle[3 * std::size_t{f} + k]);
                corners[k] = {dot(p, right), dot(p, up)};
            }
        }
        constexpr int kAngles = 18;
        double best = 0, least = HUGE_VAL;
        for (int i = 0; i < kAngles; ++i) {
            const double angle = std::numbers::pi / 2 * i / kAngles;
            const Flat size = Bounds(chart, angle).size();
            if (size[0] * size[1] < least) {
                least = size[0] * size[1];
                best = angle;
            }
        }
        for (auto& corners : chart.corners) {
            for (Flat& p : corners)
                p = turned(p, best);
        }
    }

    /// Keeps the triangles that lie over none before them, judged at the centres of texels.
    void dropOverlaps(Chart& chart) const
    {
        moveToOrigin(chart);
        const auto columns = static_cast<std::size_t>(chart.size[0] * m_texelsPerUnit) + 2,
                   rows = static_cast<std::size_t>(chart.size[1] * m_texelsPerUnit) + 2;
        std::vector<std::uint8_t> isCovered(columns * rows, 0);
        Chart kept;
        for (std::size_t i = 0; i < chart.faces.size(); ++i) {
            if (!cover(chart.corners[i], columns, isCovered))
                continue;
            kept.faces.push_back(chart.faces[i]);
            kept.corners.push_back(chart.corners[i]);
        }
        chart = std::move(kept);
    }

    /// Marks the texels whose centres lie well inside, unless one is marked already.
    bool cover(const std::array<Flat, 3>& corners, std::size_t columns,
               std::vector<std::uint8_t>& isCovered) const
    {
        std::vector<std::size_t> own;
        double low[2], high[2];
        for (std::size_t axis = 0; axis < 2; ++axis) {
            const auto [least, most] =
                std::minmax({corners[0][axis], corners[1][axis], corners[2][axis]});
            low[axis] = least * m_texelsPerUnit;
            high[axis] = most * m_texelsPerUnit;
        }
        for (auto y = static_cast<std::size_t>(low[1]); static_cast<double>(y) < high[1]; ++y) {
            for (auto x = static_cast<std::size_t>(low[0]); static_cast<double>(x) < high[0]; ++x) {
                if (!isInside(corners, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5))
                    continue;
                if (isCovered[y * columns + x])
                    return false;
                own.push_back(y * columns + x);
            }
        }
        for (const std::size_t at : own)
            isCovered[at] = 1;
        return true;
    }

    /// Whether a place, in texels, is 0.1 texels or more inside; corners run counter-clockwise.
    bool isInside(const std::array<Flat, 3>& corners, double x, double y) const
    {
        for (std::size_t k = 0; k < 3; ++k) {
            const Flat &a = corners[k], &b = corners[(k + 1) % 3];
            const double ex = b[0] - a[0], ey = b[1] - a[1];
            const double distance =
                ex * (y - a[1] * m_texelsPerUnit) - ey * (x - a[0] * m_texelsPerUnit);
            if (distance < 0.1 * std::hypot(ex, ey))
                return false;
        }
        return true;
    }

    static void moveToOrigin(Chart& chart)
    {
        const Bounds bounds(chart, 0);
        for (auto& corners : chart.corners) {
            for (Flat& p : corners)
                p = {p[0] - bounds.low[0], p[1] - bounds.low[1]};
        }
        chart.size = bounds.size();
    }

    const TriangleMesh& m_mesh;
    MeshEdges m_edges;
    double m_leastCosine, m_texelsPerUnit, m_reach;
    std::vector<std::uint8_t> m_isTaken;
};

struct PackedCharts {
    std::vector<TexelShape> shapes;
    std::vector<ShapePlace> places;
};

/// From a chart to the edge of its box, texels.
double marginOf(int gutter)
{
    return 0.5 * (1 + gutter);
}

/// The corners of a triangle of a chart in the chart's box, texels.
std::array<Flat, 3> inBox(const std::array<Flat, 3>& corners, double density, double margin)
{
    std::array<Flat, 3> result;
    for (std::size_t k = 0; k < 3; ++k)
        result[k] = {margin + corners[k][0] * density, margin + corners[k][1] * density};
    return result;
}

/// Side of a chart's box, texels.
int boxSide(double length, double density, int gutter)
{
    return static_cast<int>(std::min(std::ceil(length * density), 1e8)) + 1 + gutter;
}

/// The texels nearer to a chart than half a gutter and half a texel: where two shapes have none in
/// common, their charts are more than a gutter apart.
TexelShape shapeOf(const Chart& chart, double density, int gutter)
{
    const double margin = marginOf(gutter);
    const int columns = boxSide(chart.size[0], density, gutter),
              rows = boxSide(chart.size[1], density, gutter);
    std::vector<unsigned char> mask(static_cast<std::size_t>(columns) *
                                    static_cast<std::size_t>(rows));
    for (const auto& corners : chart.corners) {
        const TexelTriangle triangle(inBox(corners, density, margin));
        const int left = static_cast<int>(triangle.left() - margin),
                  right = std::min(static_cast<int>(triangle.right() + margin) + 1, columns),
                  top = static_cast<int>(triangle.top() - margin),
                  bottom = std::min(static_cast<int>(triangle.bottom() + margin) + 1, rows);
        for (int y = top; y < bottom; ++y) {
            const auto row = mask.begin() + static_cast<std::ptrdiff_t>(y) * columns;
            for (int x = left; x < right; ++x) {
                if (!row[x] && triangle.meets(x + 0.5, y + 0.5, margin))
                    row[x] = 1;
            }
        }
    }
    return {columns, rows, mask};
}

/// Empty where a chart is larger than a page.
std::vector<TexelShape> shapesOf(const std::vector<Chart>& charts, double density,
                                 const ChartSettings& settings)
{
    std::vector<TexelShape> shapes;
    for (const Chart& chart : charts) {
        if (boxSide(std::max(chart.size[0], chart.size[1]), density, settings.gutter) >
            settings.largestSide)
            return {};
    }
    for (const Chart& chart : charts)
        shapes.push_back(shapeOf(chart, density, settings.gutter));
    return shapes;
}

/// The smallest side, up to the largest, of one page that the shapes fit, or the largest where they
/// need more pages; side and pages, 0 where they do not fit.
std::pair<int, int> packedSide(PackedCharts& packed, int largest, int mostPages,
                               const std::function<bool()>& stop)
{
    constexpr double kFirst = 1.04, kMore = 1.02;
    double area = 0;
    for (const TexelShape& shape : packed.shapes)
        area += shape.area();
    const double page = static_cast<double>(largest) * largest;
    if (packed.shapes.empty() || area > mostPages * page)
        return {0, 0};
    for (double side = kFirst * std::sqrt(area); area <= page; side = kMore * side + 1) {
        const int tried = std::min(static_cast<int>(side), largest);
        if (packShapes(packed.shapes, tried, 1, packed.places, stop))
            return {tried, 1};
        if (tried == largest)
            break;
    }
    if (mostPages == 1)
        return {0, 0};
    return {largest, packShapes(packed.shapes, largest, mostPages, packed.places, stop)};
}

double totalArea(const TriangleMesh& mesh)
{
    double area = 0;
    for (std::size_t f = 0; f < mesh.triangle.size() / 3; ++f)
        area += norm(faceVector(mesh, f)) / 2;
    return area;
}

/// The corners of all triangles at the places of their charts.
void writeCorners(ChartAtlas& result, Index faces, const std::vector<Chart>& charts,
                  const PackedCharts& packed, int gutter)
{
    if (result.atlas.pages > 1)
        result.atlas.page.resize(static_cast<std::size_t>(faces));
    result.atlas.uv.resize(static_cast<std::size_t>(6 * faces));
    const double scale = result.atlas.side, margin = marginOf(gutter);
    for (std::size_t i = 0; i < charts.size(); ++i) {
        const ShapePlace& place = packed.places[i];
        for (std::size_t n = 0; n < charts[i].faces.size(); ++n) {
            const std::uint32_t face = charts[i].faces[n];
            if (result.atlas.pages > 1)
                result.atlas.page[face] = static_cast<std::uint8_t>(place.page);
            const auto corners = inBox(charts[i].corners[n], result.texelsPerUnit, margin);
            for (std::size_t k = 0; k < 3; ++k) {
                const Flat p = turned(packed.shapes[i], place.quarterTurns, corners[k]);
                float* uv = result.atlas.uv.data() + 6 * std::size_t{face} + 2 * k;
                uv[0] = static_cast<float>((place.x + p[0]) / scale);
                uv[1] = static_cast<float>((place.y + p[1]) / scale);
            }
            const TexelTriangle triangle(result.atlas, face);
            result.covered += std::abs(triangle.area) / 2 / (scale * scale * result.atlas.pages);
        }
    }
}

} // namespace

ChartAtlas chartAtlas(const TriangleMesh& mesh, const ChartSettings& settings,
                      const std::function<bool()>& stop)
{
    expectSound(mesh);
    expects(settings.largestSide > 0 && settings.gutter >= 2 && settings.texelsPerUnit >= 0 &&
                settings.mostPages >= 1 && settings.mostPages <= kMostPages &&
                settings.deviationDegrees > 0 && settings.deviationDegrees < 90,
            "chartAtlas: settings are out of range");
    const double area = totalArea(mesh), side = settings.largestSide;
    if (!(area > 0))
        throw InputError("A mesh without area has no texture; reconstruct it again.");
    ChartAtlas result;
    const double most = side * std::sqrt(settings.mostPages / area);
    result.texelsPerUnit =
        settings.texelsPerUnit > 0 ? std::min(settings.texelsPerUnit, most) : most;
    const double cosine = std::cos(settings.deviationDegrees * std::numbers::pi / 180);
    constexpr double kOfPage = 0.45; // to each side; on one page whatever is too large is shrunk
    const double reach = settings.mostPages > 1 ? kOfPage * side / result.texelsPerUnit : HUGE_VAL;
    const auto charts = ChartGrowth(mesh, cosine, result.texelsPerUnit, reach).all(stop);
    result.charts = static_cast<Index>(charts.size());
    constexpr double kFewer = 0.97, kLeast = 1e-3;
    const double least = kLeast * result.texelsPerUnit;
    PackedCharts packed;
    for (;; result.texelsPerUnit *= kFewer) {
        if (result.texelsPerUnit < least)
            throw InputError(fmt::format("A texture of {} px a side cannot hold the {} pieces of "
                                         "the mesh; allow a larger one or pack squares.",
                                         settings.largestSide, charts.size()));
        packed.shapes = shapesOf(charts, result.texelsPerUnit, settings);
        std::tie(result.atlas.side, result.atlas.pages) =
            packedSide(packed, settings.largestSide, settings.mostPages, stop);
        if (stop && stop())
            return {};
        if (result.atlas.pages > 0)
            break;
    }
    writeCorners(result, mesh.faces(), charts, packed, settings.gutter);
    return result;
}

} // namespace vergence::sugar
