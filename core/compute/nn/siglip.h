#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compute/nn/clip.h"

namespace vergence {

/// Image tower of SigLIP: Sigmoid Loss for Language Image Pre-Training (2023), pooled by one
/// attention with a learned query. Tensor names of Hugging Face's SiglipModel. config.activation
/// and epsilon as the model says (tanh-GELU, 1e-6).
class SiglipVisionTower {
public:
    SiglipVisionTower(const Declaration& where, const TowerConfig& config, int patch,
                      Index patches);

    /// pixels [B, 3, H, W], normalised → [B, patches, width]; H and W give as many patches as the
    /// model has positions.
    Value embed(const ForwardPass& pass, Value pixels) const;
    /// last_hidden_state: after all blocks and the final norm.
    Value states(const ForwardPass& pass, Value pixels) const;
    /// pooler_output [B, width] of states. The head tells the hook the block number after the last.
    Value pool(const ForwardPass& pass, Value states) const;
    Value operator()(const ForwardPass& pass, Value pixels) const;

    const std::vector<TransformerBlock>& blocks() const { return m_blocks; }

    // The parts, for those who join them otherwise.

    const LinearLayer& patches() const { return m_patches; }
    int positions() const { return m_positions; } ///< parameter [patches, width]
    int probe() const { return m_probe; }         ///< parameter [1, 1, width]
    const NormLayer& postNorm() const { return m_postNorm; }
    const LinearLayer& headQkv() const { return m_headQkv; } ///< rows of q, then k, then v
    const LinearLayer& headOut() const { return m_headOut; }
    const NormLayer& headNorm() const { return m_headNorm; }
    const LinearLayer& headFc1() const { return m_headFc1; }
    const LinearLayer& headFc2() const { return m_headFc2; }

private:
    TowerConfig m_config;
    int m_patch;
    int m_positions = -1, m_probe = -1;
    LinearLayer m_patches, m_headQkv, m_headOut, m_headFc1, m_headFc2;
    NormLayer m_postNorm, m_headNorm;
    std::vector<TransformerBlock> m_blocks;
};

/// Text tower of SigLIP: no mask, the last position pooled even where it is padding, so every text
/// has as many ids as there are positions. Tensor names of Hugging Face's SiglipModel.
class SiglipTextTower {
public:
    SiglipTextTower(const Declaration& where, const TowerConfig& config, Index vocabulary,
                    Index context, Index projection);

    /// ids: texts × context numbers in host memory → [texts, projection], not normalised
    Value operator()(const ForwardPass& pass, std::span<const std::int32_t> ids, Index texts) const;

    const std::vector<TransformerBlock>& blocks() const { return m_blocks; }

private:
    TokenEmbedding m_embedding;
    LinearLayer m_head;
    NormLayer m_norm;
    std::vector<TransformerBlock> m_blocks;
};

} // namespace vergence
