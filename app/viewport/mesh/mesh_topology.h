#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <QVector3D>

namespace vergence {

using MeshEdge = std::array<std::uint32_t, 2>; ///< rows of positions

/// How triangles hang together. Vertices at the same place count as one: files repeat them where a
/// texture has its seams.
struct MeshTopology {
    std::vector<std::uint32_t> welded;    ///< [V] first vertex at the same place
    std::size_t vertexCount = 0;          ///< places that triangles use
    std::vector<MeshEdge> boundary;       ///< edges of one triangle
    std::vector<MeshEdge> nonManifold;    ///< edges of three triangles and more
    std::vector<std::uint32_t> component; ///< [F] 0, 1, …: triangles that share a vertex
    std::size_t componentCount = 0;
};

/// Triangles with two corners at one place count as faces, but give no edge of length 0.
MeshTopology findTopology(std::span<const QVector3D> positions,
                          std::span<const std::array<std::uint32_t, 3>> triangles);

/// Unit normals [V] of welded vertices, weighted by the area of the triangles around; (0, 0, 0)
/// where these cancel out. Each vertex has that of its place.
std::vector<QVector3D> smoothNormals(std::span<const QVector3D> positions,
                                     std::span<const std::array<std::uint32_t, 3>> triangles,
                                     const MeshTopology& topology);

} // namespace vergence
