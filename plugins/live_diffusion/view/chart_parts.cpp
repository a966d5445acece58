#include "plugins/live_diffusion/view/chart_parts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot_sheet.h"

namespace vergence::live {

Diagram emptyChart(const std::string& title, const std::string& sentence, double width,
                   double height)
{
    Diagram sheet = plot::sheet(width, height);
    sheet.texts.push_back(
        plot::label(plot::kEdge, height - 18, title, plot::kTitle, "text", "left"));
    sheet.texts.back().isBold = true;
    sheet.texts.push_back(plot::label(width / 2, height / 2, sentence, plot::kFace, "muted"));
    return sheet;
}

std::vector<std::pair<double, std::string>> wholeTicks(double first, double last, int count)
{
    const double raw = std::max(1.0, (last - first) / std::max(1, count));
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    double step = 10 * power;
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= raw) {
            step = factor * power;
            break;
        }
    std::vector<std::pair<double, std::string>> ticks;
    for (double at = std::ceil(first / step) * step; at <= last; at += step)
        ticks.emplace_back(at, fmt::format("{:.0f}", at));
    return ticks;
}

std::vector<BudgetLine> budgetLines(double ownMs)
{
    std::vector<BudgetLine> lines{{16, "16 ms", "accent"}, {40, "40 ms", "warning"}};
    if (std::isfinite(ownMs) && ownMs > 0)
        lines.push_back({ownMs, fmt::format("own {:g} ms", ownMs), "text"});
    std::ranges::sort(lines, {}, &BudgetLine::ms);
    return lines;
}

} // namespace vergence::live
