#pragma once

#include "core/compute/host_device.h"
#include "core/compute/view.h"

namespace vergence::light_field {

/// What happens to a texel once its gradient is known.
enum class UpdateKind : int {
    Store,     ///< gradient[i] = g
    Projected, ///< x⁺ = clamp(z − g/d, 0, 1), z = x⁺ + μ (x⁺ − x); texels with d = 0 stay
    Adam,      ///< Adam or AdamW step on x, clamped
};

inline constexpr int kMaxLanes = 16;

/// Arguments of an update for all texels; arrays lie on the device of the operator. Element type
/// `Real` of the operator.
struct TexelUpdate {
    UpdateKind kind = UpdateKind::Store;
    void* gradient = nullptr; ///< [N, L]; Store
    void* x = nullptr;        ///< [N, L]; Projected, Adam
    void* z =
        nullptr; ///< [N, L] extrapolated point; Projected. May equal x where all momenta are 0
    const void* diagonal = nullptr; ///< [N] d; Projected. Adam: column sums, texels with 0 stay
    const void* smoothness =
        nullptr;            ///< [N, L] λ_s times the negative Laplacian, added to g; may be null
    void* first = nullptr;  ///< [N, L] first moment; Adam
    void* second = nullptr; ///< [N, L] second moment; Adam
    float momentum[kMaxLanes] = {}; ///< μ per lane; Projected
    double gradientScale = 1;       ///< Adam: factor from Aᵀe to the gradient of the loss
    double learningRate = 0, decay = 0, epsilon = 0;
    double correction1 = 1, correction2 = 1; ///< 1 − β₁ᵗ, 1 − β₂ᵗ
};

/// Sums that an update adds up, per texel.
struct TexelSums {
    double restart[kMaxLanes];
    double gradientSquared;
    double atZero, atOne;
};

} // namespace vergence::light_field
