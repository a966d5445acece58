#include "plugins/live_diffusion/view/memory_charts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

namespace {

struct ByteUnit {
    double bytes;
    const char* name;
};

ByteUnit unitFor(double greatest)
{
    constexpr double kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024;
    if (greatest >= 2 * kGibi)
        return {kGibi, "GiB"};
    return greatest >= kMebi ? ByteUnit{kMebi, "MiB"} : ByteUnit{kKibi, "KiB"};
}

double known(double bytes)
{
    return std::isfinite(bytes) && bytes > 0 ? bytes : 0;
}

struct Part {
    const char *name, *colour;
    double (*bytes)(const MemoryStep&);
};
constexpr Part kParts[] = {
    {"weights", "series 0", [](const MemoryStep& step) { return known(step.weights); }},
    {"caches", "series 3", [](const MemoryStep& step) { return known(step.caches); }},
    {"arena", "series 2",
     [](const MemoryStep& step) { return std::max(0.0, known(step.arena) - known(step.scores)); }},
    {"attention scores", "series 1",
     [](const MemoryStep& step) { return std::min(known(step.arena), known(step.scores)); }},
    {"workspace", "series 4", [](const MemoryStep& step) { return known(step.workspace); }}};

double sumOf(const MemoryStep& step)
{
    double sum = 0;
    for (const Part& part : kParts)
        sum += part.bytes(step);
    return sum;
}

} // namespace

std::string byteText(double bytes)
{
    if (!std::isfinite(bytes))
        return "–";
    const ByteUnit unit = unitFor(std::abs(bytes));
    const double value = bytes / unit.bytes;
    return fmt::format("{:.{}f} {}", value, std::abs(value) < 99.95 && value != 0 ? 1 : 0,
                       unit.name);
}

Diagram memoryTimeline(std::span<const MemoryStep> steps, const MemoryLook& look)
{
    const std::string title = "Memory over the operations";
    if (steps.empty())
        return emptyChart(title, "No plan yet.", look.width, look.height);
    const auto peak = std::ranges::max_element(steps, {}, sumOf);
    const double most = sumOf(*peak);
    const ByteUnit unit = unitFor(most);

    plot::Plot chart;
    chart.title = title;
    chart.note = fmt::format("Most: {} in {} (operation {})", byteText(most), peak->op,
                             peak - steps.begin() + 1);
    chart.width = look.width;
    chart.height = look.height;
    const auto count = static_cast<double>(steps.size());
    chart.x = {"operation", false, 0.5, count + 0.5, wholeTicks(1, count)};
    chart.y = {unit.name, false, 0.0, most > 0 ? 1.12 * most / unit.bytes : 1, {}};
    std::vector<double> base(steps.size(), 0);
    for (const Part& part : kParts) {
        plot::Plot::Band band{{}, {}, {}, part.colour, part.name, 0.8};
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const double top = base[i] + part.bytes(steps[i]) / unit.bytes;
            for (const double side : {0.5, 1.5}) {
                band.x.push_back(static_cast<double>(i) + side);
                band.low.push_back(base[i]);
                band.high.push_back(top);
            }
            base[i] = top;
        }
        chart.bands.push_back(std::move(band));
    }
    if (most > 0)
        chart.marks.push_back({{static_cast<double>(peak - steps.begin()) + 1},
                               {1.05 * most / unit.bytes},
                               "text",
                               "most",
                               "diamond",
                               4});
    return layOut(chart);
}

Diagram memoryOverTime(std::span<const MemorySample> samples, const MemoryLook& look)
{
    const std::string title = "Memory over time";
    double most = 0;
    for (const MemorySample& sample : samples)
        most = std::max({most, known(sample.planned), known(sample.device)});
    if (most <= 0)
        return emptyChart(title, "Nothing sampled yet.", look.width, look.height);
    const ByteUnit unit = unitFor(most);
    plot::Plot chart;
    chart.title = title;
    chart.note = "The driver counts everything on the device, other programs included.";
    chart.width = look.width;
    chart.height = look.height;
    chart.x.title = "s";
    chart.y = {unit.name, false, 0.0, 1.1 * most / unit.bytes, {}};
    plot::Plot::Curve planned{{}, {}, "series 0", "planned", 2, false},
        device{{}, {}, "warning", "driver", 2, true};
    for (const MemorySample& sample : samples) {
        planned.x.push_back(sample.seconds);
        planned.y.push_back(sample.planned / unit.bytes);
        device.x.push_back(sample.seconds);
        device.y.push_back(sample.device / unit.bytes);
    }
    for (const plot::Plot::Curve& curve : {planned, device}) {
        const auto finite =
            std::ranges::count_if(curve.y, [](double y) { return std::isfinite(y); });
        if (finite == 1) // a line needs two
            chart.marks.push_back({curve.x, curve.y, curve.colour, curve.label});
        else if (finite > 1)
            chart.curves.push_back(curve);
    }
    return layOut(chart);
}

} // namespace vergence::live
