#include "plugins/live_diffusion/session/stream_log.h"

#include <algorithm>
#include <cmath>

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

} // namespace

void StreamLog::add(const FrameRecord& record, double latency, double now, int dropped)
{
    FrameTiming timing;
    timing.frame = record.number;
    const FrameTimes& s = record.seconds;
    timing.ms = {1e3 * std::max(0.0, latency - s.total), 1e3 * s.preprocess,
                 1e3 * (s.network + s.sampler + s.memory), 1e3 * s.postprocess, 0};
    timing.dropped = dropped;
    timing.isSkipped = record.fate == FrameFate::Skipped;
    m_timings.push_back(timing);
    if (m_timings.size() > 2 * kTimelineFrames)
        m_timings.erase(m_timings.begin(), m_timings.end() - kTimelineFrames);
    if (m_first == 0)
        m_first = now - latency;
    m_last = now;
    if (record.fate != FrameFate::Generated)
        return;
    ++m_generated;
    m_milliseconds.push_back(1e3 * s.total);
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

double StreamLog::networkMs(double q) const
{
    if (m_milliseconds.empty())
        return std::nan("");
    const std::size_t count = std::min(kWindow, m_milliseconds.size());
    return quantile(
        {m_milliseconds.end() - static_cast<std::ptrdiff_t>(count), m_milliseconds.end()}, q);
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
    const double rate = log.framesPerSecond(), median = log.networkMs(0.5);
    const auto share = [&](double budget) { return 100 * log.missedShare(budget); };
    std::vector<BigNumber> numbers;
    numbers.push_back({"frames", rate > 0 ? fmt::format("{:.1f} /s", rate) : "",
                       fmt::format("{:.1f} /s on the whole", log.meanRate()),
                       "Finished frames, all their steps done, over wall time; skipped ones do "
                       "not count.",
                       false});
    numbers.push_back(
        {"time of a frame", ms(median),
         fmt::format("p95 {:.1f}, p99 {:.1f} ms", log.networkMs(0.95), log.networkMs(0.99)),
         "From the frame in host memory to the output in host memory.", median > budgetMs});
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
                       median > 0 && cost.flopPerRow > 0
                           ? fmt::format("{:.0f} GFLOP/s", static_cast<double>(cost.flopPerRow) *
                                                               steps / (median * 1e6))
                           : "",
                       fmt::format("{:.2f} GFLOP each", static_cast<double>(cost.flopPerRow) / 1e9),
                       "Useful work over the time of a frame.", false});
    return numbers;
}

std::string differences(const Switches& before, const Switches& after)
{
    std::string text;
    const auto add = [&](const char* name, const std::string& from, const std::string& to) {
        if (from != to)
            text += fmt::format("{}{} {} to {}", text.empty() ? "" : ", ", name, from, to);
    };
    const auto onOff = [](bool on) { return std::string(on ? "on" : "off"); };
    add("precision", std::string(nameOf(before.precision)), std::string(nameOf(after.precision)));
    add("layout", std::string(nameOf(before.layout)), std::string(nameOf(after.layout)));
    add("attention", std::string(nameOf(before.attention)), std::string(nameOf(after.attention)));
    add("fusion", onOff(before.fusion), onOff(after.fusion));
    add("tuning", onOff(before.tuned), onOff(after.tuned));
    add("CUDA graph", onOff(before.graph), onOff(after.graph));
    add("collapsed upsampling", onOff(before.collapsedUpsampling),
        onOff(after.collapsedUpsampling));
    return text;
}

} // namespace vergence::live
