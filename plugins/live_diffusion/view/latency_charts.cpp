#include "plugins/live_diffusion/view/latency_charts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/metrics/statistics.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

namespace {

constexpr double kLabelShare =
    0.12; ///< of the frames' extent: free on the right for names of lines

double measured(double ms)
{
    return std::isfinite(ms) && ms > 0 ? ms : 0;
}

double totalOf(const FrameTiming& timing)
{
    double sum = 0;
    for (const double ms : timing.ms)
        sum += measured(ms);
    return sum;
}

/// Where the stack's axis ends: what nearly all frames need, and the lines.
double topOf(std::span<const FrameTiming> frames, const std::vector<BudgetLine>& lines)
{
    std::vector<double> totals;
    for (const FrameTiming& timing : frames)
        totals.push_back(totalOf(timing));
    std::ranges::sort(totals);
    const double usual = 1.5 * quantile(totals, 0.95);
    return 1.05 * std::max(lines.back().ms, std::min(totals.back(), usual));
}

/// Stage upon stage in steps one frame wide; frames that are not there leave a gap.
void addStages(plot::Plot& chart, std::span<const FrameTiming> frames)
{
    std::vector<plot::Plot::Band> bands(kStageNames.size());
    for (std::size_t stage = 0; stage < bands.size(); ++stage) {
        bands[stage].colour = "series " + std::to_string(stage);
        bands[stage].label = kStageNames[stage];
        bands[stage].opacity = 0.8;
    }
    const auto corner = [&](double x, const FrameTiming* timing) {
        double sum = 0;
        for (std::size_t stage = 0; stage < bands.size(); ++stage) {
            bands[stage].x.push_back(x);
            bands[stage].low.push_back(sum);
            sum += timing ? measured(timing->ms[stage]) : 0;
            bands[stage].high.push_back(sum);
        }
    };
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const auto at = static_cast<double>(frames[i].frame);
        if (i > 0 && frames[i].frame != frames[i - 1].frame + 1) {
            corner(static_cast<double>(frames[i - 1].frame) + 0.5, nullptr);
            corner(at - 0.5, nullptr);
        }
        corner(at - 0.5, &frames[i]);
        corner(at + 0.5, &frames[i]);
    }
    std::ranges::move(bands, std::back_inserter(chart.bands));
}

void addMarks(plot::Plot& chart, std::span<const FrameTiming> frames, double top)
{
    plot::Plot::Marks drops{{}, {}, "warning", "dropped before", "cross", 4},
        skips{{}, {}, "muted", "skipped", "ring", 3},
        beyond{{}, {}, "text", "beyond the axis", "diamond", 4};
    for (const FrameTiming& timing : frames) {
        const auto at = static_cast<double>(timing.frame);
        const auto mark = [&](plot::Plot::Marks& marks, double height) {
            marks.x.push_back(at);
            marks.y.push_back(height * top);
        };
        if (timing.dropped > 0)
            mark(drops, 1.12);
        if (timing.isSkipped)
            mark(skips, 1.06);
        if (totalOf(timing) > top)
            mark(beyond, 1);
    }
    for (const plot::Plot::Marks& marks : {drops, skips, beyond})
        if (!marks.x.empty())
            chart.marks.push_back(marks);
}

std::string timelineNote(std::span<const FrameTiming> frames)
{
    std::int64_t dropped = 0, skipped = 0;
    for (const FrameTiming& timing : frames) {
        dropped += timing.dropped;
        skipped += timing.isSkipped ? 1 : 0;
    }
    return fmt::format("{} frame{}, {} dropped, {} skipped", frames.size(),
                       frames.size() == 1 ? "" : "s", dropped, skipped);
}

/// Equal bins over the values that are not far out.
struct Bins {
    double low = 0, width = 1;
    std::vector<int> counts;
    std::size_t above = 0; ///< values beyond the last bin

    explicit Bins(const std::vector<double>& sorted)
    {
        const double median = quantile(sorted, 0.5);
        const double most = quantile(sorted, 0.99) + 3 * (quantile(sorted, 0.99) - median);
        low = sorted.front();
        double high = std::min(sorted.back(), most);
        const double least = std::max(0.02 * std::abs(median), 1e-6); // equal values get room
        if (high - low < least) {
            low = median - least / 2;
            high = median + least / 2;
        }
        const auto wanted =
            static_cast<std::size_t>(2 * std::sqrt(static_cast<double>(sorted.size())));
        const std::size_t count = std::clamp<std::size_t>(wanted, 8, 60) | 1U; // one in the middle
        width = (high - low) / static_cast<double>(count);
        counts.assign(count, 0);
        for (const double value : sorted) {
            if (value > high) {
                ++above;
                continue;
            }
            const double at = std::max(0.0, (value - low) / width);
            ++counts[std::min(count - 1, static_cast<std::size_t>(at))];
        }
    }
    double high() const { return low + width * static_cast<double>(counts.size()); }
};

} // namespace

Diagram latencyTimeline(std::span<const FrameTiming> frames, const LatencyLook& look)
{
    const std::string title = "Latency per frame";
    if (frames.empty())
        return emptyChart(title, "No frame yet.", look.width, look.height);
    frames = frames.last(std::min(frames.size(), kTimelineFrames));
    const std::vector<BudgetLine> lines = budgetLines(look.budgetMs.value_or(0));
    const double top = topOf(frames, lines);
    const auto first = static_cast<double>(frames.front().frame),
               last = static_cast<double>(frames.back().frame);
    const double margin = kLabelShare * std::max(1.0, last - first + 1);

    plot::Plot chart;
    chart.title = title;
    chart.note = timelineNote(frames);
    chart.width = look.width;
    chart.height = look.height;
    chart.x = {"frame", false, first - 0.5, last + 0.5 + margin, wholeTicks(first, last)};
    chart.y = {"ms", false, 0.0, 1.16 * top, {}};
    addStages(chart, frames);
    for (plot::Plot::Band& band : chart.bands)
        for (std::vector<double>* edge : {&band.low, &band.high})
            for (double& ms : *edge)
                ms = std::min(ms, top);
    double below = -top;
    for (const BudgetLine& line : lines) {
        below = std::max(line.ms, below + 0.08 * top); // names of lines close together spread
        chart.curves.push_back({{first - 0.5, last + 0.5 + 0.05 * margin},
                                {line.ms, line.ms},
                                line.colour,
                                "",
                                1.6,
                                true});
        chart.notes.push_back({last + 0.5 + 0.55 * margin, below, line.name, line.colour, true});
    }
    addMarks(chart, frames, top);
    return layOut(chart);
}

Diagram latencyHistogram(std::span<const double> milliseconds, const LatencyLook& look)
{
    const std::string title = "Latencies";
    std::vector<double> sorted;
    for (const double ms : milliseconds)
        if (std::isfinite(ms))
            sorted.push_back(ms);
    if (sorted.empty())
        return emptyChart(title, "No frame yet.", look.width, look.height);
    std::ranges::sort(sorted);
    const Bins bins(sorted);
    const double most = std::ranges::max(bins.counts);

    plot::Plot chart;
    chart.title = title;
    chart.width = look.width;
    chart.height = look.height;
    chart.y = {"frames", look.isLog, look.isLog ? 0.7 : 0.0, (look.isLog ? 1.6 : 1.08) * most, {}};
    chart.note = fmt::format("{} frame{}", sorted.size(), sorted.size() == 1 ? "" : "s");
    if (bins.above > 0)
        chart.note += fmt::format(", {} of them beyond the axis up to {} ms", bins.above,
                                  plot::shortNumber(sorted.back()));
    if (sorted.size() < milliseconds.size())
        chart.note += fmt::format(", {} not measured", milliseconds.size() - sorted.size());
    double low = bins.low, high = bins.high();
    const auto upright = [&](double at, const std::string& name, const char* colour,
                             bool isDashed) {
        chart.curves.push_back(
            {{at, at}, {*chart.y.low, *chart.y.high}, colour, name, 1.6, isDashed});
    };
    for (const BudgetLine& line : budgetLines(look.budgetMs.value_or(0))) {
        const bool isNear = line.ms <= 2.5 * bins.high() && line.ms >= 0.4 * bins.low;
        if (!isNear) {
            chart.note +=
                fmt::format("; {} lies far {}", line.name, line.ms < bins.low ? "below" : "above");
            continue;
        }
        low = std::min(low, line.ms);
        high = std::max(high, line.ms);
        upright(line.ms, line.name, line.colour.c_str(), true);
    }
    const double air = 0.03 * (high - low);
    chart.x = {"ms", false, std::max(0.0, low - air), high + air, {}};
    for (const auto& [share, name, colour] : {std::tuple{0.5, "p50", "series 2"},
                                              {0.95, "p95", "series 4"},
                                              {0.99, "p99", "series 1"}}) {
        const double at = quantile(sorted, share);
        upright(std::min(at, *chart.x.high), fmt::format("{} {} ms", name, plot::shortNumber(at)),
                colour, false);
    }
    for (std::size_t i = 0; i < bins.counts.size(); ++i)
        if (bins.counts[i] > 0) {
            const double left = bins.low + bins.width * static_cast<double>(i);
            chart.bars.push_back(
                {left, left + bins.width, *chart.y.low, double(bins.counts[i]), "series 0",
                 fmt::format("{} from {} to {} ms", bins.counts[i], plot::shortNumber(left),
                             plot::shortNumber(left + bins.width)),
                 0.6});
        }
    return layOut(chart);
}

} // namespace vergence::live
