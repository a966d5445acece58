#pragma once

#include <cstdint>

#include "core/compute/view.h"
#include "plugins/live_diffusion/diffusion/schedule.h"

namespace vergence::live {

/// What the training sees of noise and of spoilt conditions.
struct SampleSettings {
    Prediction prediction = Prediction::V;
    BetaCurve curve = BetaCurve::Cosine;
    bool zeroTerminalSnr = false;
    Index batch = 8;         ///< rows
    double dropsInput = 0.1; ///< chance that u is 0
    double dropsHistory = 0.1;
    double dropsMemory = 0.1;
    double dropsAll = 0.05; ///< of all three at once
    /// Chance that the history is the input frame, as at the start of a stream and after a cut.
    double startsAnew = 0.05;
    double mostHistoryNoise = 0.7; ///< s is drawn from [0, this]
    int memoryFrames = 8;          ///< earlier frames in the memory, at most 16; 0: none
    int memoryStride = 4;          ///< frames from one of them to the next
    /// Share of samples that are the first step of a stream: x = α·input + σε at the time that
    /// `startStrength` says, as a stream starts; 0: all are noised targets at uniform times.
    double startShare = 0;
    double startStrength = 0.6; ///< ρ
    std::uint32_t seed = 1;
};

/// Losses, optimiser and course of a training. Sources: Efficient Diffusion Training via Min-SNR
/// Weighting Strategy (2023); Self Forcing (2025) for the roll-out.
struct TrainSettings {
    SampleSettings samples;
    double gamma = 5;         ///< of the min-SNR weights
    double blendWeight = 0.1; ///< of mean |y − target|
    int blendBelow = 300;     ///< on rows with t below
    Index updates = 20000;
    double rate = 2e-4;
    Index warmup = 500;   ///< updates
    double leastRate = 0; ///< share of the rate at the end of the cosine
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double clipNorm = 1;
    double average = 0.999; ///< decay of the moving average of weights
    /// Self-roll-out: in the last `rolloutShare` of the updates, history and memory come from the
    /// model's own outputs, with a chance that grows from 0 to `rolloutChance`.
    double rolloutShare = 0.2, rolloutChance = 0.5;
    int rolledFrames = 4; ///< the last one is learnt from
    bool recomputesBlocks = false;

    double rateAt(Index update) const;          ///< of update 0, 1, …
    double rolloutChanceAt(Index update) const; ///< 0 before the last part
};

/// Throws ContractError that names the field out of range.
void check(const TrainSettings& settings);

} // namespace vergence::live
