#include "plugins/live_diffusion/session/stream_log.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/metrics/statistics.h"
#include "plugins/live_diffusion/view/memory_charts.h"

namespace vergence::live {

namespace {

constexpr std::size_t kWindow = 600; ///< frames that quantiles are of
constexpr std::size_t kMostFrames = 36'000;
constexpr double kRateSeconds = 1;
constexpr std::size_t kSettling = 2; ///< frames after a change that do not count

/// "a 1 to 2, b off to on": what changed, in words.
class Differences {
public:
    template <class Value>
    void add(const char* name, const Value& from, const Value& to)
    {
        if (from != to)
            m_changes.push_back(fmt::format("{} {} to {}", name, textOf(from), textOf(to)));
    }
    std::string text() const { return joined(m_changes); }

private:
    template <class Value>
    static std::string textOf(const Value& value)
    {
        if constexpr (std::is_same_v<Value, bool>)
            return value ? "on" : "off";
        else if constexpr (NamedEnum<Value>)
            return std::string(nameOf(value));
        else
            return fmt::format("{}", value);
    }

    std::vector<std::string> m_changes;
};

double quantileOfNewest(const std::vector<double>& values, double q)
{
    if (values.empty())
        return std::nan("");
    const std::size_t count = std::min(kWindow, values.size());
    return quantile({values.end() - static_cast<std::ptrdiff_t>(count), values.end()}, q);
}

} // namespace

void StreamLog::add(const PresentedFrame& frame, int dropped)
{
    const FrameRecord& record = frame.record;
    const double whole = frame.finished - frame.captured, now = frame.finished;
    FrameTiming timing;
    timing.frame = record.number;
    const FrameTimes& s = record.seconds;
    timing.ms = {1e3 * std::max(0.0, whole - s.total), 1e3 * s.preprocess,
                 1e3 * (s.network + s.sampler + s.memory), 1e3 * s.postprocess, 0};
    timing.dropped = dropped;
    timing.isSkipped = record.fate == FrameFate::Skipped;
    m_timings.push_back(timing);
    if (m_timings.size() > 2 * kTimelineFrames)
        m_timings.erase(m_timings.begin(), m_timings.end() - kTimelineFrames);
    if (m_first == 0)
        m_first = frame.captured;
    m_last = now;
    if (record.fate != FrameFate::Generated)
        return;
    ++m_generated;
    m_milliseconds.push_back(1e3 * frame.latency());
    m_ticks.push_back(1e3 * s.total);
    if (m_ticks.size() > 2 * kWindow)
        m_ticks.erase(m_ticks.begin(), m_ticks.end() - kWindow);
    m_clock.push_back(now);
    if (m_milliseconds.size() > kMostFrames)
        forgetOldest();
}

/// A tenth at once, so that it is seldom done.
void StreamLog::forgetOldest()
{
    constexpr std::size_t kCount = kMostFrames / 10;
    m_milliseconds.erase(m_milliseconds.begin(), m_milliseconds.begin() + kCount);
    m_clock.erase(m_clock.begin(), m_clock.begin() + kCount);
    for (Change& change : m_changes)
        change.at -= std::min(change.at, kCount);
}

void StreamLog::mark(const std::string& change)
{
    if (change.empty())
        return;
    if (!m_changes.empty())
        m_changes.back().after = medianAfter(m_changes.back());
    const double before = m_changes.empty() ? medianSince(0) : m_changes.back().after;
    m_changes.push_back({change, m_milliseconds.size(), before, 0});
}

double StreamLog::framesPerSecond() const
{
    if (m_clock.size() < 2)
        return 0;
    const auto first = std::ranges::lower_bound(m_clock, m_clock.back() - kRateSeconds);
    const auto count = static_cast<double>(m_clock.end() - first - 1);
    const double time = m_clock.back() - *first;
    return time > 0 ? count / time : 0;
}

double StreamLog::meanRate() const
{
    return seconds() > 0 ? static_cast<double>(m_generated) / seconds() : 0;
}

double StreamLog::latencyMs(double q) const
{
    return quantileOfNewest(m_milliseconds, q);
}

double StreamLog::tickMs(double q) const
{
    return quantileOfNewest(m_ticks, q);
}

double StreamLog::missedShare(double budgetMs) const
{
    if (m_milliseconds.empty())
        return 0;
    const auto count =
        std::ranges::count_if(m_milliseconds, [&](double ms) { return ms > budgetMs; });
    return static_cast<double>(count) / static_cast<double>(m_milliseconds.size());
}

double StreamLog::medianSince(std::size_t first) const
{
    if (first >= m_milliseconds.size())
        return std::nan("");
    return quantile(
        {m_milliseconds.begin() + static_cast<std::ptrdiff_t>(first), m_milliseconds.end()}, 0.5);
}

double StreamLog::medianAfter(const Change& change) const
{
    return medianSince(change.at + kSettling);
}

nlohmann::json StreamLog::switchTable() const
{
    auto rows = nlohmann::json::array();
    const auto text = [](double ms) {
        return std::isfinite(ms) ? fmt::format("{:.2f}", ms) : std::string("–");
    };
    for (const Change& change : m_changes) {
        const double after = &change == &m_changes.back() ? medianAfter(change) : change.after;
        rows.push_back({change.text, text(change.before), text(after),
                        std::isfinite(after / change.before)
                            ? fmt::format("{:+.1f} %", 100 * (after / change.before - 1))
                            : std::string("–")});
    }
    return {{"id", "switches"},
            {"title", "Switches moved while streaming"},
            {"columns", {"change", "ms before", "ms after", "difference"}},
            {"rows", rows}};
}

std::string StreamLog::csv() const
{
    std::string text = "frame,generated_at_s,frame_ms\n";
    for (std::size_t i = 0; i < m_milliseconds.size(); ++i)
        text += fmt::format("{},{:.6f},{:.4f}\n", i, m_clock[i] - m_first, m_milliseconds[i]);
    return text;
}

std::vector<BigNumber> bigNumbers(const StreamLog& log, const FrameCost& cost, int steps,
                                  double budgetMs)
{
    const auto ms = [](double value) {
        return std::isfinite(value) ? fmt::format("{:.1f} ms", value) : std::string();
    };
    const double rate = log.framesPerSecond(), median = log.latencyMs(0.5);
    const double tick = log.tickMs(0.5);
    const auto share = [&](double budget) { return 100 * log.missedShare(budget); };
    std::vector<BigNumber> numbers;
    numbers.push_back({"frames", rate > 0 ? fmt::format("{:.1f} /s", rate) : "",
                       fmt::format("{:.1f} /s on the whole", log.meanRate()),
                       "Finished frames, all their steps done, over wall time; skipped ones do "
                       "not count.",
                       false});
    numbers.push_back(
        {"time of a frame", ms(median),
         fmt::format("p95 {:.1f}, p99 {:.1f} ms", log.latencyMs(0.95), log.latencyMs(0.99)) +
             (tick < median ? fmt::format("; tick {:.1f} ms", tick) : std::string()),
         "From the frame in host memory to the output in host memory; of a stream batch the ticks "
         "of all its steps.",
         median > budgetMs});
    numbers.push_back({"over 40 / 16 ms", fmt::format("{:.0f} / {:.0f} %", share(40), share(16)),
                       fmt::format("over {:g} ms: {:.0f} %", budgetMs, share(budgetMs)),
                       "Share of finished frames that took longer.", false});
    numbers.push_back({"evaluations", rate > 0 ? fmt::format("{:.0f} /s", rate * steps) : "",
                       fmt::format("{} a frame, not frames", steps),
                       "Forward passes of the network; never to be mistaken for frames.", false});
    numbers.push_back({"memory, steady", byteText(static_cast<double>(cost.steadyBytes())),
                       fmt::format("weights {}", byteText(static_cast<double>(cost.weightBytes))),
                       "Weights, activations, workspaces and caches after warm-up.", false});
    numbers.push_back({"work",
                       tick > 0 && cost.flopPerRow > 0
                           ? fmt::format("{:.0f} GFLOP/s", static_cast<double>(cost.flopPerRow) *
                                                               steps / (tick * 1e6))
                           : "",
                       fmt::format("{:.2f} GFLOP each", static_cast<double>(cost.flopPerRow) / 1e9),
                       "Useful work over the time of a frame.", false});
    return numbers;
}

std::string differences(const Switches& before, const Switches& after)
{
    Differences found;
    found.add("precision", before.precision, after.precision);
    found.add("layout", before.layout, after.layout);
    found.add("attention", before.attention, after.attention);
    found.add("fusion", before.fusion, after.fusion);
    found.add("tuning", before.tuned, after.tuned);
    found.add("CUDA graph", before.graph, after.graph);
    found.add("collapsed upsampling", before.collapsedUpsampling, after.collapsedUpsampling);
    found.add("channel rounding", before.channelRounding, after.channelRounding);
    return found.text();
}

std::string differences(const LoopSettings& before, const LoopSettings& after)
{
    Differences found;
    found.add("steps", stepsOf(before), stepsOf(after));
    found.add("sampler", titleOf(before.sampler), titleOf(after.sampler));
    found.add("guidance", titleOf(before.guidance.kind), titleOf(after.guidance.kind));
    found.add("stream batch", before.isStreamBatch, after.isStreamBatch);
    found.add("memory", before.usesMemory, after.usesMemory);
    found.add("similarity filter", before.filtersSimilar, after.filtersSimilar);
    return found.text();
}

std::string differences(const ModelKey& before, const ModelKey& after)
{
    const UnetSettings &from = before.unet, &to = after.unet;
    Differences found;
    found.add("size", titleOf(from.size), titleOf(to.size));
    found.add("frame", fmt::format("{} px", from.frameSize()),
              fmt::format("{} px", to.frameSize()));
    found.add("grid", from.grid, to.grid);
    found.add("attention at full grid", from.hasAttentionAtLevel0, to.hasAttentionAtLevel0);
    found.add("window attention", from.hasWindowAttention, to.hasWindowAttention);
    found.add("misaligned", from.isMisaligned, to.isMisaligned);
    found.add("weights", before.weights, after.weights);
    if (found.text().empty() && before != after)
        return "other weights";
    return found.text();
}

std::string joined(const std::vector<std::string>& changes)
{
    std::string text;
    for (const std::string& change : changes)
        if (!change.empty())
            text += (text.empty() ? "" : ", ") + change;
    return text;
}

} // namespace vergence::live
