#pragma once

#include <vector>

#include "core/compute/nn/block.h"

namespace vergence {

/// LLaMA: Open and Efficient Foundation Language Models (2023) with grouped queries. Defaults are
/// SmolLM2-135M; every number of a real model comes from its config.json.
struct LlamaConfig {
    Index width = 576;
    int layers = 30;
    int heads = 9;
    int keyHeads = 3;
    Index headSize = 0; ///< 0: width / heads
    Index hidden = 1536;
    Index vocabulary = 49152;
    double theta = 100000;
    double epsilon = 1e-5;
    bool tied = true;            ///< the head is the embedding
    double deviation = 1.0 / 24; ///< of start values
};

/// Keys (after rotation) and values of all positions so far, for decoding.
struct KeyValueCache {
    std::vector<Tensor> keys, values; ///< per layer [B, capacity, keyHeads, headSize]
    Index length = 0;                 ///< positions that are filled
    Index capacity = 0;
};

/// Tensor names of Hugging Face's LlamaForCausalLM.
class LlamaModel {
public:
    LlamaModel(const Declaration& where, const LlamaConfig& config);

    /// ids I32, any shape → [..ids, width]
    Value embed(const ForwardPass& pass, const Tensor& ids) const;
    /// x [B, S, width] → states after the final norm. Causal; `attention` may add key counts or
    /// segments, `positions` ([S] or [B, S] I32) replaces 0, 1, …
    Value states(const ForwardPass& pass, Value x, const AttentionArgs& attention = {},
                 const Tensor* positions = nullptr) const;
    /// The next S positions of every sequence: reads and fills the cache. Inference only. Throws
    /// ContractError where the capacity is exceeded.
    Value extend(const ForwardPass& pass, Value x, KeyValueCache& cache) const;
    KeyValueCache makeCache(const ParameterSet& parameters, Index batch, Index capacity) const;

    /// [.., width] → [.., vocabulary]
    Value logits(const ForwardPass& pass, Value states) const;
    /// Mean cross-entropy of labels (I32, as many as rows of states; negative ones do not count)
    /// without holding all logits.
    Value loss(const ForwardPass& pass, Value states, const Tensor& labels) const;

    const LlamaConfig& config() const { return m_config; }
    const std::vector<TransformerBlock>& blocks() const { return m_blocks; }
    const NormLayer& norm() const { return m_norm; }
    int embedding() const { return m_embedding; }
    /// Parameter of the logits [vocabulary, width]: the embedding where the two are tied.
    int head() const { return m_head >= 0 ? m_head : m_embedding; }

private:
    LlamaConfig m_config;
    int m_embedding = -1, m_head = -1;
    std::vector<TransformerBlock> m_blocks;
    NormLayer m_norm;
};

} // namespace vergence
