#pragma once

#include "core/compute/kernel.h"
#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/seed_math.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {

/// Texel of every ray, [M, K, W, W] on the device; −1 where the ray is lost.
struct SeedTraceArguments {
    SeedOptics optics;
    const float* focals = nullptr; ///< [K]
    const RaySample* samples = nullptr;
    int planes = 0, sampleCount = 0;
    int* texels = nullptr;
};

inline constexpr int kPackRows = 16; ///< rows of a pack

/// A sparse matrix by rows. `weight` is null where all entries are 1.
struct SparseView {
    const int* start = nullptr;
    const int* index = nullptr;
    const float* weight = nullptr;
    Index rows = 0;
    /// The same for whole packs of kPackRows rows, [slots, kPackRows]: slot n of a pack holds entry
    /// n of each of its rows, −1 and 0 where a row has no more. Null on devices that do not use it.
    const int* packStart = nullptr; ///< [rows / kPackRows + 1]
    const int* packIndex = nullptr;
    const float* packWeight = nullptr; ///< null where all entries are 1
};

struct SeedForwardArguments {
    SparseView matrix; ///< pixels by texels
    const float* x = nullptr;
    float* images = nullptr;
    const float* target = nullptr; ///< null: only images are made
    const float* weights = nullptr;
    float* residual = nullptr;
    double* sums = nullptr; ///< [2, L]
    int lanes = 1, resolution = 1;
    int subsetCount = 1, subsetIndex = 0;
    int tileRays = 8192;
};

struct SeedAdjointArguments {
    SparseView matrix; ///< texels by pixels
    const float* residual = nullptr;
    TexelUpdate update;
    TexelSums* sums = nullptr;
    int lanes = 1;
    int tileRays = 8192;
};

/// Residuals outside of a subset of the rows of pixels become 0.
struct SeedMaskArguments {
    float* residual = nullptr; ///< [rows, rowValues]
    Index rows = 0, rowValues = 1;
    int subsetCount = 1, subsetIndex = 0;
};

/// planes[texelOf[n], lane] = x[n, lane], or the other way round.
struct SeedScatterArguments {
    const int* texelOf = nullptr;
    Index count = 0;
    int lanes = 1;
    bool toPlanes = true;
    float* planes = nullptr;
    float* x = nullptr;
};

inline const Kernel<void(const SeedTraceArguments&)> seedTrace{"light_field.seed.trace"};
inline const Kernel<void(const SeedForwardArguments&)> seedForward{"light_field.seed.forward"};
inline const Kernel<void(const SeedAdjointArguments&)> seedAdjoint{"light_field.seed.adjoint"};
inline const Kernel<void(const SeedMaskArguments&)> seedMask{"light_field.seed.mask"};
inline const Kernel<void(const SeedScatterArguments&)> seedScatter{"light_field.seed.scatter"};

} // namespace vergence::light_field
