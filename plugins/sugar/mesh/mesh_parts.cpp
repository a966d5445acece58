#include "plugins/sugar/mesh/mesh_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar {

namespace {

constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

template <class T>
void keepRows(std::vector<T>& values, const std::vector<std::uint32_t>& newRow)
{
    std::size_t kept = 0;
    for (std::size_t row = 0; 3 * row < values.size(); ++row) {
        if (newRow[row] == kUnused)
            continue;
        std::copy_n(&values[3 * row], 3, &values[3 * kept]);
        ++kept;
    }
    values.resize(3 * kept);
}

template <class T>
std::vector<T> both(const std::vector<T>& a, const std::vector<T>& b)
{
    std::vector<T> all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
}

bool hasAll(std::size_t rows, std::size_t entries)
{
    return entries == 3 * rows;
}

} // namespace

void expectSound(const TriangleMesh& mesh)
{
    const auto vertices = static_cast<std::size_t>(mesh.vertices());
    expects(hasAll(vertices, mesh.position.size()), "mesh: positions must be [V, 3]");
    expects(mesh.triangle.size() % 3 == 0, "mesh: triangles must be [F, 3]");
    expects(mesh.normal.empty() || hasAll(vertices, mesh.normal.size()),
            "mesh: there must be a normal per vertex or none");
    expects(mesh.colour.empty() || hasAll(vertices, mesh.colour.size()),
            "mesh: there must be a colour per vertex or none");
    expects(mesh.group.empty() || hasAll(mesh.group.size(), mesh.triangle.size()),
            "mesh: there must be a group per face or none");
    expects(std::all_of(mesh.triangle.begin(), mesh.triangle.end(),
                        [&](std::uint32_t v) { return v < vertices; }),
            "mesh: a triangle names a vertex that is not there");
}

void expectPages(const TexturedMesh& textured)
{
    const auto faces = static_cast<std::size_t>(textured.mesh.faces());
    expects(!textured.pages.empty(), "mesh: a textured mesh needs a picture");
    expects(textured.page.empty() || textured.page.size() == faces,
            "mesh: there must be a page per face or none");
    expects(std::all_of(textured.page.begin(), textured.page.end(),
                        [&](std::uint8_t page) { return page < textured.pages.size(); }),
            "mesh: a triangle lies on a page that is not there");
}

TriangleMesh keptFaces(const TriangleMesh& mesh, const std::vector<std::uint8_t>& isKept)
{
    expectSound(mesh);
    expects(isKept.size() == static_cast<std::size_t>(mesh.faces()),
            "keptFaces: one mark per face is needed");
    TriangleMesh result = mesh;
    std::vector<std::uint32_t> newRow(static_cast<std::size_t>(mesh.vertices()), kUnused);
    std::size_t faces = 0;
    for (std::size_t f = 0; f < isKept.size(); ++f) {
        if (isKept[f] == 0)
            continue;
        for (std::size_t k = 0; k < 3; ++k) {
            result.triangle[3 * faces + k] = mesh.triangle[3 * f + k];
            newRow[mesh.triangle[3 * f + k]] = 0;
        }
        if (!mesh.group.empty())
            result.group[faces] = mesh.group[f];
        ++faces;
    }
    result.triangle.resize(3 * faces);
    result.group.resize(mesh.group.empty() ? 0 : faces);
    std::uint32_t next = 0;
    for (std::uint32_t& row : newRow)
        row = row == kUnused ? kUnused : next++;
    keepRows(result.position, newRow);
    keepRows(result.normal, newRow);
    keepRows(result.colour, newRow);
    for (std::uint32_t& v : result.triangle)
        v = newRow[v];
    return result;
}

TriangleMesh joined(const TriangleMesh& foreground, const TriangleMesh& background)
{
    expectSound(foreground);
    expectSound(background);
    TriangleMesh all;
    all.position = both(foreground.position, background.position);
    if (foreground.normal.empty() == background.normal.empty() || background.vertices() == 0 ||
        foreground.vertices() == 0)
        all.normal = both(foreground.normal, background.normal);
    if (foreground.colour.empty() == background.colour.empty() || background.vertices() == 0 ||
        foreground.vertices() == 0)
        all.colour = both(foreground.colour, background.colour);
    all.triangle = both(foreground.triangle, background.triangle);
    const auto shift = static_cast<std::uint32_t>(foreground.vertices());
    for (std::size_t i = foreground.triangle.size(); i < all.triangle.size(); ++i)
        all.triangle[i] += shift;
    all.group.assign(static_cast<std::size_t>(foreground.faces()), 0);
    all.group.resize(static_cast<std::size_t>(all.faces()), 1);
    return all;
}

void computeNormals(TriangleMesh& mesh)
{
    expectSound(mesh);
    std::vector<Point3> sum(static_cast<std::size_t>(mesh.vertices()));
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f) {
        const std::uint32_t* v = &mesh.triangle[3 * f];
        const std::array<Point3, 3> p{vertexOf(mesh, v[0]), vertexOf(mesh, v[1]),
                                      vertexOf(mesh, v[2])};
        const Point3 normal = unit(cross(p[1] - p[0], p[2] - p[0]));
        for (std::size_t k = 0; k < 3; ++k) {
            const Point3 a = unit(p[(k + 1) % 3] - p[k]), b = unit(p[(k + 2) % 3] - p[k]);
            const double angle = std::acos(std::clamp(dot(a, b), -1.0, 1.0));
            sum[v[k]] = sum[v[k]] + angle * normal;
        }
    }
    mesh.normal.resize(mesh.position.size());
    for (std::size_t v = 0; v < sum.size(); ++v) {
        const Point3 normal = unit(sum[v]);
        for (std::size_t k = 0; k < 3; ++k)
            mesh.normal[3 * v + k] = static_cast<float>(normal[k]);
    }
}

} // namespace vergence::sugar
