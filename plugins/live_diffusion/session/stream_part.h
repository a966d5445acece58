#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/session/background_loop.h"
#include "plugins/live_diffusion/session/loop_recipe.h"
#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/session/stream_clip.h"
#include "plugins/live_diffusion/session/stream_log.h"
#include "plugins/live_diffusion/stream/fed_frames.h"
#include "plugins/live_diffusion/stream/live_stream.h"
#include "plugins/live_diffusion/view/live_picture.h"

namespace vergence::live {

/// One picture after the other. Paced sources and cameras run on threads of their own, where late
/// frames may be lost; otherwise every frame is taken in turn and the result is the same each time
/// (but for the deadline keeper, which goes by the clock, and for the frame from which on a plan is
/// in use that had to be built while the old one streamed on).
class StreamPart final : public Part {
public:
    explicit StreamPart(Networks& networks);
    ~StreamPart() override;

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    bool advance(RunContext& context) override;

    struct Shown {
        Image input, output, target;
    };
    /// Live changes: at the next frame, or once a new plan is built.
    void follow(RunContext& context);
    /// A live change: what it is in words, and what it takes.
    struct Change {
        std::string text;
        bool needsNewLoop = false, movesSteps = false;
    };
    void apply(RunContext& context, const Change& change);
    /// In turn; false where the loop refuses them: it goes on with those it has.
    bool useSettings(RunContext& context);
    void hearEvents(RunContext& context);
    void swapWhenBuilt(RunContext& context); ///< in turn
    void planIsInUse();
    LoopRecipe recipe() const;
    /// The next frame, now or after a while; none: the source is over. `isLate`: nothing came yet.
    std::optional<PresentedFrame> next(RunContext& context, bool& isLate);
    std::optional<PresentedFrame> taken(RunContext& context); ///< in turn
    void take(RunContext& context, PresentedFrame& frame);
    void keepPicture(); ///< of the last frame, in the clip
    void recordFrame(RunContext& context);
    bool isPictureDue(RunContext& context) const;
    void publishPicture(RunContext& context);
    void publishNumbers(RunContext& context);
    std::vector<Badge> badges() const;
    LatencyLook latencyLook() const;
    void letGo(); ///< of all that only streaming needs
    bool isThreaded() const;
    int stepsNow() const; ///< of a frame, which the deadline keeper may have lowered
    FrameCost cost() const;

    Networks& m_networks;
    LoopSettings m_settings;
    Switches m_switches;
    std::vector<std::string> m_replaced; ///< sentences on switches that the device lacks
    std::string m_awaited;               ///< change that a plan which is being built brings
    bool m_isBuilding = false;           ///< a plan; the one before streams on
    ModelKey m_model;                    ///< weights that are in use or being loaded
    std::shared_ptr<PlanShelf> m_shelf = std::make_shared<PlanShelf>();
    double m_speed = 1;
    std::uint64_t m_revision = 0;           ///< of the configuration that is followed
    std::unique_ptr<Source> m_source;       ///< in turn
    std::unique_ptr<FrameLoop> m_loop;      ///< in turn
    FedFrames m_fed;                        ///< in turn
    BackgroundLoop m_newLoop;               ///< in turn
    std::optional<DeadlineKeeper> m_keeper; ///< in turn
    std::unique_ptr<LiveStream> m_live;     ///< on threads
    /// Of a stream that is over: what the networks said last.
    struct Last {
        int steps = 0;
        FrameCost cost;
    };
    std::optional<Last> m_last;
    std::optional<StreamClip> m_clip;
    StreamLog m_log;
    Shown m_shown;
    FrameRecord m_record;
    double m_latency = 0; ///< of that frame, s
    LiveLook m_look;
    std::int64_t m_frames = 0, m_lost = 0;
    double m_startedAt = 0, m_pictureAt = 0, m_psnrSum = 0;
    std::int64_t m_psnrCount = 0;
    bool m_isOver = false;
    bool m_isPictureKept = true; ///< false where it found no room: it is written by the next step
};

} // namespace vergence::live
