#pragma once

#include <cstdint>

#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::sugar {

/// Gaussians of one triangle: `count` rows of barycentric coordinates.
struct PlacementRows {
    int count = 0;
    float barycentric[6][3] = {};
};

/// placeGaussians(): one item per triangle.
struct PlaceArguments {
    Index triangles = 0;
    PlacementRows rows;
    float logThickness = 0;
    const std::int32_t* triangle = nullptr;                              ///< [F, 3]
    const float *vertex = nullptr, *logScale = nullptr, *turn = nullptr; ///< as in BoundArrays
    float *position = nullptr, *logScales = nullptr,
          *rotation = nullptr; ///< [N, 3], [N, 3], [N, 4]
};
inline const Kernel<void(const PlaceArguments&)> placeBound{"sugar.place_bound"};

/// Its derivative, up to the corners of triangles.
struct PlaceBackwardArguments {
    Index triangles = 0;
    PlacementRows rows;
    const std::int32_t* triangle = nullptr;
    const float *vertex = nullptr, *turn = nullptr;
    const float* initialNormal = nullptr; ///< [F, 3], or null without the flip guard
    float leastCosine = 0;
    const float* rotation = nullptr; ///< [N, 4] as placed
    const float *gradPosition = nullptr, *gradLogScales = nullptr, *gradRotation = nullptr;
    float *gradLogScale = nullptr, *gradTurn = nullptr; ///< [N, 2] each, overwritten
    float* gradCorner = nullptr;                        ///< [F, 3, 3] overwritten
};
inline const Kernel<void(const PlaceBackwardArguments&)> placeBoundBackward{
    "sugar.place_bound_backward"};

/// gradVertex[v] = Σ of the gradients of its corners, added where `adds`.
struct CornerArguments {
    Index vertices = 0;
    const std::int32_t *start = nullptr, *corner = nullptr;
    const float* gradCorner = nullptr;
    bool adds = false;
    float* gradVertex = nullptr;
};
inline const Kernel<void(const CornerArguments&)> gatherCorners{"sugar.gather_corners"};

/// Unit normals of triangles, 0 for those without area.
struct NormalArguments {
    Index triangles = 0;
    const std::int32_t* triangle = nullptr;
    const float* vertex = nullptr;
    float* normal = nullptr; ///< [F, 3]
};
inline const Kernel<void(const NormalArguments&)> triangleNormals{"sugar.triangle_normals"};

/// Σ over triangles of (number of neighbours − ⟨n, Σ n'⟩), brought to the host, and what
/// −factor Σ n' as gradient of n gives the corners. Waits for the stream.
struct ConsistencyArguments {
    Index triangles = 0;
    const std::int32_t *triangle = nullptr, *start = nullptr, *neighbour = nullptr;
    const float *vertex = nullptr, *normal = nullptr;
    float factor = 0;
    float* gradCorner = nullptr; ///< [F, 3, 3] overwritten
    double* sum = nullptr;
};
inline const Kernel<void(const ConsistencyArguments&)> normalConsistency{
    "sugar.normal_consistency"};

/// Σ over vertices of |δ|, δ = mean of the neighbours − vertex, brought to the host, and its
/// gradient times `factor`, added. Waits for the stream.
struct SmoothingArguments {
    Index vertices = 0;
    const std::int32_t *start = nullptr, *neighbour = nullptr;
    const float* vertex = nullptr;
    float factor = 0;
    float* direction = nullptr; ///< [V, 4] δ/|δ| and |δ|; overwritten
    float* gradVertex = nullptr;
    double* sum = nullptr;
};
inline const Kernel<void(const SmoothingArguments&)> uniformSmoothing{"sugar.uniform_smoothing"};

} // namespace vergence::sugar
