#pragma once

#include <vector>

#include "plugins/foveated_vlm/model/forward.h"

namespace vergence::fvlm {

struct EvaluationWish {
    int refinements = 1;         ///< CoarseFine
    bool comparesCoarse = false; ///< CoarseFine: also what the coarse look alone gives
    bool readsAttention = false; ///< weights of the coarse and of the last look
    /// CoarseFine: asked in the last look in place of the model's own, as controls are;
    /// [slots of the shape, Q] in the type that the parameters compute in. Empty: its own.
    Tensor queries;
};

/// What a model says about a micro-batch, nothing averaged. Vectors are empty where there is
/// nothing to say.
struct Evaluation {
    std::vector<double> nll;           ///< [sequences] Σ negative log-likelihood of counted tokens
    std::vector<double> coarseNll;     ///< the same of the coarse look, where it is compared
    std::vector<int> counted;          ///< [sequences] as many tokens
    std::vector<double> latentErrors;  ///< [slots] mean squared errors
    std::vector<double> coarseLatents; ///< the same of the coarse look, where it is compared
    // On the device, memory of their own, without padding; tokens and queries as computed.
    Tensor coarseTokens;              ///< z [slots, D]
    Tensor fineTokens;                ///< z [slots, D] of the last look
    Tensor queries;                   ///< [slots, Q] of the last look
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
