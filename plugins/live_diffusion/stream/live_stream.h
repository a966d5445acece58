#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/stream/frame_loop.h"
#include "plugins/live_diffusion/stream/live_settings.h"

namespace vergence::live {

/// A frame as it is shown: what came in, what came out, and when.
struct PresentedFrame {
    Image input;  ///< RGB as captured
    Image output; ///< RGB
    Image target; ///< of synthetic pairs; empty otherwise
    FrameRecord record;
    double sourceSeconds = 0; ///< place in the source
    // Steady clock, s.
    double captured = 0, taken = 0, finished = 0;

    /// From the loop's beginning with the input to its output, s. Of a stream batch that are the
    /// ticks of all steps and what lies between them; `record.seconds` are those of the last tick.
    double latency() const;
};

/// Frames that never came to be seen, by cause. Skipped ones are re-shown, not lost.
struct DropCounts {
    std::int64_t captured = 0;  ///< frames that the source gave
    std::int64_t replaced = 0;  ///< by a newer one before inference took them
    std::int64_t late = 0;      ///< finished, but pushed out before they were shown
    std::int64_t skipped = 0;   ///< by the similarity filter
    std::int64_t presented = 0; ///< handed to who shows them
};

enum class StreamState { Starting, Running, Paused, Ended, Stopped, Failed };
const char* nameOf(StreamState state);

/// Something worth a badge or a line of the log.
struct StreamEvent {
    enum class Kind {
        Message,       ///< a source that could not be opened and what is shown instead
        Stalled,       ///< the source gives nothing
        Resumed,       ///< and again does
        Ended,         ///< the source is over
        Rebuilding,    ///< a new plan is being made; the old one streams on
        Rebuilt,       ///< and is in use
        RebuildFailed, ///< the old one stays; the text says why
        Level,         ///< the deadline keeper moved
        NotFinite,     ///< a result was not finite; the last good frame is kept
    };
    Kind kind = Kind::Message;
    std::string text;
    double seconds = 0; ///< steady clock
};

/// Makes a loop for a rung of the deadline keeper's ladder, off the inference thread.
using LoopBuilder = std::function<std::unique_ptr<FrameLoop>(const QualityLevel&)>;

/// Frames from a source through a FrameLoop to who shows them, on threads of its own: capture → one
/// slot → inference → present queue. No other thread touches the loop and its network. Public
/// functions are thread-safe and do not wait for a frame, but for stop().
class LiveStream {
public:
    /// `ladder`: rungs that the deadline keeper may choose, the first one that of `loop`; `build`
    /// makes the loop of a rung and may be null where there is one alone. Starts at once.
    LiveStream(std::unique_ptr<Source> source, std::unique_ptr<FrameLoop> loop,
               const LiveSettings& settings, std::vector<QualityLevel> ladder = {QualityLevel{}},
               LoopBuilder build = nullptr);
    ~LiveStream(); ///< stops

    /// The oldest finished frame that waits; nothing where none does.
    std::optional<PresentedFrame> take();
    /// Waits until a frame is finished or the stream is over; nothing then, or after `seconds`.
    std::optional<PresentedFrame> waitFor(double seconds);
    /// Asked once per finished frame, on the inference thread, before it is queued; for benchmarks
    /// and recordings that must not miss one. Must not call the stream.
    void setListener(std::function<void(const PresentedFrame&)> listener);

    void setPaused(bool isPaused);
    /// While paused: one more frame.
    void stepOnce();
    void seek(double seconds);
    void setSpeed(double speed);
    /// Takes effect at a frame boundary; another source starts with a new history.
    void setSource(std::unique_ptr<Source> source);
    /// Cheap changes: at the next frame boundary. Where the loop refuses them, an event says why
    /// and the old ones stay. While the deadline keeper is at a lower rung, the steps stay that
    /// rung's; a ladder of others comes with rebuild().
    void setLoopSettings(const LoopSettings& settings);
    void setDeadline(const DeadlineSettings& settings);
    /// Everything else: `build` makes the loop of the ladder's first rung on a thread of its own
    /// while the old loop streams on; it takes the old one's place at a frame boundary, with its
    /// history where shapes agree. From then on the deadline keeper is at the top of `ladder` and
    /// has `build` for its rungs. A request replaces one that waits.
    void rebuild(LoopBuilder build, std::vector<QualityLevel> ladder = {QualityLevel{}});
    /// Forgets history at the next frame boundary.
    void reset();

    /// Ends all threads; within half a second where the source and the network let it.
    void stop();

    StreamState state() const;
    /// What ended it, in the state Failed; nothing otherwise.
    void throwFailure() const;
    DropCounts drops() const;
    LoopTotals totals() const; ///< of all loops
    QualityLevel level() const;
    FrameCost cost() const;      ///< of the network in use
    double percentile95() const; ///< of the deadline keeper's window, s
    /// Since the last call, at most 256.
    std::vector<StreamEvent> takeEvents();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::live
