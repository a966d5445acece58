#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "plugins/live_diffusion/stream/fed_frames.h"
#include "plugins/live_diffusion/stream/live_stream.h"

namespace vergence::live {

/// A captured frame, and whether it comes from another source than the one before.
struct Captured {
    SourceFrame frame;
    bool isNewSource = false;
};

/// Rungs of the deadline keeper and what makes their loops, numbered so that a loop made for an
/// older ladder is known.
struct Ladder {
    std::int64_t number = 0;
    std::vector<QualityLevel> rungs;
    LoopBuilder build;
};

/// A loop that waits to be used.
struct BuiltLoop {
    std::unique_ptr<FrameLoop> loop;
    QualityLevel rung;
    Ladder ladder; ///< that the rung is of
};

/// Three threads and what they share. Used by the sources of LiveStream alone.
struct LiveStream::Impl {
    Impl(std::unique_ptr<Source> source, std::unique_ptr<FrameLoop> firstLoop,
         const LiveSettings& live, std::vector<QualityLevel> rungs, LoopBuilder build);
    ~Impl() { stop(); }

    // Capture thread.
    void capture(const std::stop_token& stop);
    bool waitForTurn(const std::stop_token& stop);
    void applyPlayRequests();
    void captureOne(const std::stop_token& interrupted);
    void push(SourceFrame&& frame);
    void replaceLostSource(const std::string& why);

    // Inference thread.
    void infer(const std::stop_token& stop);
    void inferFrames(const std::stop_token& stop);
    std::optional<Captured> waitForFrame(const std::stop_token& stop);
    void applyLoopRequests();
    void swapLoop(BuiltLoop&& next);
    void run(Captured&& captured);
    PresentedFrame answered(const FrameRecord& record, double finished);
    void judge(const FrameRecord& record, double seconds);
    void present(PresentedFrame&& frame);

    // Builder thread.
    void buildLoops(const std::stop_token& stop);

    void post(StreamEvent::Kind kind, const std::string& text);
    void request(const std::function<void()>& change, bool interrupts = false);
    std::optional<PresentedFrame> takeLocked();
    bool isOver() const;
    void stop();

    LiveSettings settings; ///< .play: of the capture thread

    mutable std::mutex mutex; ///< for all that follows up to the threads' own
    Ladder ladder;            ///< in use
    Ladder newestLadder;      ///< asked for; the one in use again where it cannot be built
    std::condition_variable_any changed, finished;
    std::deque<Captured> mailbox;
    std::deque<PresentedFrame> presents;
    std::deque<StreamEvent> events;
    DropCounts drops;
    LoopTotals totals;
    QualityLevel rung;
    FrameCost cost;
    double percentile = 0;
    bool isPaused = false, hasEnded = false, hasStarted = false, isBusy = false;
    bool isStopped = false, hasFailed = false;
    std::exception_ptr failure;
    int stepsAsked = 0;
    // Requests, taken by their thread at its next turn.
    std::stop_source interruption; ///< of the capture thread's waiting
    std::unique_ptr<Source> newSource;
    std::optional<double> newPlace, newSpeed;
    bool restartsClock = false;
    std::optional<LoopSettings> newLoopSettings;
    std::optional<DeadlineSettings> newDeadline;
    bool wantsReset = false;
    std::optional<QualityLevel> buildRequest; ///< of the newest ladder
    std::optional<BuiltLoop> built;
    std::function<void(const PresentedFrame&)> listener;

    // Of the capture thread alone.
    Player player;
    bool isNewSource = false;
    // Of the inference thread alone.
    std::unique_ptr<FrameLoop> loop;
    DeadlineKeeper keeper;
    FedFrames fed;
    bool isStalled = false;

    std::jthread captureThread, inferenceThread, builderThread; // last: they use all above
};

} // namespace vergence::live
