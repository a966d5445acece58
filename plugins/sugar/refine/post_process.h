#pragma once

#include <array>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

// What is done to a finished mesh, one function a step, each from a mesh to a new one. Normals of
// vertices are dropped where positions change. Colours and groups follow.

/// Deletes triangles at the border where there is little: those with an open edge whose centre has
/// at most `density` = Σ o exp(−½ |S⁻¹ Rᵀ (x − p)|²) of the 16 nearest Gaussians; `rounds` times,
/// each from the border that the last one left. Axes count as at least `leastScale` wide (world
/// units), so that Gaussians without thickness have a density beside their plane.
TriangleMesh withoutThinBorder(const TriangleMesh& mesh, const GaussianCloud& refined,
                               double leastScale, double density = 0.1, int rounds = 5);

/// The connected component with the most triangles.
TriangleMesh withLargestComponent(const TriangleMesh& mesh);
/// Without components of fewer triangles.
TriangleMesh withoutSmallComponents(const TriangleMesh& mesh, Index leastTriangles);

/// Closes open borders of at most `edges` edges with triangles between the border's own vertices,
/// those of the least area together. Takes edges³ steps a border.
/// Source: Filling gaps in the boundary of a polyhedron (1995), section 3, without the merging of
/// borders.
TriangleMesh withFilledHoles(const TriangleMesh& mesh, Index edges);

/// Steps of λ then μ towards the mean of the neighbours: a low-pass filter that does not shrink.
/// Source: A signal processing approach to fair surface design (1995), section 3.
TriangleMesh smoothed(const TriangleMesh& mesh, int iterations, double lambda = 0.5,
                      double mu = -0.53);

/// p ↦ scale · R p + translation.
struct Similarity {
    std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1}; ///< row-major
    double scale = 1;
    std::array<double, 3> translation{};
};
TriangleMesh transformed(const TriangleMesh& mesh, const Similarity& similarity);

/// Puts the largest plane of the mesh on z = 0 with the rest of the mesh above it: the plane with
/// the most area within `tolerance` (world units) of `tries` planes through triangles, refined by
/// least squares. Throws InputError for a mesh without area.
Similarity groundAlignment(const TriangleMesh& mesh, double tolerance, int tries = 256,
                           std::uint64_t seed = 1);
/// Centre of the bounding box to the origin, its longest side to `side`.
Similarity unitAlignment(const TriangleMesh& mesh, double side = 1);

struct Box {
    std::array<double, 3> low{}, high{};
};
/// Triangles whose three corners lie in the box; no triangle is cut.
TriangleMesh cropped(const TriangleMesh& mesh, const Box& box);

} // namespace vergence::sugar
