#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/bench/protocol.h"
#include "plugins/live_diffusion/engine/frame_network.h"

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

} // namespace vergence::live
