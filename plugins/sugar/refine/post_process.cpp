#include "plugins/sugar/refine/post_process.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/compute/projection_math.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/spatial/point_tree.h"

namespace vergence::sugar {

namespace {

using Rows = std::array<std::uint32_t, 3>;

constexpr std::size_t kNeighbours = 16;

void setPlace(TriangleMesh& mesh, std::size_t v, const Point3& p)
{
    mesh.position[3 * v] = static_cast<float>(p.x);
    mesh.position[3 * v + 1] = static_cast<float>(p.y);
    mesh.position[3 * v + 2] = static_cast<float>(p.z);
}

Rows rowsOf(const TriangleMesh& mesh, Index f)
{
    const std::uint32_t* rows = mesh.triangle.data() + 3 * f;
    return {rows[0], rows[1], rows[2]};
}

Point3 centreOf(const TriangleMesh& mesh, Index f)
{
    const Rows rows = rowsOf(mesh, f);
    return (1.0 / 3) *
           (vertexOf(mesh, rows[0]) + vertexOf(mesh, rows[1]) + vertexOf(mesh, rows[2]));
}

/// Σ o exp(−½ |y|²) of the Gaussians nearest to a point.
class NearDensity {
public:
    NearDensity(const GaussianCloud& cloud, double leastScale)
        : m_cloud(cloud),
          m_leastScale(leastScale),
          m_tree(cloud.position)
    {
    }

    double at(const Point3& point) const
    {
        const float place[3] = {static_cast<float>(point.x), static_cast<float>(point.y),
                                static_cast<float>(point.z)};
        std::array<std::uint32_t, kNeighbours> indices{};
        std::array<double, kNeighbours> distances{};
        const std::size_t found = m_tree.nearest(place, kNeighbours, indices, distances);
        double density = 0;
        for (std::size_t i = 0; i < found; ++i)
            density += termOf(indices[i], point);
        return density;
    }

private:
    double termOf(std::size_t i, const Point3& point) const
    {
        double q[4], r[9], norm = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            q[k] = static_cast<double>(m_cloud.rotation[4 * i + k]);
            norm += q[k] * q[k];
        }
        for (double& part : q)
            part /= std::sqrt(norm);
        rotationOf(q, r);
        const float* p = m_cloud.position.data() + 3 * i;
        const double d[3] = {point.x - static_cast<double>(p[0]),
                             point.y - static_cast<double>(p[1]),
                             point.z - static_cast<double>(p[2])};
        double square = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            const double along = r[k] * d[0] + r[3 + k] * d[1] + r[6 + k] * d[2];
            const double scale =
                std::max(m_leastScale, std::exp(static_cast<double>(m_cloud.logScale[3 * i + k])));
            square += along * along / (scale * scale);
        }
        return std::exp(-square / 2) / (1 + std::exp(-static_cast<double>(m_cloud.opacity[i])));
    }

    const GaussianCloud& m_cloud;
    double m_leastScale;
    PointTree<float> m_tree;
};

/// Faces with an edge that no other face has.
std::vector<Index> borderFaces(const TriangleMesh& mesh)
{
    const MeshEdges edges = edgesOf(mesh);
    std::vector<Index> faces;
    for (Index f = 0; f < mesh.faces(); ++f) {
        const std::uint32_t* edge = edges.ofCorner.data() + 3 * f;
        if (std::any_of(edge, edge + 3, [&](std::uint32_t e) { return edges.facesAt(e) == 1; }))
            faces.push_back(f);
    }
    return faces;
}

} // namespace

TriangleMesh withoutThinBorder(const TriangleMesh& mesh, const GaussianCloud& refined,
                               double leastScale, double density, int rounds)
{
    expects(leastScale > 0, "withoutThinBorder: the least scale must be positive");
    expects(refined.count() > 0, "withoutThinBorder: there are no Gaussians");
    const NearDensity field(refined, leastScale);
    TriangleMesh result = mesh;
    for (int round = 0; round < rounds; ++round) {
        const std::vector<Index> border = borderFaces(result);
        std::vector<std::uint8_t> isKept(static_cast<std::size_t>(result.faces()), 1);
        tbb::parallel_for(std::size_t{0}, border.size(), [&](std::size_t i) {
            if (field.at(centreOf(result, border[i])) <= density)
                isKept[static_cast<std::size_t>(border[i])] = 0;
        });
        if (std::find(isKept.begin(), isKept.end(), 0) == isKept.end())
            break;
        result = keptFaces(result, isKept);
    }
    return result;
}

namespace {

TriangleMesh withComponents(const TriangleMesh& mesh, const MeshComponents& components,
                            const std::function<bool(std::size_t)>& isWanted)
{
    std::vector<std::uint8_t> isKept(static_cast<std::size_t>(mesh.faces()));
    std::transform(components.ofFace.begin(), components.ofFace.end(), isKept.begin(),
                   [&](std::uint32_t part) { return isWanted(part) ? 1 : 0; });
    return keptFaces(mesh, isKept);
}

} // namespace

TriangleMesh withLargestComponent(const TriangleMesh& mesh)
{
    const MeshComponents parts = componentsOf(mesh, edgesOf(mesh));
    const auto largest = static_cast<std::size_t>(
        std::max_element(parts.faces.begin(), parts.faces.end()) - parts.faces.begin());
    return withComponents(mesh, parts, [&](std::size_t part) { return part == largest; });
}

TriangleMesh withoutSmallComponents(const TriangleMesh& mesh, Index leastTriangles)
{
    const MeshComponents parts = componentsOf(mesh, edgesOf(mesh));
    return withComponents(mesh, parts,
                          [&](std::size_t part) { return parts.faces[part] >= leastTriangles; });
}

namespace {

/// Triangles of the least area in all that fill a loop of vertices, wound against it: the loop
/// runs along the faces around it. No edge that the mesh already has is used inside.
class LoopFilling {
public:
    LoopFilling(const TriangleMesh& mesh, const MeshEdges& edges,
                const std::vector<std::uint32_t>& loop)
        : m_edges(edges),
          m_loop(loop),
          m_count(loop.size()),
          m_least(m_count * m_count, 0.0),
          m_apex(m_count * m_count, 0)
    {
        for (std::size_t span = 2; span < m_count; ++span) {
            for (std::size_t first = 0; first + span < m_count; ++first)
                choose(mesh, first, first + span);
        }
    }

    bool isThere() const { return std::isfinite(m_least[at(0, m_count - 1)]); }
    void addTo(std::vector<std::uint32_t>& triangles) const { add(0, m_count - 1, triangles); }
    std::size_t triangles() const { return m_count - 2; }

private:
    std::size_t at(std::size_t first, std::size_t last) const { return first * m_count + last; }

    void choose(const TriangleMesh& mesh, std::size_t first, std::size_t last)
    {
        double& least = m_least[at(first, last)];
        least = HUGE_VAL;
        const bool isBorder = first == 0 && last == m_count - 1;
        if (!isBorder && isEdge(m_loop[first], m_loop[last]))
            return;
        const Point3 a = vertexOf(mesh, m_loop[first]), c = vertexOf(mesh, m_loop[last]);
        for (std::size_t middle = first + 1; middle < last; ++middle) {
            const Point3 b = vertexOf(mesh, m_loop[middle]);
            const double area =
                m_least[at(first, middle)] + m_least[at(middle, last)] + weightOf(a, b, c);
            if (area < least) {
                least = area;
                m_apex[at(first, last)] = middle;
            }
        }
    }

    /// The area; of equal areas, as in a plane, compact triangles count less.
    static double weightOf(const Point3& a, const Point3& b, const Point3& c)
    {
        constexpr double kCompact = 1e-3;
        const Point3 u = b - a, v = c - a, w = c - b;
        return norm(cross(u, v)) / 2 + kCompact * (dot(u, u) + dot(v, v) + dot(w, w));
    }

    bool isEdge(std::uint32_t a, std::uint32_t b) const
    {
        const std::array<std::uint32_t, 2> edge{std::min(a, b), std::max(a, b)};
        return std::binary_search(m_edges.vertices.begin(), m_edges.vertices.end(), edge);
    }

    void add(std::size_t first, std::size_t last, std::vector<std::uint32_t>& triangles) const
    {
        if (last < first + 2)
            return;
        const std::size_t middle = m_apex[at(first, last)];
        triangles.insert(triangles.end(), {m_loop[last], m_loop[middle], m_loop[first]});
        add(first, middle, triangles);
        add(middle, last, triangles);
    }

    const MeshEdges& m_edges;
    const std::vector<std::uint32_t>& m_loop;
    std::size_t m_count;
    std::vector<double> m_least; ///< [n, n] area that closes the loop from first to last
    std::vector<std::size_t> m_apex;
};

} // namespace

TriangleMesh withFilledHoles(const TriangleMesh& mesh, Index edges)
{
    const MeshEdges known = edgesOf(mesh);
    TriangleMesh result = mesh;
    for (const std::vector<std::uint32_t>& loop : boundaryLoops(mesh, known)) {
        if (loop.size() < 3 || static_cast<Index>(loop.size()) > edges)
            continue;
        const LoopFilling filling(mesh, known, loop);
        if (!filling.isThere())
            continue;
        filling.addTo(result.triangle);
        if (!result.group.empty()) {
            // The group of a face at the border.
            const auto at = std::find(mesh.triangle.begin(), mesh.triangle.end(), loop.front());
            const auto face = static_cast<std::size_t>(at - mesh.triangle.begin()) / 3;
            result.group.insert(result.group.end(), filling.triangles(), mesh.group[face]);
        }
    }
    return result;
}

TriangleMesh smoothed(const TriangleMesh& mesh, int iterations, double lambda, double mu)
{
    const MeshEdges edges = edgesOf(mesh);
    TriangleMesh result = mesh;
    result.normal.clear();
    const auto vertices = static_cast<std::size_t>(mesh.vertices());
    for (int step = 0; step < 2 * iterations; ++step) {
        const double factor = step % 2 == 0 ? lambda : mu;
        std::vector<Point3> sum(vertices);
        std::vector<int> count(vertices, 0);
        for (const auto& [a, b] : edges.vertices) {
            sum[a] = sum[a] + vertexOf(result, b);
            sum[b] = sum[b] + vertexOf(result, a);
            ++count[a];
            ++count[b];
        }
        for (std::size_t v = 0; v < vertices; ++v) {
            if (count[v] == 0)
                continue;
            const Point3 p = vertexOf(result, static_cast<std::uint32_t>(v));
            setPlace(result, v, p + factor * ((1.0 / count[v]) * sum[v] - p));
        }
    }
    return result;
}

TriangleMesh transformed(const TriangleMesh& mesh, const Similarity& similarity)
{
    const auto& r = similarity.rotation;
    const auto turned = [&](const float* p) {
        const auto x = static_cast<double>(p[0]), y = static_cast<double>(p[1]),
                   z = static_cast<double>(p[2]);
        return Point3{r[0] * x + r[1] * y + r[2] * z, r[3] * x + r[4] * y + r[5] * z,
                      r[6] * x + r[7] * y + r[8] * z};
    };
    const Point3 move{similarity.translation[0], similarity.translation[1],
                      similarity.translation[2]};
    TriangleMesh result = mesh;
    for (std::size_t v = 0; v < mesh.position.size() / 3; ++v)
        setPlace(result, v, similarity.scale * turned(mesh.position.data() + 3 * v) + move);
    for (std::size_t v = 0; v < mesh.normal.size() / 3; ++v) {
        const Point3 n = turned(mesh.normal.data() + 3 * v);
        result.normal[3 * v] = static_cast<float>(n.x);
        result.normal[3 * v + 1] = static_cast<float>(n.y);
        result.normal[3 * v + 2] = static_cast<float>(n.z);
    }
    return result;
}

Similarity unitAlignment(const TriangleMesh& mesh, double side)
{
    expects(side > 0, "unitAlignment: the side must be positive");
    if (mesh.vertices() == 0)
        throw InputError("A mesh without vertices cannot be scaled; reconstruct it again.");
    std::array<double, 3> low, high;
    low.fill(HUGE_VAL);
    high.fill(-HUGE_VAL);
    for (std::size_t i = 0; i < mesh.position.size(); ++i) {
        const auto value = static_cast<double>(mesh.position[i]);
        low[i % 3] = std::min(low[i % 3], value);
        high[i % 3] = std::max(high[i % 3], value);
    }
    double longest = 0;
    for (std::size_t k = 0; k < 3; ++k)
        longest = std::max(longest, high[k] - low[k]);
    Similarity similarity;
    similarity.scale = longest > 0 ? side / longest : 1;
    for (std::size_t k = 0; k < 3; ++k)
        similarity.translation[k] = -similarity.scale * (low[k] + high[k]) / 2;
    return similarity;
}

TriangleMesh cropped(const TriangleMesh& mesh, const Box& box)
{
    const auto isInside = [&](std::uint32_t v) {
        const float* p = mesh.position.data() + 3 * std::size_t{v};
        for (std::size_t k = 0; k < 3; ++k) {
            const auto value = static_cast<double>(p[k]);
            if (!(value >= box.low[k] && value <= box.high[k]))
                return false;
        }
        return true;
    };
    std::vector<std::uint8_t> isKept(static_cast<std::size_t>(mesh.faces()));
    for (Index f = 0; f < mesh.faces(); ++f) {
        const Rows rows = rowsOf(mesh, f);
        isKept[static_cast<std::size_t>(f)] = std::all_of(rows.begin(), rows.end(), isInside);
    }
    return keptFaces(mesh, isKept);
}

} // namespace vergence::sugar
