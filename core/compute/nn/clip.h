#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compute/nn/block.h"
#include "core/compute/nn/tokens.h"

namespace vergence {

/// Extents of one tower of CLIP or SigLIP; heads have width / heads channels.
struct TowerConfig {
    Index width = 0;
    int layers = 0;
    int heads = 0;
    Index hidden = 0;
    Activation activation = Activation::QuickGelu;
    double epsilon = 1e-5;

    BlockConfig block() const;
};

/// Image tower of CLIP: Learning Transferable Visual Models From Natural Language Supervision
/// (2021). Tensor names of Hugging Face's CLIPModel.
class ClipVisionTower {
public:
    ClipVisionTower(const Declaration& where, const TowerConfig& config, int patch, Index patches,
                    Index projection);

    /// pixels [B, 3, H, W], normalised → tokens after the first norm [B, 1 + patches, width]
    Value embed(const ForwardPass& pass, Value pixels) const;
    /// Tokens after all blocks → feature [B, projection], not normalised
    Value pool(const ForwardPass& pass, Value tokens) const;
    Value operator()(const ForwardPass& pass, Value pixels) const;

    const std::vector<TransformerBlock>& blocks() const { return m_blocks; }

    // The parts, for those who join them otherwise.

    const LinearLayer& patches() const { return m_patches; }
    int classEmbedding() const { return m_classEmbedding; } ///< parameter [width]
    int positions() const { return m_positions; }           ///< parameter [1 + patches, width]
    const NormLayer& preNorm() const { return m_preNorm; }
    const NormLayer& postNorm() const { return m_postNorm; }
    const LinearLayer& projection() const { return m_projection; }

private:
    int m_patch;
    int m_classEmbedding = -1, m_positions = -1;
    LinearLayer m_patches, m_projection;
    NormLayer m_preNorm, m_postNorm;
    std::vector<TransformerBlock> m_blocks;
};

/// Text tower of CLIP: causal, pooled where a text holds its largest id (end of text).
class ClipTextTower {
public:
    ClipTextTower(const Declaration& where, const TowerConfig& config, Index vocabulary,
                  Index context, Index projection);

    /// ids: texts × length numbers in host memory, length ≤ context → [texts, projection]
    Value operator()(const ForwardPass& pass, std::span<const std::int32_t> ids, Index texts) const;

    const std::vector<TransformerBlock>& blocks() const { return m_blocks; }

private:
    TokenEmbedding m_embedding;
    LinearLayer m_projection;
    NormLayer m_norm;
    std::vector<TransformerBlock> m_blocks;
};

} // namespace vergence
