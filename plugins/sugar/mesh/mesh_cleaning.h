#pragma once

#include <functional>
#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

// Repairs of reconstructed meshes. All change the mesh in place, keep the order of what stays, and
// return how many faces went; vertices that no face uses go too.

/// Faces at vertices whose `density` [V] lies below its quantile (0 to 1). A quantile of 0 and an
/// empty density do nothing.
/// Source: SuGaR (2024), supplementary material on Poisson reconstruction.
Index removeSparse(TriangleMesh& mesh, const std::vector<float>& density, double quantile);

/// Components of fewer than `share` of all faces or fewer than `least` faces. The largest stays.
Index removeSmallComponents(TriangleMesh& mesh, double share = 0.001, Index least = 50);

/// Makes one of vertices at the very same place, and drops faces that thereby use one twice.
Index mergeDuplicateVertices(TriangleMesh& mesh);
/// All but the first of faces with the same three vertices, in any order.
Index removeDuplicateFaces(TriangleMesh& mesh);
/// Faces that use a vertex twice, have an area below `leastArea` (world units²) or a position that
/// is not finite.
Index removeDegenerateFaces(TriangleMesh& mesh, double leastArea);
/// At edges of more than two faces, all but the largest and the largest of those wound to go with
/// it; where all are wound alike, all but the two largest.
Index removeNonManifoldEdges(TriangleMesh& mesh);
/// Gives every fan of faces at a vertex a vertex of its own. Returns how many were added.
Index splitNonManifoldVertices(TriangleMesh& mesh);

/// What cleaned() did.
struct CleaningReport {
    Index sparse = 0, smallParts = 0, duplicates = 0, degenerate = 0, nonManifold = 0; ///< faces
    Index splitVertices = 0; ///< vertices added

    bool operator==(const CleaningReport&) const = default;
};

struct CleaningSettings {
    double quantile = 0;       ///< of density, 0 to 1
    double smallShare = 0.001; ///< of all faces
    Index smallFaces = 50;     ///< faces
    double leastArea = 0;      ///< world units²; 1e-12 E² of the scene's extent E is usual
};

/// Duplicates, degenerate faces and non-manifold edges, after sparse vertices and before small
/// components. For reconstructions, and with an empty density for meshes after decimation.
/// `isStopped` is asked before each of these; where it says so, the rest is not done.
CleaningReport clean(TriangleMesh& mesh, const std::vector<float>& density,
                     const CleaningSettings& settings,
                     const std::function<bool()>& isStopped = {});

} // namespace vergence::sugar
