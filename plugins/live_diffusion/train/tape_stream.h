#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plugins/live_diffusion/diffusion/sampler.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/train/sample_maker.h"

namespace vergence::live {

/// The network in use while it is trained: all rows of a batch go through a sampler's steps and the
/// blend, as a stream does it, on the tape without gradients. For roll-outs, samples and measures.
class TapeStream {
public:
    TapeStream(Stream& stream, const TapeNetwork& network);

    /// Pictures y of the batch's rows under its conditions (input, history, memory, previous): from
    /// α·input + σ·noise on, blended with β = `blend`, clamped. noise, result: [rows, grid, grid,
    /// channels]. `stepNoise`: [steps, …] for samplers that want it.
    std::vector<float> denoise(const SampleBatch& batch, const Sampler& sampler, double blend,
                               std::span<const float> noise, std::span<const float> stepNoise = {});

    /// The network's prediction on pictures `noisy` at the rows' `times` under the batch's
    /// conditions.
    std::vector<float> predict(const SampleBatch& batch);

private:
    const TapeNetwork& m_network;
    Graph m_graph;
    std::vector<float> m_logits; ///< of the last prediction [rows, grid, grid]
};

/// How a closed loop does on films it has not seen.
struct StreamScore {
    std::vector<double> psnr;     ///< per frame, mean over clips, dB
    std::vector<double> copyPsnr; ///< of the target's frame before, if it were shown again
    double meanPsnr = 0;          ///< over frames 1 …
    double meanCopyPsnr = 0;      ///< likewise
    double meanInputPsnr = 0;     ///< of the input itself
    std::vector<float> pictures;  ///< of the last frame, [clips, grid, grid, channels]
};

struct ScoreSettings {
    SamplerSettings sampler{.steps = 2, .strength = 0.6, .clampsClean = true};
    Index frames = 48;
    double historyNoise = 0.05, blend = 1;
    bool usesMemory = true;
    bool isTeacherForced = false; ///< history and memory are the truth: how far errors pile up
    std::uint32_t seed = 1; ///< of the start noise, the same for all frames
};

/// Runs all clips of the maker's source side by side, frames 0 … frames − 1, each from the output
/// before it.
StreamScore scoreStream(Stream& stream, const TapeNetwork& network, SampleMaker& maker,
                        const ScoreSettings& settings = {});

} // namespace vergence::live
