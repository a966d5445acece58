#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Measures of a mesh for a table.
struct MeshQuality {
    Index vertices = 0, edges = 0, faces = 0; ///< vertices that are in use
    Index eulerNumber = 0, components = 0, boundaryLoops = 0, boundaryEdges = 0;
    Index nonManifoldEdges = 0, nonManifoldVertices = 0;
    Index windingConflicts = 0;
    double area = 0;                     ///< world units²
    double volume = 0;                   ///< world units³; 0 where open or not consistently wound
    std::array<double, 3> low{}, high{}; ///< bounding box
    double meanEdge = 0;                 ///< world units
    double edgeUniformity = 0;           ///< 1 − standard deviation/mean of edge lengths
    double meanAspect = 0;               ///< of 4·√3·A/Σ edge²: 1 equilateral, 0 a line
    double lowAspectShare = 0;           ///< of faces below 0.3
    std::array<Index, 10> valence{};     ///< vertices of 3 or fewer, 4 … 11, 12 or more edges
    Index sampledFaces = 0;              ///< looked at for intersections
    Index intersectingFaces = 0;         ///< of those, how many cut another face
    double score = 0;                    ///< 0 to 100
    std::string label;                   ///< "excellent", "good", "usable", "poor"

    bool isClosed() const { return faces > 0 && boundaryEdges == 0 && nonManifoldEdges == 0; }
};

/// Measures a mesh. Self-intersections are looked for at `samples` faces, drawn by a fixed seed.
/// The score is 40·mean aspect + 20·(1 − share of low aspect) + 20·edge uniformity (0 to 1)
/// + 20·(1 − penalty), where the penalty is the share of edges that are non-manifold or conflict,
/// ten times, plus 0.1 for every component beyond the first, at most 1. 90 is excellent, 75 good,
/// 60 usable. An empty mesh has the score 0.
MeshQuality measured(const TriangleMesh& mesh, Index samples = 2000);

nlohmann::json toJson(const MeshQuality& quality);
MeshQuality meshQualityFromJson(const nlohmann::json& json);

} // namespace vergence::sugar
