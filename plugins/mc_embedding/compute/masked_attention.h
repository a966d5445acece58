#pragma once

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/mc_embedding/compute/mask_math.h"

namespace vergence::mc_embedding {

/// Attention whose probabilities are masked: one query of one head after another, plain and slow.
/// Rows of q, k, v lie `stride` elements apart, heads beside one another.
struct MaskedAttentionArguments {
    static constexpr Index kLargestHead = 128;

    DType type = DType::F32;
    Index sequences = 0, queries = 0, keys = 0, heads = 0, headSize = 0;
    const void* q = nullptr;
    const void* k = nullptr;
    const void* v = nullptr;
    Index queryStride = 0, keyStride = 0; ///< elements; keyStride of k and v
    void* o = nullptr;                    ///< [sequences, queries, heads, headSize]
    int site = 0;
    DropRate rate;
    std::uint64_t seed = 0;
    const SequenceKey* sequenceKeys = nullptr; ///< null: nothing is masked; rate then of 0
};
inline const Kernel<void(const MaskedAttentionArguments&)> maskedAttention{
    "mc_embedding.masked_attention"};

} // namespace vergence::mc_embedding
