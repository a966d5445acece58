#include "app/viewport/mesh/mesh_topology.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace vergence {
namespace {

struct Place {
    std::array<std::uint32_t, 3> bits;
    bool operator==(const Place&) const = default;
};

struct PlaceHash {
    std::size_t operator()(const Place& place) const
    {
        std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
        for (const std::uint32_t bits : place.bits)
            hash = (hash ^ bits) * 0xff51afd7ed558ccdULL ^ (hash >> 29);
        return hash;
    }
};

Place placeOf(const QVector3D& v)
{
    // Adding 0 makes -0 the same place as 0.
    return {{std::bit_cast<std::uint32_t>(v.x() + 0.0F), std::bit_cast<std::uint32_t>(v.y() + 0.0F),
             std::bit_cast<std::uint32_t>(v.z() + 0.0F)}};
}

std::vector<std::uint32_t> weld(std::span<const QVector3D> positions)
{
    std::unordered_map<Place, std::uint32_t, PlaceHash> first;
    first.reserve(positions.size());
    std::vector<std::uint32_t> welded(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i)
        welded[i] =
            first.emplace(placeOf(positions[i]), static_cast<std::uint32_t>(i)).first->second;
    return welded;
}

/// Both ends in one number, the smaller first.
std::uint64_t edgeKey(std::uint32_t a, std::uint32_t b)
{
    return std::uint64_t(std::min(a, b)) << 32 | std::max(a, b);
}

void findEdges(std::span<const std::array<std::uint32_t, 3>> triangles, MeshTopology& topology)
{
    std::vector<std::uint64_t> edges;
    edges.reserve(3 * triangles.size());
    for (const auto& triangle : triangles) {
        for (int k = 0; k < 3; ++k) {
            const std::uint32_t a = topology.welded[triangle[k]];
            const std::uint32_t b = topology.welded[triangle[(k + 1) % 3]];
            if (a != b)
                edges.push_back(edgeKey(a, b));
        }
    }
    std::sort(edges.begin(), edges.end());
    for (std::size_t i = 0, end = 0; i < edges.size(); i = end) {
        while (end < edges.size() && edges[end] == edges[i])
            ++end;
        const MeshEdge edge{static_cast<std::uint32_t>(edges[i] >> 32),
                            static_cast<std::uint32_t>(edges[i])};
        if (end - i == 1)
            topology.boundary.push_back(edge);
        else if (end - i > 2)
            topology.nonManifold.push_back(edge);
    }
}

/// Disjoint sets of vertices, halving paths.
std::uint32_t root(std::vector<std::uint32_t>& parent, std::uint32_t of)
{
    while (parent[of] != of)
        of = parent[of] = parent[parent[of]];
    return of;
}

void findComponents(std::span<const std::array<std::uint32_t, 3>> triangles, MeshTopology& topology)
{
    std::vector<std::uint32_t> parent(topology.welded.size());
    std::iota(parent.begin(), parent.end(), 0U);
    for (const auto& triangle : triangles) {
        const std::uint32_t a = root(parent, topology.welded[triangle[0]]);
        for (int k = 1; k < 3; ++k)
            parent[root(parent, topology.welded[triangle[k]])] = a;
    }
    constexpr std::uint32_t kNone = 0xffffffff;
    std::vector<std::uint32_t> number(parent.size(), kNone);
    topology.component.reserve(triangles.size());
    std::uint32_t next = 0;
    for (const auto& triangle : triangles) {
        std::uint32_t& of = number[root(parent, topology.welded[triangle[0]])];
        if (of == kNone)
            of = next++;
        topology.component.push_back(of);
    }
    topology.componentCount = next;
}

/// Qt calls vectors shorter than 1e-5 null; areas of small triangles are.
QVector3D unitOrZero(const QVector3D& v)
{
    const float length = std::hypot(v.x(), v.y(), v.z());
    return length > 0 ? v / length : QVector3D();
}

} // namespace

MeshTopology findTopology(std::span<const QVector3D> positions,
                          std::span<const std::array<std::uint32_t, 3>> triangles)
{
    MeshTopology topology;
    topology.welded = weld(positions);
    std::vector<bool> isUsed(positions.size(), false);
    for (const auto& triangle : triangles)
        for (const std::uint32_t vertex : triangle)
            isUsed[topology.welded[vertex]] = true;
    topology.vertexCount = static_cast<std::size_t>(std::count(isUsed.begin(), isUsed.end(), true));
    findEdges(triangles, topology);
    findComponents(triangles, topology);
    return topology;
}

std::vector<QVector3D> smoothNormals(std::span<const QVector3D> positions,
                                     std::span<const std::array<std::uint32_t, 3>> triangles,
                                     const MeshTopology& topology)
{
    std::vector<QVector3D> normals(positions.size());
    for (const auto& [a, b, c] : triangles) {
        const QVector3D area =
            QVector3D::crossProduct(positions[b] - positions[a], positions[c] - positions[a]);
        for (const std::uint32_t vertex : {a, b, c})
            normals[topology.welded[vertex]] += area;
    }
    for (QVector3D& normal : normals)
        normal = unitOrZero(normal);
    for (std::size_t i = 0; i < normals.size(); ++i)
        normals[i] = normals[topology.welded[i]];
    return normals;
}

} // namespace vergence
