#pragma once

#include <vector>

#include "plugins/foveated_vlm/model/forward.h"

namespace vergence::fvlm {

struct EvaluationWish {
    int refinements = 1;         ///< CoarseFine
    bool readsAttention = false; ///< weights of the coarse and of the last look
};

/// What a model says about a micro-batch, in host memory; nothing is averaged.
struct Evaluation {
    std::vector<double> nll;           ///< [sequences] Σ negative log-likelihood of counted tokens
    std::vector<int> counted;          ///< [sequences] as many tokens
    std::vector<int> guesses;          ///< [counted] most likely token at each counted place
    std::vector<double> latentErrors;  ///< [slots] mean squared error; empty for captions
    std::vector<double> coarseLatents; ///< the same of the coarse look where there was one besides
    std::vector<double> coarseNll;     ///< [sequences] likewise
    // On the device, memory of their own, F32 (F64); without padding. Empty where there is none.
    Tensor coarseTokens;              ///< [slots, D]
    Tensor fineTokens;                ///< [slots, D]
    Tensor queries;                   ///< [slots, Q]
    Tensor predictions;               ///< [slots, h, w, C] latents
    AttentionReadout coarseAttention; ///< M = slots, of the coarse look
    AttentionReadout fineAttention;   ///< M = slots, of the last look
};

/// Without gradients; waits for the device. All modes count the same tokens. In the sequential mode
/// every query is followed by one step of the language model on a cache, prompts are read first
/// where they stand first, and what follows the frames is read in one call. `batch.sequences` must
/// be there. The tape of `pass` records no gradients; it is left filled.
Evaluation evaluate(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
                    Mode mode, const EvaluationWish& wish = {});

} // namespace vergence::fvlm
