#pragma once

#include <cstdint>
#include <deque>

#include "plugins/live_diffusion/sources/source.h"
#include "plugins/live_diffusion/stream/frame_loop.h"

namespace vergence::live {

/// What was fed into a loop, until its answer comes: a stream batch answers an older frame than
/// came last.
class FedFrames {
public:
    struct Fed {
        std::int64_t number = 0; ///< FrameRecord::number
        SourceFrame frame;
        double taken = 0; ///< when the loop began with it, steady clock, s
    };

    void add(std::int64_t number, SourceFrame&& frame, double taken);
    /// The frame that a generated one answers; the newest for other fates. Those before it are
    /// forgotten with it. Not without an add() before.
    Fed takeAnswered(const FrameRecord& record);
    void clear() { m_frames.clear(); }

private:
    std::deque<Fed> m_frames;
};

} // namespace vergence::live
