#pragma once

#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/train/sample_maker.h"
#include "plugins/live_diffusion/train/train_settings.h"

namespace vergence::live {

/// Numbers on the tape, [1] each; total = prediction + blend.
struct DiffusionLoss {
    Value total;
    Value prediction; ///< mean over rows of minSnrWeight(t) · mean (prediction − truth)²
    /// blendWeight · mean |y − target| over the rows with t < blendBelow that have a frame before,
    /// divided by all rows. |d| is rounded off below kBlendCorner. Empty where no row counts.
    Value blend;
};
inline constexpr double kBlendCorner = 1e-3;

/// The denoiser's loss on a batch; backward() of the graph reaches the memory's encoder too.
DiffusionLoss diffusionLoss(Graph& graph, const TapeNetwork& network, const SampleBatch& batch,
                            const NoiseSchedule& schedule, const TrainSettings& settings);

/// x̂₀ of a prediction [rows, grid, grid, channels] on the tape, each row at its own time.
Value cleanOnTape(Graph& graph, const SampleBatch& batch, Value prediction, Prediction kind,
                  const std::vector<double>& alpha, const std::vector<double>& sigma);

} // namespace vergence::live
