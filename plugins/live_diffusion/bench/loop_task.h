#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "plugins/live_diffusion/bench/protocol.h"
#include "plugins/live_diffusion/stream/frame_loop.h"

namespace vergence::live {

/// Frames of the lab: `frames` [3p², gridHeight, gridWidth] each go round in a loop.
class LoopTask : public FrameTask {
public:
    /// `loop` outlives this. Throws ContractError without frames or of another size.
    LoopTask(FrameLoop& loop, std::vector<std::vector<float>> frames);

    MeasuredFrame frame() override;

private:
    double pipelineSeconds(const FrameRecord& record, double started);

    FrameLoop& m_loop;
    std::vector<std::vector<float>> m_frames;
    std::size_t m_next = 0;
    std::deque<std::pair<std::int64_t, double>> m_taken; ///< frames without an answer, and when
};

} // namespace vergence::live
