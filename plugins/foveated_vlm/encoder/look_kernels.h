#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// Rows of heads per frame: element j of head h of row r of frame f lies at
/// data[f · frame + r · row + h · headSize + j].
struct FrameRows {
    void* data = nullptr;
    Index frame = 0, row = 0;
};

/// M queries of H heads of d numbers, each against the `seen` rows of one of F frames.
struct LookProblem {
    DType type = DType::F32;
    Index queries = 0, frames = 0, seen = 0, heads = 0, headSize = 0;
    double scale = 1;                      ///< of q·k
    const std::int32_t* frameOf = nullptr; ///< [M]; null: query i at frame i

    Index width() const { return heads * headSize; }
};

/// logits[m, h, n] = scale · q·k, F32 (F64).
struct LookLogitsArguments {
    LookProblem problem;
    const void* q = nullptr; ///< [M, H · d]
    FrameRows keys;
    void* logits = nullptr; ///< [M, H, seen]
};
inline const Kernel<void(const LookLogitsArguments&)> lookLogits{"fvlm.look_logits"};

/// kept[m, h, n] = the logit where it is among the k largest of its row (of equal ones those that
/// come first), else −∞.
struct KeepLargestArguments {
    DType type = DType::F32; ///< F32 or F64
    Index rows = 0, columns = 0, count = 0;
    const void* logits = nullptr;
    void* kept = nullptr; ///< not the logits
};
inline const Kernel<void(const KeepLargestArguments&)> keepLargest{"fvlm.keep_largest"};

/// y[m, h, :] = Σ_n weights[m, h, n] · rows[frame, n, h, :]: with weights and values the look
/// itself, with gradients of logits and keys the gradient of q.
struct LookMixArguments {
    LookProblem problem;
    const void* weights = nullptr; ///< [M, H, seen]
    FrameRows rows;
    void* y = nullptr; ///< [M, H · d]
    bool accumulate = false;
};
inline const Kernel<void(const LookMixArguments&)> lookMix{"fvlm.look_mix"};

/// entropy[m, h] = −Σ_n P ln P, nats, F32 (F64).
struct LookEntropyArguments {
    LookProblem problem;
    const void* weights = nullptr; ///< [M, H, seen]
    void* entropy = nullptr;       ///< [M, H]
};
inline const Kernel<void(const LookEntropyArguments&)> lookEntropy{"fvlm.look_entropy"};

/// gradLogits[m, h, n] = scale · P (dP − Σ P dP) with dP = gradO·v − gradEntropy · ln P: the
/// gradient of q·k.
struct LookGradientArguments {
    LookProblem problem;
    const void* weights = nullptr;     ///< [M, H, seen]
    const void* gradO = nullptr;       ///< [M, H · d]
    const void* gradEntropy = nullptr; ///< [M, H] F32 (F64); null: 0
    FrameRows values;
    void* gradLogits = nullptr; ///< [M, H, seen]
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
/// At most so many in one go.
struct LookGradients {
    static constexpr int kMost = 8;
    LookGradient look[kMost];
    int count = 0;
};

/// gradKeys[f, n, h, :] (+)= Σ_m gradLogits · q, gradValues (+)= Σ_m weights · gradO over the
/// queries at frame f, looks and queries in order. Row n lies at row firstRow + n; others of the
/// `rows` become 0 where overwritten. Keys and values may be the same rows: they take both sums.
struct LookKeysArguments {
    LookProblem problem; ///< its queries and frameOf are not read
    LookGradients looks;
    FrameRows gradKeys, gradValues;
    Index firstRow = 0, rows = 0;
    bool accumulate = false; ///< false: overwritten
};
inline const Kernel<void(const LookKeysArguments&)> lookKeys{"fvlm.look_keys"};

} // namespace vergence::fvlm
