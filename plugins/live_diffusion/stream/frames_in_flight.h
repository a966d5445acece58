#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/compute/device.h"
#include "plugins/live_diffusion/diffusion/guidance.h"
#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/diffusion/sampler.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/stream/loop_settings.h"

namespace vergence::live {

/// A frame on its way from noise to picture. Spans are [3p², gridHeight, gridWidth].
struct FlyingFrame {
    std::int64_t number = -1; ///< of the input frame; −1: nobody
    std::uint32_t noise = 0;  ///< number by which its noise is drawn
    int step = 0;             ///< the next one
    int bucket = 0;           ///< of its history's noise
    bool isReset = false;     ///< history starts with it
    bool isFinite = true;     ///< so far
    std::int64_t scene = 0;   ///< memory of an older scene is not written any more
    std::vector<float> x;
    std::vector<float> clean, previousClean; ///< x̂₀ of the last step and of the one before
    std::vector<float> input;                ///< u_k; empty in a dream
    std::vector<float> reference;            ///< x_ref of residual guidance
    std::vector<float> history;              ///< h; empty: zeros
};

/// Advances frames by one sampler step each with one call of the network: rows with the condition,
/// then rows without it as guidance needs them. One frame at a time for sequential streams, one at
/// each step for a stream batch.
class FrameStepper {
public:
    /// `cpu` outlives this. Throws ContractError where the network was prepared for fewer rows than
    /// the settings need, or for settings that the sampler refuses.
    FrameStepper(FrameNetwork& network, const LoopSettings& settings, Device& cpu);

    struct Cost {
        int evaluations = 0;
        double networkSeconds = 0, samplerSeconds = 0;
    };
    /// Sets x to the start: `init` noised (empty: pure noise).
    void begin(FlyingFrame& frame, std::span<const float> init);
    /// `frames`: one, or in a stream batch at most one for each step.
    Cost advance(std::span<FlyingFrame* const> frames);

    const Sampler& sampler() const { return m_sampler; }
    const FrameNoise& noise() const { return m_noise; }
    Stream& stream() { return *m_stream; }
    /// [gridHeight, gridWidth] of the frame that was number `row` in the last advance().
    std::span<const float> logits(std::size_t row) const;
    static bool isGuided(const GuidanceSettings& guidance)
    {
        return guidance.kind != GuidanceKind::None && guidance.gamma != 1;
    }

private:
    void gatherRows(std::span<FlyingFrame* const> frames);
    void guideFrame(FlyingFrame& frame, std::size_t row);
    void stepFrame(FlyingFrame& frame, std::size_t row);
    bool needsNegative(const FlyingFrame& frame) const;
    std::span<float> prediction(std::size_t row);

    FrameNetwork* m_network;
    LoopSettings m_settings;
    Sampler m_sampler;
    FrameNoise m_noise;
    std::unique_ptr<Stream> m_stream;
    std::size_t m_values, m_cells;
    std::vector<EvalRow> m_rows;
    std::vector<std::size_t> m_negativeOf; ///< row without condition of each frame; 0: none
    std::vector<float> m_predictions, m_logits, m_startNoise, m_stepNoise;
    bool m_hasFixedNoise = false;
};

} // namespace vergence::live
