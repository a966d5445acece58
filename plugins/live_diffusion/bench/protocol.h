#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <vector>

namespace vergence::live {

/// When a measurement begins and when it is long enough.
struct Protocol {
    int warmFrames = 50;         ///< at least, and
    double warmSeconds = 2;      ///< at least, and
    int warmWindow = 20;         ///< means of the last three windows of so many frames
    double warmTolerance = 0.01; ///< agree to this share; or
    double warmCapSeconds = 30;  ///< so long, and the result is marked as unsettled

    int frames = 300;                                            ///< at least, and
    double seconds = 5;                                          ///< at least
    double capSeconds = std::numeric_limits<double>::infinity(); ///< at most, whatever the count
    int repeats = 5;      ///< in fresh processes, those of A and B in turn
    double pacedRate = 0; ///< frames per second that the source delivers; 0: as fast as they go

    /// Everything cut down to about `seconds` in all, a tenth of it warm-up; for demonstrations.
    static Protocol within(double seconds);
};
/// Throws ContractError that names the field out of range.
void check(const Protocol& protocol);

/// One frame as measured. Seconds.
struct MeasuredFrame {
    double device = 0;    ///< between events around the frame's work on the device; on the CPU the
                          ///< time of the computation
    double pipeline = 0;  ///< frame available in host memory → output available in host memory
    double launch = 0;    ///< host time to start the work
    double completed = 0; ///< on the measuring clock
    int evaluations = 0;  ///< batch rows
    bool isSkipped = false; ///< the last output was shown again: no frame for any rate
    bool isDropped = false; ///< replaced before it was begun; no times
};

/// What is being measured: one more frame. `completed` is filled by the measurement.
class FrameTask {
public:
    virtual ~FrameTask() = default;
    virtual MeasuredFrame frame() = 0;
};

/// Time as measurements see it; tests bring their own.
class BenchClock {
public:
    virtual ~BenchClock() = default;
    virtual double now() = 0; ///< seconds, never jumps
    virtual void sleepUntil(double time) = 0;
};
BenchClock& steadyBenchClock();

/// Whether a task has reached its steady speed.
class WarmUp {
public:
    explicit WarmUp(const Protocol& protocol) : m_protocol(protocol) {}

    /// A frame took `seconds`; `elapsed`: since the warm-up began.
    void add(double seconds, double elapsed);
    bool isOver() const { return isSettled() || m_elapsed >= m_protocol.warmCapSeconds; }
    bool isSettled() const; ///< false at the end: the cap was reached first
    int frames() const { return m_frames; }
    double elapsed() const { return m_elapsed; }

private:
    Protocol m_protocol;
    int m_frames = 0;
    double m_elapsed = 0;
    std::deque<double> m_last; ///< three windows at most
};

/// What a measurement found.
struct Measurement {
    std::vector<MeasuredFrame> frames;
    int warmFrames = 0;
    double warmSeconds = 0;
    bool isSettled = true;
    double wallSeconds = 0; ///< of the measured frames, pauses of a paced source included
    int dropped = 0;        ///< by a paced source, because the frame before was late

    /// Finished, not skipped frames per second of wall time.
    double framesPerSecond() const;
    double evaluationsPerSecond() const;
};

/// One measurement, frame by frame, so that the caller may stop or report between two.
class Measuring {
public:
    /// `task` and `clock` outlive this. Throws ContractError for a protocol out of range.
    Measuring(FrameTask& task, const Protocol& protocol, BenchClock& clock = steadyBenchClock());

    /// One frame of warm-up or of the measurement; false once it is long enough.
    bool next();
    bool isWarming() const { return !m_warmUp.isOver(); }
    double progress() const; ///< 0 … 1, estimated
    const Measurement& result() const { return m_result; }

private:
    MeasuredFrame timed();
    void awaitSource();

    FrameTask& m_task;
    Protocol m_protocol;
    BenchClock& m_clock;
    WarmUp m_warmUp;
    Measurement m_result;
    std::optional<double> m_warmStart, m_start;
    long m_delivered = 0; ///< frames of a paced source since m_start
};

/// The whole of it.
Measurement measure(FrameTask& task, const Protocol& protocol,
                    BenchClock& clock = steadyBenchClock());

} // namespace vergence::live
