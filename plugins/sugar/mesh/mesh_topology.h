#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

// How the triangles of a mesh hang together. Every function throws ContractError for a triangle
// that names a vertex which is not there.

/// Lists of different lengths, one after the other.
struct RaggedLists {
    std::vector<std::uint32_t> start{0}; ///< [N + 1]
    std::vector<std::uint32_t> value;

    Index count() const { return static_cast<Index>(start.size()) - 1; }
    std::span<const std::uint32_t> of(Index i) const
    {
        const auto at = static_cast<std::size_t>(i);
        return std::span(value).subspan(start[at], start[at + 1] - start[at]);
    }
};

/// Corners at each vertex, ascending; corner c is entry c of TriangleMesh::triangle and belongs to
/// face c/3.
RaggedLists cornersOf(const TriangleMesh& mesh);

/// Edges of a mesh, each once, and the faces that meet there.
struct MeshEdges {
    std::vector<std::array<std::uint32_t, 2>> vertices; ///< [E, 2] the smaller first, ascending
    RaggedLists corners; ///< [E] corners whose edge to the next corner of their face this is
    std::vector<std::uint32_t> ofCorner; ///< [3F] edge from a corner to the next of its face

    Index count() const { return static_cast<Index>(vertices.size()); }
    Index facesAt(Index edge) const { return static_cast<Index>(corners.of(edge).size()); }
};
MeshEdges edgesOf(const TriangleMesh& mesh);

/// V − E + F, counting vertices in use only. 2 for a closed surface without holes through it.
Index eulerNumber(const TriangleMesh& mesh, const MeshEdges& edges);

/// Closed paths along edges of a single face, as vertices; in the direction of the faces where
/// these are consistently wound. Where paths touch, they are parted so that every edge is in one
/// loop. At edges of three or more faces paths may end; what is left of them is listed as well.
std::vector<std::vector<std::uint32_t>> boundaryLoops(const TriangleMesh& mesh,
                                                      const MeshEdges& edges);

/// Parts that are connected across edges, numbered by their first face.
struct MeshComponents {
    std::vector<std::uint32_t> ofFace; ///< [F]
    std::vector<Index> faces;          ///< [components]
};
MeshComponents componentsOf(const TriangleMesh& mesh, const MeshEdges& edges);

/// Which corners of a vertex hang together through edges of two faces: for each corner the smallest
/// one of its fan. [3F]
std::vector<std::uint32_t> fansOf(const TriangleMesh& mesh, const MeshEdges& edges);

/// Edges of more than two faces, ascending.
std::vector<std::uint32_t> nonManifoldEdges(const MeshEdges& edges);
/// Vertices whose faces form more than one fan, ascending: bow ties, and ends of non-manifold
/// edges.
std::vector<std::uint32_t> nonManifoldVertices(const TriangleMesh& mesh, const MeshEdges& edges);

/// Edges of two faces that run along them in the same direction.
Index windingConflicts(const TriangleMesh& mesh, const MeshEdges& edges);

/// Turns faces so that neighbours agree, each component after the majority of its faces. Returns
/// the edges at which that is impossible, as on a Möbius strip.
Index windConsistently(TriangleMesh& mesh);

/// A sixth of Σ ⟨a, b × c⟩ over triangles: the volume of a closed mesh, world units³; negative
/// where it is inside out.
double signedVolume(const TriangleMesh& mesh);

} // namespace vergence::sugar
