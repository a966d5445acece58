#pragma once

#include "core/compute/kernel.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {

/// A number per lane.
struct LaneValues {
    float value[kMaxLanes] = {};
};

/// ω from the region of interest: roi where the mask is set, background elsewhere. [V] each.
struct WeightArguments {
    const float* mask = nullptr;
    float roi = 1, background = 1;
    float* weights = nullptr;
    Index count = 0;
};

/// out = λ (4 z − neighbours) for every texel, fewer neighbours at the panel's edge. [K, R, R, L]
/// each.
struct LaplacianArguments {
    const float* z = nullptr;
    float* out = nullptr;
    Index texels = 0;
    int panel = 0, lanes = 1;
    float lambda = 0;
};

/// y[i] = a[lane] x[i] + b[lane] y[i] for [N, L] values.
struct CombineArguments {
    const float* x = nullptr;
    float* y = nullptr;
    Index count = 0; ///< N
    int lanes = 1;
    LaneValues a, b;
};

/// out[i] = x[i] / d[i / L] where d > 0, else 0; without x, 1/d.
struct DivideArguments {
    const float* x = nullptr;
    const float* d = nullptr;
    float* out = nullptr;
    Index count = 0;
    int lanes = 1;
};

/// Panels [planes, side, side, L] to twice the side, bilinear between texel centres.
struct EnlargeArguments {
    const float* x = nullptr;
    float* out = nullptr;
    Index planes = 0;
    int side = 0, lanes = 1;
};

/// sums[lane] = Σ x[i] y[i] w[i / L]; w may be null. On the host; waits for the stream.
struct DotArguments {
    const float* x = nullptr;
    const float* y = nullptr;
    const float* w = nullptr;
    Index count = 0;
    int lanes = 1;
    double* sums = nullptr;
};

inline const Kernel<void(const WeightArguments&)> weightKernel{"light_field.vector.weight"};
inline const Kernel<void(const LaplacianArguments&)> laplacianKernel{
    "light_field.vector.laplacian"};
inline const Kernel<void(const CombineArguments&)> combineKernel{"light_field.vector.combine"};
inline const Kernel<void(const DivideArguments&)> divideKernel{"light_field.vector.divide"};
inline const Kernel<void(const EnlargeArguments&)> enlargeKernel{"light_field.vector.enlarge"};
inline const Kernel<void(const DotArguments&)> dotKernel{"light_field.vector.dot"};

} // namespace vergence::light_field
