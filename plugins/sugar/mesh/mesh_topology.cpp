#include "plugins/sugar/mesh/mesh_topology.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

std::uint32_t nextCorner(std::uint32_t corner)
{
    return corner % 3 == 2 ? corner - 2 : corner + 1;
}

/// Lists of the entries 0 … N − 1 by the list that each belongs to.
RaggedLists grouped(const std::vector<std::uint32_t>& listOf, std::size_t lists)
{
    RaggedLists result;
    result.start.assign(lists + 1, 0);
    for (const std::uint32_t list : listOf)
        ++result.start[list + 1];
    std::partial_sum(result.start.begin(), result.start.end(), result.start.begin());
    result.value.resize(listOf.size());
    std::vector<std::uint32_t> at(result.start.begin(), result.start.end() - 1);
    for (std::size_t i = 0; i < listOf.size(); ++i)
        result.value[at[listOf[i]]++] = static_cast<std::uint32_t>(i);
    return result;
}

/// Does the face of this corner run along its edge from the smaller vertex to the greater?
bool runsUp(const TriangleMesh& mesh, std::uint32_t corner)
{
    return mesh.triangle[corner] < mesh.triangle[nextCorner(corner)];
}

/// Sets that grow together; the smallest member stands for a set.
class DisjointSets {
public:
    explicit DisjointSets(std::size_t count) : m_parent(count)
    {
        std::iota(m_parent.begin(), m_parent.end(), 0U);
    }
    std::uint32_t find(std::uint32_t i)
    {
        while (m_parent[i] != i)
            i = m_parent[i] = m_parent[m_parent[i]];
        return i;
    }
    void unite(std::uint32_t a, std::uint32_t b)
    {
        a = find(a);
        b = find(b);
        m_parent[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::uint32_t> m_parent;
};

} // namespace

RaggedLists cornersOf(const TriangleMesh& mesh)
{
    expectSound(mesh);
    return grouped(mesh.triangle, static_cast<std::size_t>(mesh.vertices()));
}

MeshEdges edgesOf(const TriangleMesh& mesh)
{
    const RaggedLists corners = cornersOf(mesh);
    MeshEdges edges;
    edges.ofCorner.assign(mesh.triangle.size(), kNone);
    // Per vertex, the sides that lead to greater vertices: its own corners' and those before them.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sides; // other vertex, corner
    for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(mesh.vertices()); ++v) {
        sides.clear();
        for (const std::uint32_t corner : corners.of(v)) {
            const std::uint32_t after = nextCorner(corner), before = nextCorner(after);
            if (mesh.triangle[after] >= v)
                sides.emplace_back(mesh.triangle[after], corner);
            if (mesh.triangle[before] > v)
                sides.emplace_back(mesh.triangle[before], before);
        }
        std::sort(sides.begin(), sides.end());
        for (std::size_t i = 0; i < sides.size(); ++i) {
            if (i == 0 || sides[i].first != sides[i - 1].first)
                edges.vertices.push_back({v, sides[i].first});
            edges.ofCorner[sides[i].second] = static_cast<std::uint32_t>(edges.count() - 1);
        }
    }
    edges.corners = grouped(edges.ofCorner, edges.vertices.size());
    return edges;
}

Index eulerNumber(const TriangleMesh& mesh, const MeshEdges& edges)
{
    std::vector<std::uint8_t> isUsed(static_cast<std::size_t>(mesh.vertices()), 0);
    for (const std::uint32_t v : mesh.triangle)
        isUsed[v] = 1;
    return std::accumulate(isUsed.begin(), isUsed.end(), Index{0}) - edges.count() + mesh.faces();
}

std::vector<std::vector<std::uint32_t>> boundaryLoops(const TriangleMesh& mesh,
                                                      const MeshEdges& edges)
{
    const auto vertices = static_cast<std::size_t>(mesh.vertices());
    std::vector<std::uint32_t> from, to, ends; // of the boundary's edges, as their faces run
    for (Index e = 0; e < edges.count(); ++e) {
        if (edges.facesAt(e) != 1)
            continue;
        const std::uint32_t corner = edges.corners.of(e)[0];
        from.push_back(mesh.triangle[corner]);
        to.push_back(mesh.triangle[nextCorner(corner)]);
        ends.insert(ends.end(), {from.back(), to.back()});
    }
    const RaggedLists endsAt = grouped(ends, vertices); // end 2i is where edge i begins
    std::vector<std::uint8_t> isUsed(from.size(), 0);
    // An edge that leads away from a vertex, one that begins there if there is one.
    const auto leave = [&](std::uint32_t vertex) {
        std::uint32_t best = kNone;
        for (const std::uint32_t end : endsAt.of(vertex)) {
            if (isUsed[end / 2] == 0 && (best == kNone || (best % 2 == 1 && end % 2 == 0)))
                best = end;
        }
        return best;
    };
    std::vector<std::vector<std::uint32_t>> loops;
    std::vector<std::uint32_t> path, placeInPath(vertices, kNone);
    for (std::size_t first = 0; first < from.size(); ++first) {
        path.clear();
        for (std::uint32_t vertex = from[first];;) {
            if (placeInPath[vertex] != kNone) { // cut off the loop that closes here
                const auto begin = path.begin() + placeInPath[vertex];
                loops.emplace_back(begin, path.end());
                for (const std::uint32_t v : loops.back())
                    placeInPath[v] = kNone;
                path.erase(begin, path.end());
            }
            placeInPath[vertex] = static_cast<std::uint32_t>(path.size());
            path.push_back(vertex);
            const std::uint32_t end = leave(vertex);
            if (end == kNone)
                break;
            isUsed[end / 2] = 1;
            vertex = end % 2 == 0 ? to[end / 2] : from[end / 2];
        }
        for (const std::uint32_t v : path)
            placeInPath[v] = kNone;
        if (path.size() > 1)
            loops.push_back(path);
    }
    return loops;
}

MeshComponents componentsOf(const TriangleMesh& mesh, const MeshEdges& edges)
{
    DisjointSets sets(static_cast<std::size_t>(mesh.faces()));
    for (Index e = 0; e < edges.count(); ++e) {
        const auto corners = edges.corners.of(e);
        for (const std::uint32_t corner : corners)
            sets.unite(corners[0] / 3, corner / 3);
    }
    MeshComponents result;
    result.ofFace.resize(static_cast<std::size_t>(mesh.faces()));
    for (std::uint32_t f = 0; f < result.ofFace.size(); ++f) {
        const std::uint32_t first = sets.find(f); // the smallest, so it has its number
        if (first == f) {
            result.ofFace[f] = static_cast<std::uint32_t>(result.faces.size());
            result.faces.push_back(0);
        } else {
            result.ofFace[f] = result.ofFace[first];
        }
        ++result.faces[result.ofFace[f]];
    }
    return result;
}

std::vector<std::uint32_t> nonManifoldEdges(const MeshEdges& edges)
{
    std::vector<std::uint32_t> result;
    for (Index e = 0; e < edges.count(); ++e) {
        if (edges.facesAt(e) > 2)
            result.push_back(static_cast<std::uint32_t>(e));
    }
    return result;
}

std::vector<std::uint32_t> fansOf(const TriangleMesh& mesh, const MeshEdges& edges)
{
    DisjointSets fans(mesh.triangle.size());
    for (Index e = 0; e < edges.count(); ++e) {
        const auto corners = edges.corners.of(e);
        if (corners.size() != 2)
            continue;
        const std::uint32_t a = corners[0], b = corners[1];
        const bool sameWay = mesh.triangle[a] == mesh.triangle[b];
        fans.unite(a, sameWay ? b : nextCorner(b));
        fans.unite(nextCorner(a), sameWay ? nextCorner(b) : b);
    }
    std::vector<std::uint32_t> result(mesh.triangle.size());
    for (std::uint32_t corner = 0; corner < result.size(); ++corner)
        result[corner] = fans.find(corner);
    return result;
}

std::vector<std::uint32_t> nonManifoldVertices(const TriangleMesh& mesh, const MeshEdges& edges)
{
    std::vector<std::uint8_t> isBad(static_cast<std::size_t>(mesh.vertices()), 0);
    for (const std::uint32_t e : nonManifoldEdges(edges)) {
        for (const std::uint32_t v : edges.vertices[e])
            isBad[v] = 1;
    }
    const std::vector<std::uint32_t> fans = fansOf(mesh, edges);
    std::vector<std::uint32_t> fanAt(static_cast<std::size_t>(mesh.vertices()), kNone);
    for (std::uint32_t corner = 0; corner < mesh.triangle.size(); ++corner) {
        const std::uint32_t v = mesh.triangle[corner];
        if (fanAt[v] != kNone && fanAt[v] != fans[corner])
            isBad[v] = 1;
        fanAt[v] = fans[corner];
    }
    std::vector<std::uint32_t> result;
    for (std::uint32_t v = 0; v < isBad.size(); ++v) {
        if (isBad[v] != 0)
            result.push_back(v);
    }
    return result;
}

Index windingConflicts(const TriangleMesh& mesh, const MeshEdges& edges)
{
    Index conflicts = 0;
    for (Index e = 0; e < edges.count(); ++e) {
        const auto corners = edges.corners.of(e);
        if (corners.size() == 2)
            conflicts += runsUp(mesh, corners[0]) == runsUp(mesh, corners[1]);
    }
    return conflicts;
}

Index windConsistently(TriangleMesh& mesh)
{
    const MeshEdges edges = edgesOf(mesh);
    const auto faces = static_cast<std::size_t>(mesh.faces());
    constexpr std::uint8_t kUnseen = 2;
    std::vector<std::uint8_t> turned(faces, kUnseen);
    Index impossible = 0;
    std::vector<std::uint32_t> part;
    for (std::uint32_t seed = 0; seed < faces; ++seed) {
        if (turned[seed] != kUnseen)
            continue;
        part.assign(1, seed);
        turned[seed] = 0;
        std::size_t turnedFaces = 0;
        for (std::size_t i = 0; i < part.size(); ++i) {
            for (std::uint32_t corner = 3 * part[i]; corner < 3 * part[i] + 3; ++corner) {
                const auto corners = edges.corners.of(edges.ofCorner[corner]);
                if (corners.size() != 2)
                    continue;
                const std::uint32_t other = corners[0] == corner ? corners[1] : corners[0];
                const auto wanted = static_cast<std::uint8_t>(
                    turned[part[i]] ^
                    static_cast<std::uint8_t>(runsUp(mesh, corner) == runsUp(mesh, other)));
                if (turned[other / 3] == kUnseen) {
                    turned[other / 3] = wanted;
                    turnedFaces += wanted;
                    part.push_back(other / 3);
                } else if (turned[other / 3] != wanted && corner < other) {
                    ++impossible;
                }
            }
        }
        if (2 * turnedFaces > part.size()) {
            for (const std::uint32_t f : part)
                turned[f] ^= 1;
        }
    }
    for (std::size_t f = 0; f < faces; ++f) {
        if (turned[f] == 1)
            std::swap(mesh.triangle[3 * f + 1], mesh.triangle[3 * f + 2]);
    }
    return impossible;
}

double signedVolume(const TriangleMesh& mesh)
{
    expectSound(mesh);
    double sum = 0;
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f)
        sum += dot(vertexOf(mesh, mesh.triangle[3 * f]), faceVector(mesh, f));
    return sum / 6;
}

} // namespace vergence::sugar
