#pragma once

#include <memory>

#include "core/compute/nn/layers.h"

namespace vergence::fvlm {

/// y = λ ⊙ (x Wᵀ + b) + residual as one product with diag(λ) W and λ ⊙ b, made once per tape and
/// used by all who share the layer. Their weight gradients meet in F32 (F64) and are mapped back
/// once: dW += λ_i dW'_ij, dλ_i += Σ_j dW'_ij W_ij + db'_i b_i, db_i += λ_i db'_i.
class FoldedLinear {
public:
    FoldedLinear() = default;
    /// scale: parameter λ [out]. The masters must be F32 or F64.
    FoldedLinear(const ForwardPass& pass, const LinearLayer& layer, int scale);

    /// x [.., in], residual [.., out] → [.., out]
    Value operator()(Graph& graph, Value x, Value residual) const;

private:
    struct Shared;
    std::shared_ptr<Shared> m_shared; ///< with the derivative, which runs later
};

} // namespace vergence::fvlm
