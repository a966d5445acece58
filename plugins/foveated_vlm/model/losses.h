#pragma once

#include <cstdint>
#include <vector>

#include "plugins/foveated_vlm/model/forward.h"

namespace vergence::fvlm {

/// Numbers of a micro-step are its share of an update: sums over what it counts, divided by what
/// the whole update counts. So gradients of micro-steps add up to those of one large batch, and so
/// do the losses that are shown. backward() is called with scale 1.
struct LossSettings {
    /// λ of the coarse pass's loss, with text behind it. A sample without frames has the same loss
    /// in every pass, so it weighs 1 + λ whatever stands beside it.
    double coarse = 0;
    double recon = 0.5;            ///< λ of latents in joint training
    double contrast = 0;           ///< λ of the mean cosine of fine and coarse tokens
    bool measuresContrast = false; ///< the cosine is wanted though its λ is 0
    /// Where above 0: entropyWeight times the mean over slots of max(0, H_f − H_c + margin), H the
    /// entropies of the fine and the coarse attention, nats.
    double entropyMargin = 0, entropyWeight = 0.1;
    bool trainsCoarseOnly = false; ///< the control: one look, its loss is the loss
    bool chartsCoarse = false;     ///< the coarse loss is wanted though λ is 0; takes no gradient
    int refinements = 1;           ///< K looks after the coarse one, at least 1
    bool weightsRefinements =
        false;             ///< losses of all K count as 1 : 2 : … : K; else the last alone
    Tensor inverseCounted; ///< [1] on the device, F32 (F64): 1 / counted tokens of the update
    Tensor inverseSlots;   ///< [1] the same of visual tokens (frames); for latents, contrast
};

/// Scalars [1] F32 (F64) on the device; an empty Value where a number has no meaning.
struct StepValues {
    Value loss;                   ///< what backward() is for
    Value fine;                   ///< of the last look: text, latents, or both weighted
    Value coarse;                 ///< the same of the coarse look
    Value text, coarseText;       ///< mean negative log-likelihood, nats per token
    Value latents, coarseLatents; ///< mean squared error
    /// Of this micro-step alone, not shares: means over frames 2, 3, … and [frames] by number.
    Value laterLatents, laterCoarseLatents, latentsByFrame, coarseLatentsByFrame;
    Value contrast;                 ///< mean cosine of fine and coarse tokens, of the micro-step
    Value coarseTokens, fineTokens; ///< z [M, D]
    Value queries;                  ///< [M, Q] of the last look
};

/// One micro-step forward. All that varies from step to step lies on the device, so that it can be
/// recorded; settings other than the two tensors are fixed in the recording.
StepValues trainingLoss(const ForwardPass& pass, const FoveatedModel& model,
                        const MicroBatch& batch, const LossSettings& settings);

/// Mean squared error of every slot: [M, h, w, C] each → [M] in the type of the target.
Value latentErrors(Graph& graph, Value prediction, Value target);

/// Direct Preference Optimization: Your Language Model is Secretly a Reward Model (2023), equation
/// 7: mean of softplus(−m), m = β[(log π(c) − log ρ(c)) − (log π(r) − log ρ(r))]. Every sample has
/// one other ending, the rejected one; frames and visual tokens are shared. Log-probabilities are
/// sums over counted tokens.
struct PreferenceSettings {
    double beta = 0.1;
    int refinements = 1;
    Tensor inversePairs; ///< [1] on the device: 1 / pairs of the update
    Tensor reference;    ///< [pairs, 2] F32 (F64): log ρ of chosen and rejected, computed once
};
struct PreferenceValues {
    Value loss;             ///< [1] share of the update
    Value margins;          ///< m [pairs]
    Value logProbabilities; ///< [pairs, 2] log π of chosen and rejected
};
PreferenceValues preferenceLoss(const ForwardPass& pass, const FoveatedModel& model,
                                const MicroBatch& batch, const PreferenceSettings& settings);

} // namespace vergence::fvlm
