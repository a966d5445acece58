#include "plugins/live_diffusion/view/targets_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "plugins/live_diffusion/profile/targets.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

namespace {

double measuredAt(const Targets& targets, std::size_t column)
{
    return column < targets.measuredMs.size() ? targets.measuredMs[column]
                                              : std::numeric_limits<double>::quiet_NaN();
}

plot::PlotTable::Cell cellFor(const Targets& targets, double budgetMs, std::size_t column)
{
    const double share = shareOfRoofline(targets.boundMs / 1000, budgetMs, targets.steps[column]);
    const double measured = measuredAt(targets, column);
    const bool isKnown = std::isfinite(measured), holds = measured <= budgetMs;
    return {isImpossible(share) ? "impossible" : fmt::format("{:.0f} %", 100 * share),
            isKnown
                ? fmt::format("{} ms {}", plot::shortNumber(measured), holds ? "holds" : "misses")
                : "not measured",
            isKnown && holds      ? "accent"
            : isImpossible(share) ? "warning"
            : isKnown             ? "warning"
                                  : "text"};
}

} // namespace

Diagram targetsTable(const Targets& targets)
{
    if (!(targets.boundMs > 0) || targets.steps.empty())
        return emptyChart("Targets", "The roofline of this device is not known yet.", 640, 160);
    plot::PlotTable table;
    table.title = fmt::format("Targets: {} on {}", targets.model, targets.device);
    table.note = fmt::format("Share of the roofline that a frame needs: {} ms per evaluation at "
                             "best, {} ms beside them.",
                             plot::shortNumber(targets.boundMs),
                             plot::shortNumber(1000 * kFrameOverhead, 2));
    for (std::size_t column = 0; column < targets.steps.size(); ++column)
        if (measuredAt(targets, column) < targets.boundMs * targets.steps[column]) {
            table.note += " Less was measured where an algorithm does less work than is counted.";
            break;
        }
    table.width = std::max(700.0, plot::textLength(table.note, 12) + 30);
    table.rows.push_back({{"budget"}});
    for (const int steps : targets.steps)
        table.rows.front().push_back({fmt::format("{} step{}", steps, steps == 1 ? "" : "s")});
    for (const TimeBudget& budget : timeBudgets()) {
        table.rows.push_back({{fmt::format("{:g} ms", budget.milliseconds), budget.name, "text"}});
        for (std::size_t column = 0; column < targets.steps.size(); ++column)
            table.rows.back().push_back(cellFor(targets, budget.milliseconds, column));
    }
    return layOut(table);
}

} // namespace vergence::live
