#pragma once

#include <array>
#include <memory>
#include <vector>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Where the Gaussians of a triangle lie.
struct BindingPattern {
    int count = 1;
    double scale = 0; ///< first in-plane standard deviation over the shortest edge
    std::array<std::array<double, 3>, 6> barycentric{}; ///< `count` rows, each sums to 1
};

/// For 1, 3, 4 or 6 Gaussians a triangle; throws ContractError for others.
/// Source: SuGaR (2024), section 4.3 and supplementary material.
BindingPattern bindingPattern(int perTriangle);

/// What is learnt of bound Gaussians, and likewise its gradients and moments: F32. Gaussian
/// n·f + k is number k of triangle f.
struct BoundArrays {
    Tensor vertex;   ///< [V, 3] world units
    Tensor opacity;  ///< [N] logit
    Tensor logScale; ///< [N, 2] ln of the standard deviations in the plane of the triangle
    Tensor turn;     ///< [N, 2] c + i d: its argument turns the in-plane axes; any length above 0
    Tensor shDc;     ///< [N, 3]
    Tensor shRest;   ///< [N, K, 3]; empty for degree 0

    Index gaussians() const { return opacity.isEmpty() ? 0 : opacity.extent(0); }
    int degree() const;
    /// The six tensors in the order above, the empty shRest left out.
    std::vector<Tensor> groups() const;

    static BoundArrays zeros(Stream& stream, const std::shared_ptr<Device>& device, Index vertices,
                             Index gaussians, int degree);
};

/// What does not change while Gaussians bound to a mesh are learnt.
struct Binding {
    BindingPattern pattern;
    float thickness = 0;   ///< standard deviation along the normal, world units
    Tensor triangle;       ///< [F, 3] I32 rows of BoundArrays::vertex
    Tensor cornerStart;    ///< [V + 1] I32, corners of vertex v are corner[cornerStart[v] …)
    Tensor corner;         ///< [3 F] I32, 3·triangle + corner number, rising for each vertex
    Tensor neighbourStart; ///< [F + 1] I32, neighbours of triangle f across its edges
    Tensor neighbour;      ///< [2 P] I32, each of the P pairs of triangles at an edge twice
    Tensor initialNormal;  ///< [F, 3] unit normals of the mesh that was bound

    Index triangles() const { return triangle.isEmpty() ? 0 : triangle.extent(0); }
    Index vertices() const { return cornerStart.isEmpty() ? 0 : cornerStart.extent(0) - 1; }
    Index gaussians() const { return triangles() * pattern.count; }
    /// P. An edge of more than two triangles has all its pairs.
    Index pairs() const { return neighbour.size() / 2; }
};

/// Throws InputError for a mesh without triangles.
Binding bindToMesh(Stream& stream, const std::shared_ptr<Device>& device, const TriangleMesh& mesh,
                   int perTriangle, double thickness);

/// Gaussians as they start: on the mesh, round, as wide as the pattern says, of the colour of the
/// vertices (mid grey without).
BoundArrays initialParameters(Stream& stream, const Binding& binding, const TriangleMesh& mesh,
                              int degree, double opacity = 0.1);

/// Gaussians that share the tensors of opacity and harmonics with `parameters`; the others are
/// theirs and filled by placeGaussians().
Gaussians boundGaussians(Stream& stream, const Binding& binding, const BoundArrays& parameters);

/// Positions, logarithms of scales and unit quaternions of all Gaussians from vertices, in-plane
/// scales and turns. The first axis is the normal of the triangle, the second points from its
/// second corner to its first one before it is turned.
/// Source: SuGaR (2024), section 4.3.
void placeGaussians(Stream& stream, const Binding& binding, const BoundArrays& parameters,
                    Gaussians& gaussians);

struct PlacementOptions {
    /// Triangles that turned by more than acos(0.2) since they were bound do not move their
    /// vertices.
    bool flipGuard = false;
};

/// The derivative of placeGaussians(), given what it `placed` and the gradients of positions,
/// scales and quaternions: overwrites gradients of vertices, in-plane scales and turns. `scratch`
/// becomes [F, 3, 3] F32. Repeats bit for bit for any number of threads.
void placeGaussiansBackward(Stream& stream, const Binding& binding, const BoundArrays& parameters,
                            const Gaussians& placed, const GaussianArrays& given,
                            BoundArrays& gradients, Tensor& scratch,
                            const PlacementOptions& options = {});

/// w · mean over pairs of triangles at an edge of 1 − ⟨n, n'⟩, whose gradient is added to that of
/// the vertices. Returns the mean without w; 0 where there is no pair. Buffers are kept.
class NormalConsistency {
public:
    double addGradient(Stream& stream, const Binding& binding, const Tensor& vertex, double weight,
                       Tensor& gradVertex);

private:
    Tensor m_normal; ///< [F, 3] unit
    Tensor m_corner; ///< [F, 3, 3] gradients of corners
};

/// w · mean over vertices of the distance to the mean of their neighbours (the uniform mesh
/// Laplacian), whose gradient is added. Returns the mean without w. Vertices of an open border
/// count like others.
class UniformSmoothing {
public:
    UniformSmoothing(Stream& stream, const std::shared_ptr<Device>& device,
                     const TriangleMesh& mesh);
    double addGradient(Stream& stream, const Tensor& vertex, double weight, Tensor& gradVertex);

private:
    Tensor m_start, m_neighbour; ///< [V + 1] and [2 E] I32: vertices at the edges of each vertex
    Tensor m_direction;          ///< [V, 4] unit vector to the mean of the neighbours; its length
};

} // namespace vergence::sugar
