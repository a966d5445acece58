#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/session/loaded_model.h"
#include "plugins/live_diffusion/stream/live_stream.h"
#include "plugins/live_diffusion/view/latency_charts.h"
#include "plugins/live_diffusion/view/numbers_card.h"

namespace vergence::live {

/// What is remembered of a stream's frames: times of the newest 36,000 at most, rates, switches
/// that were moved. Its memory does not grow with the length of the stream.
class StreamLog {
public:
    /// A finished frame; `dropped`: frames lost since the one before.
    void add(const PresentedFrame& frame, int dropped);
    /// Frames from here on run with other switches; nothing where `change` is empty.
    void mark(const std::string& change);

    const std::vector<FrameTiming>& timings() const { return m_timings; }
    /// Latencies of generated frames; of a stream batch they are longer than its ticks.
    const std::vector<double>& milliseconds() const { return m_milliseconds; }
    double framesPerSecond() const;   ///< generated frames over the last second or so
    double latencyMs(double q) const; ///< quantile of the last 600 frames
    double tickMs(double q) const;    ///< likewise, of the work between two frames
    std::int64_t generated() const { return m_generated; }
    double missedShare(double budgetMs) const; ///< frames over a budget among those remembered
    double seconds() const { return m_last - m_first; }
    double meanRate() const; ///< generated frames over all the time

    bool hasMarks() const { return !m_changes.empty(); }
    /// Moved switches with the median time before and after: {"id", "title", "columns", "rows"}.
    nlohmann::json switchTable() const;
    std::string csv() const;

private:
    struct Change {
        std::string text;
        std::size_t at = 0;           ///< index into m_milliseconds
        double before = 0, after = 0; ///< medians, ms; `after` of the last one is not final
    };
    double medianSince(std::size_t first) const;
    double medianAfter(const Change& change) const;
    void forgetOldest();

    std::vector<FrameTiming> m_timings;
    std::vector<double> m_milliseconds; ///< of generated frames
    std::vector<double> m_ticks;        ///< of those, ms; the last 600 to 1,200
    std::vector<double> m_clock;        ///< when they were done
    std::vector<Change> m_changes;
    std::int64_t m_generated = 0;
    double m_first = 0, m_last = 0;
};

/// The large numbers beside the live picture, each with what it counts.
std::vector<BigNumber> bigNumbers(const StreamLog& log, const FrameCost& cost, int steps,
                                  double budgetMs);

/// "precision fp32 to bf16, fusion on to off"; empty where nothing differs.
std::string differences(const Switches& before, const Switches& after);
/// Of what changes the work of a frame: "steps 2 to 4, stream batch off to on".
std::string differences(const LoopSettings& before, const LoopSettings& after);
std::string differences(const ModelKey& before, const ModelKey& after); ///< "size Pico to S"
std::string joined(const std::vector<std::string>& changes); ///< those that are not empty

} // namespace vergence::live
