#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// Rows of a head per frame: element j of row r of head h of frame f lies at
/// data[f · frame + r · row + h · headSize + j].
struct FrameRows {
    void* data = nullptr;
    Index frame = 0, row = 0;
};

/// M queries of H heads, each against the `seen` rows of one of F frames.
struct LookProblem {
    DType type = DType::F32;
    Index queries = 0, frames = 0, seen = 0, heads = 0, headSize = 0;
    double scale = 1;                      ///< of q·k
    Index topK = 0;                        ///< 0 or ≥ seen: all rows count
    const std::int32_t* frameOf = nullptr; ///< [M]; null: query i at frame i

    VERGENCE_HD Index frame(Index query) const { return frameOf ? frameOf[query] : query; }
};

/// weights[m, h, n] = softmax over n of scale · q·k, F32 (F64). logits: the same shape, scratch,
/// read only with topK.
struct LookWeightsArguments {
    LookProblem problem;
    const void* q = nullptr; ///< [M, H · d]
    FrameRows keys;
    void* logits = nullptr;
    void* weights = nullptr;
};
inline const Kernel<void(const LookWeightsArguments&)> lookWeights{"fvlm.look_weights"};

/// y[m, h, :] = Σ_n weights[m, h, n] · rows[frame, n, h, :]; with weights of lookWeights and values
/// the look itself, with gradients of logits and keys the gradient of q.
struct LookMixArguments {
    LookProblem problem;
    const void* weights = nullptr;
    FrameRows rows;
    void* y = nullptr; ///< [M, H · d]
    bool accumulate = false;
};
inline const Kernel<void(const LookMixArguments&)> lookMix{"fvlm.look_mix"};

/// gradLogits[m, h, n] = scale · P (dP − Σ P dP), dP = gradO·v.
struct LookGradientArguments {
    LookProblem problem;
    const void* weights = nullptr;
    const void* gradO = nullptr; ///< [M, H · d]
    FrameRows values;
    void* gradLogits = nullptr; ///< [M, H, seen] F32 (F64)
};
inline const Kernel<void(const LookGradientArguments&)> lookGradient{"fvlm.look_gradient"};

/// What one look adds to the gradients of the keys and values it saw.
struct LookGradient {
    Index queries = 0;
    const std::int32_t* frameOf = nullptr;
    const void* q = nullptr;          ///< [M, H · d]
    const void* gradO = nullptr;      ///< [M, H · d]
    const void* weights = nullptr;    ///< [M, H, seen]
    const void* gradLogits = nullptr; ///< [M, H, seen]
};
/// At most so many at once.
struct LookGradients {
    static constexpr int kMost = 8;
    LookGradient look[kMost];
    int count = 0;
};

/// gradKeys[f, n, h, :] (+)= Σ_m gradLogits · q, gradValues (+)= Σ_m weights · gradO over the
/// queries at frame f, looks and queries in order. Keys and values may be the same rows; both sums
/// are then added.
struct LookKeysArguments {
    LookProblem problem; ///< queries and frameOf are those of the looks
    LookGradients looks;
    FrameRows gradKeys, gradValues;
    bool accumulate = false; ///< false: overwritten
};
inline const Kernel<void(const LookKeysArguments&)> lookKeys{"fvlm.look_keys"};

} // namespace vergence::fvlm
