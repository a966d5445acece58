#pragma once

#include <memory>
#include <optional>

#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/session/stream_log.h"
#include "plugins/live_diffusion/stream/clip_export.h"
#include "plugins/live_diffusion/stream/live_stream.h"
#include "plugins/live_diffusion/view/live_picture.h"

namespace vergence::live {

/// One picture after the other. Paced sources and cameras run on threads of their own, where late
/// frames may be lost; otherwise every frame is taken in turn and the result is the same each time.
class StreamPart final : public Part {
public:
    explicit StreamPart(Networks& networks);
    ~StreamPart() override;

    void begin(RunContext& context) override;
    bool step(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    struct Shown {
        Image input, output, target;
    };
    void follow(RunContext& context);
    std::unique_ptr<FrameLoop> newLoop() const;
    /// The next frame, now or after a while; none: the source is over. `isLate`: nothing came yet.
    std::optional<PresentedFrame> next(RunContext& context, bool& isLate);
    std::optional<PresentedFrame> taken(); ///< in turn
    void take(RunContext& context, PresentedFrame& frame);
    void openExport(RunContext& context);
    void publish(RunContext& context);
    std::vector<Badge> badges() const;
    LatencyLook latencyLook() const;
    bool isThreaded() const;

    Networks& m_networks;
    LoopSettings m_loopSettings;
    Switches m_switches;
    double m_speed = 1;
    std::unique_ptr<Source> m_source; ///< in turn
    std::unique_ptr<FrameLoop> m_loop;
    std::unique_ptr<LiveStream> m_live; ///< on threads
    std::unique_ptr<ClipWriter> m_clip;
    std::string m_clipName;
    FrameCost m_cost;
    StreamLog m_log;
    Shown m_shown;
    FrameRecord m_record;
    LiveLook m_look;
    std::int64_t m_frames = 0, m_lost = 0;
    double m_startedAt = 0, m_publishedAt = 0, m_psnrSum = 0;
    std::int64_t m_psnrCount = 0;
    bool m_isOver = false;
};

} // namespace vergence::live
