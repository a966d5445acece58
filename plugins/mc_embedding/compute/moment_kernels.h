#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::mc_embedding {

/// norms[r] = max(‖row r‖₂, 1e-12) in double.
struct FeatureNormArguments {
    Index rows = 0, dimensions = 0;
    const float* features = nullptr;
    double* norms = nullptr;
};
inline const Kernel<void(const FeatureNormArguments&)> featureNorms{"mc_embedding.feature_norms"};

/// What post-norm features are shifted by, and what pre-norm ones are, in double.
struct MomentShiftArguments {
    Index images = 0, dimensions = 0;
    const float* features = nullptr; ///< [B, D]
    const double* norms = nullptr;   ///< [B]
    double* shift = nullptr;
    double* postShift = nullptr;
};
inline const Kernel<void(const MomentShiftArguments&)> momentShifts{"mc_embedding.moment_shifts"};

/// sums += δ, δ² of both spaces, pass after pass.
struct MomentArguments {
    Index passes = 0, images = 0, dimensions = 0;
    const float* features = nullptr; ///< [P, B, D]
    const double* norms = nullptr;   ///< [P, B]
    const double* shift = nullptr;   ///< [B, D]
    const double* postShift = nullptr;
    double* sums = nullptr; ///< [4, B, D]
};
inline const Kernel<void(const MomentArguments&)> addMoments{"mc_embedding.add_moments"};

} // namespace vergence::mc_embedding
