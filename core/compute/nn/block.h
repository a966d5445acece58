#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compute/nn/layers.h"

namespace vergence {

/// One pre-norm transformer block: x += λ1 · out(attention(norm1 x)), x += λ2 · mlp(norm2 x).
struct BlockConfig {
    Index width = 0;
    int heads = 0;
    int keyHeads = 0;   ///< 0: as many as heads
    Index headSize = 0; ///< 0: width / heads
    Index hidden = 0;   ///< of the MLP
    Activation activation = Activation::GeluErf;
    bool gated = false; ///< down(silu(gate x) ⊙ up x) instead of fc2(activation(fc1 x))
    bool rms = false;   ///< RMSNorm instead of LayerNorm
    bool biases = true;
    bool layerScale = false; ///< λ1, λ2 as parameters, else 1
    double epsilon = 1e-6;
    double deviation = 0.02; ///< of start values

    Index headWidth() const { return headSize > 0 ? headSize : width / heads; }
    int keyHeadCount() const { return keyHeads > 0 ? keyHeads : heads; }
};

/// How a family of models calls the parameters of a block.
struct BlockNames {
    std::string norm1, query, key, value, output, norm2, fc1, gate, fc2, scale1, scale2;
};
extern const BlockNames kDinoNames;  ///< DINOv2
extern const BlockNames kClipNames;  ///< CLIP, SigLIP, vision and text
extern const BlockNames kLlamaNames; ///< Llama; fc1 is up_proj

class TransformerBlock {
public:
    /// [B, S, (heads + 2 keyHeads) · headSize] → [B, S, heads · headSize]. Kept until backward() by
    /// segments, so it owns what it refers to.
    using Attend = std::function<Value(Graph&, Value qkv)>;

    /// q, k, v are one parameter with windows of their names in model files, and so are gate, up.
    TransformerBlock(const Declaration& where, const BlockConfig& config, const BlockNames& names);

    /// x [B, S, width] → the same. `index` is told to the hook.
    Value operator()(const ForwardPass& pass, Value x, int index, const Attend& attend) const;
    /// Attention within x as `args` says.
    Attend attention(const AttentionArgs& args = {},
                     const std::optional<RopeArgs>& rotary = {}) const;

    // The parts, for those who join them otherwise.

    const BlockConfig& config() const { return m_config; }
    const NormLayer& norm1() const { return m_norm1; }
    const NormLayer& norm2() const { return m_norm2; }
    const LinearLayer& qkv() const { return m_qkv; } ///< rows of q, then k, then v
    const LinearLayer& output() const { return m_output; }
    const LinearLayer& fc1() const { return m_fc1; } ///< rows of gate, then up where gated
    const LinearLayer& fc2() const { return m_fc2; }
    int scale1() const { return m_scale1; } ///< parameter λ1; −1: none
    int scale2() const { return m_scale2; }
    /// residual + λ1 · (context Woᵀ + bo)
    Value project(const ForwardPass& pass, Value context, Value residual, int index) const;
    /// x + λ2 · mlp(norm2 x)
    Value feedForward(const ForwardPass& pass, Value x, int index) const;

private:
    Value run(const ForwardPass& pass, Value x, int index, const Attend& attend) const;
    Value addBranch(const ForwardPass& pass, const LinearLayer& last, int scale, Value x,
                    Value residual, int index, Site site) const;

    BlockConfig m_config;
    NormLayer m_norm1, m_norm2;
    LinearLayer m_qkv, m_output, m_fc1, m_fc2; ///< m_fc1: gate and up where gated
    int m_scale1 = -1, m_scale2 = -1;
};

/// All blocks of a tower, named `name`.0, `name`.1, …
std::vector<TransformerBlock> declareBlocks(const Declaration& where, const std::string& name,
                                            int count, const BlockConfig& config,
                                            const BlockNames& names);

} // namespace vergence
