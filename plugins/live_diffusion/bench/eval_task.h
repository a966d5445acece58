#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/bench/protocol.h"
#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/stream/frame_loop.h"

namespace vergence::live {

/// Evaluations alone, without sampler, blend or memory: what networks without a sampler are
/// measured by. A frame is `calls` calls of `rows` rows with fixed random pictures.
class EvalTask : public FrameTask {
public:
    EvalTask(std::shared_ptr<FrameNetwork> network, int rows, int calls, std::uint64_t seed = 1);

    MeasuredFrame frame() override;
    /// Prediction and blend logits of the last call, one after the other.
    std::span<const float> output() const { return m_output; }
    std::span<const EvalRow> rows() const { return m_rows; }

private:
    std::shared_ptr<FrameNetwork> m_network;
    int m_calls;
    std::vector<float> m_pictures, m_output;
    std::vector<EvalRow> m_rows;
};

/// Frames of the lab: `frames` [3p², gridHeight, gridWidth] each go round in a loop.
class LoopTask : public FrameTask {
public:
    /// `loop` outlives this. Throws ContractError without frames or of another size.
    LoopTask(FrameLoop& loop, std::vector<std::vector<float>> frames);

    MeasuredFrame frame() override;

private:
    FrameLoop& m_loop;
    std::vector<std::vector<float>> m_frames;
    std::size_t m_next = 0;
};

} // namespace vergence::live
