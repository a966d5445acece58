#pragma once

#include <cstdint>

#include "core/compute/dense.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/mc_embedding/compute/mask_math.h"

namespace vergence::mc_embedding {

// The steps between the products of a tower: each goes once over the rows of a tile of sequences.
// Row r of a tile is token r % tokens of its sequence r / tokens.

/// Rows [sequences, rowsEach, C] of which the first `tokens` of every sequence are read: either the
/// tile's own, or those of images, shared by all passes: sequence s of the batch then reads image
/// s % images.
struct RowSource {
    const void* data = nullptr;
    Index rowsEach = 0;
    Index images = 0; ///< 0: the tile's own
    Index first = 0;  ///< number in the batch of the tile's first sequence

    VERGENCE_HD Index row(Index row, Index tokens) const
    {
        const Index sequence = row / tokens;
        return (images > 0 ? (first + sequence) % images : sequence) * rowsEach + row % tokens;
    }
};

/// A mask of maskBits over [rows, C]; none where `bits` is null.
struct RowMask {
    const std::uint16_t* bits = nullptr;
    float scale = 1;
};

/// One coin for a whole branch of a sequence.
struct BranchCoin {
    int site = -1; ///< −1: the branch is always there
    DropRate rate;
    std::uint64_t seed = 0;
    const SequenceKey* keys = nullptr; ///< [sequences of the tile]
};

/// LayerNorm over rows; weight and bias F32.
struct RowNormWeights {
    const float* weight = nullptr; ///< null: no norm
    const float* bias = nullptr;
    float epsilon = 0;
};

/// y = x ⊙ masks, in `segments` parts of C columns with masks of their own; x and y of one type.
struct MaskRowsArguments {
    DType type = DType::F32;
    Index rows = 0, tokens = 1, columns = 0; ///< of one segment
    int segments = 1;
    RowSource x;
    RowMask mask[3];
    RowMask second;
    void* y = nullptr; ///< [rows, segments, columns]; may be x
};
inline const Kernel<void(const MaskRowsArguments&)> maskRows{"mc_embedding.mask_rows"};

/// y = activation(x ⊙ before) ⊙ after.
struct ActivateRowsArguments {
    DType type = DType::F32;
    Activation activation = Activation::QuickGelu;
    Index rows = 0, tokens = 1, columns = 0;
    RowSource x;
    RowMask before, after;
    void* y = nullptr;
};
inline const Kernel<void(const ActivateRowsArguments&)> activateRows{"mc_embedding.activate_rows"};

/// x = (residual + branch ⊙ first ⊙ second · coin) ⊙ last; normed = norm(x).
struct AddRowsArguments {
    DType normedType = DType::F32;
    Index rows = 0, tokens = 1, columns = 0;
    RowSource branch;   ///< F32
    RowSource residual; ///< F32; data null: 0
    RowMask first, second, last;
    BranchCoin coin;
    float* x = nullptr; ///< may be the residual
    RowNormWeights norm;
    void* normed = nullptr;
};
inline const Kernel<void(const AddRowsArguments&)> addRows{"mc_embedding.add_rows"};

/// Tokens from patches: x = pre(([class; patches ⊙ patchMask] + positions) ⊙ positionMask), normed
/// = norm(x). Each norm may be absent.
struct EmbedRowsArguments {
    DType normedType = DType::F32;
    Index sequences = 0, tokens = 0, columns = 0;
    RowSource patches;                 ///< F32 [.., tokens or tokens − 1, C]
    const float* classToken = nullptr; ///< [C]; null: none
    const float* positions = nullptr;  ///< [tokens, C]
    RowMask patchMask, positionMask;
    float* x = nullptr;
    RowNormWeights pre, norm;
    void* normed = nullptr;
};
inline const Kernel<void(const EmbedRowsArguments&)> embedRows{"mc_embedding.embed_rows"};

/// normed = norm(x) for rows of F32; normed may be x.
struct NormRowsArguments {
    DType normedType = DType::F32;
    Index rows = 0, tokens = 1, columns = 0;
    RowSource x;
    RowNormWeights norm;
    void* normed = nullptr;
};
inline const Kernel<void(const NormRowsArguments&)> normRows{"mc_embedding.norm_rows"};

/// The patches of pictures as rows of (channel, y, x), normalised; the pixels beyond the last patch
/// are not read.
struct PatchRowsArguments {
    DType type = DType::F32;
    /// U8 [images, side, side, 3], or F32 or F16 [images, 3, side, side] normalised already;
    /// rowsEach is not read
    RowSource pixels;
    DType pixelType = DType::U8;
    int side = 0, patch = 0;
    Index sequences = 0;
    float mean[3] = {}, deviation[3] = {1, 1, 1}; ///< of value / 255
    void* y = nullptr;                            ///< [sequences, patches, 3 · patch²]
};
inline const Kernel<void(const PatchRowsArguments&)> patchRows{"mc_embedding.patch_rows"};

/// In place, x = x + s · σ · n or x · (1 + s · n), n normal numbers of (sequence, site, element).
struct NoiseRowsArguments {
    DType type = DType::F32;
    Index rows = 0, tokens = 1, columns = 0;
    Index rowStride = 0; ///< elements from row to row
    void* x = nullptr;
    int site = 0;
    std::uint64_t seed = 0;
    const SequenceKey* keys = nullptr;
    double magnitude = 0;
    const double* spread = nullptr; ///< [sequences] σ; null: the value itself
};
inline const Kernel<void(const NoiseRowsArguments&)> noiseRows{"mc_embedding.noise_rows"};

/// Standard deviation (population) over the tokens and columns of each sequence.
struct SpreadRowsArguments {
    DType type = DType::F32;
    Index sequences = 0, tokens = 1, columns = 0;
    Index rowStride = 0;
    const void* x = nullptr;
    double* spread = nullptr; ///< [sequences]
};
inline const Kernel<void(const SpreadRowsArguments&)> spreadRows{"mc_embedding.spread_rows"};

} // namespace vergence::mc_embedding
