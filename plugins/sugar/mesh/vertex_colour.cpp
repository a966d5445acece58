#include "plugins/sugar/mesh/vertex_colour.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/spatial/point_tree.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kNearest = 4, kGrain = 1024;

PointTree<float> treeOf(const ColouredPoints& points)
{
    expects(!points.position.empty() && points.position.size() == points.colour.size(),
            "vertex colours need points with a colour each");
    return PointTree<float>(points.position);
}

template <class Body>
void forEachVertex(const TriangleMesh& mesh, const Body& body)
{
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, static_cast<std::size_t>(mesh.vertices()), kGrain),
        [&](const tbb::blocked_range<std::size_t>& range) {
            for (std::size_t v = range.begin(); v < range.end(); ++v)
                body(v);
        });
}

} // namespace

void colourVertices(TriangleMesh& mesh, const ColouredPoints& points)
{
    expectSound(mesh);
    const PointTree<float> tree = treeOf(points);
    mesh.colour.resize(mesh.position.size());
    forEachVertex(mesh, [&](std::size_t v) {
        std::array<std::uint32_t, kNearest> index{};
        std::array<double, kNearest> squared{};
        const std::size_t found = tree.nearest(&mesh.position[3 * v], kNearest, index, squared);
        std::array<double, 3> sum{};
        double weights = 0;
        // A point at the vertex itself outweighs all others.
        const double floor = 1e-12 * std::max(squared[found - 1], 1e-30);
        for (std::size_t i = 0; i < found; ++i) {
            const double weight = 1 / std::sqrt(std::max(squared[i], floor));
            weights += weight;
            for (std::size_t k = 0; k < 3; ++k)
                sum[k] += weight * points.colour[3 * static_cast<std::size_t>(index[i]) + k];
        }
        for (std::size_t k = 0; k < 3; ++k)
            mesh.colour[3 * v + k] = static_cast<std::uint8_t>(std::lround(sum[k] / weights));
    });
}

Index projectVertices(TriangleMesh& mesh, const ColouredPoints& points, double reach)
{
    expectSound(mesh);
    expects(!mesh.colour.empty() || mesh.vertices() == 0,
            "projectVertices: the mesh must be coloured first");
    const PointTree<float> tree = treeOf(points);
    std::atomic<Index> moved = 0;
    forEachVertex(mesh, [&](std::size_t v) {
        std::array<std::uint32_t, 1> index{};
        std::array<double, 1> squared{};
        tree.nearest(&mesh.position[3 * v], 1, index, squared);
        if (!(squared[0] < reach * reach))
            return;
        const std::size_t from = 3 * static_cast<std::size_t>(index[0]);
        std::copy_n(&points.position[from], 3, &mesh.position[3 * v]);
        std::copy_n(&points.colour[from], 3, &mesh.colour[3 * v]);
        ++moved;
    });
    return moved;
}

} // namespace vergence::sugar
