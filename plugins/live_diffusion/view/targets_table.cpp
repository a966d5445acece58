#include "plugins/live_diffusion/view/targets_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

namespace {

constexpr double kImpossible = 0.995; ///< no program reaches its roofline

double measuredAt(const Targets& targets, std::size_t column)
{
    return column < targets.measuredMs.size() ? targets.measuredMs[column]
                                              : std::numeric_limits<double>::quiet_NaN();
}

plot::PlotTable::Cell cellFor(const Targets& targets, double budgetMs, std::size_t column)
{
    const double share = neededShare(targets, budgetMs, targets.steps[column]);
    const double measured = measuredAt(targets, column);
    const bool isKnown = std::isfinite(measured), holds = measured <= budgetMs;
    return {share >= kImpossible ? "impossible" : fmt::format("{:.0f} %", 100 * share),
            isKnown
                ? fmt::format("{} ms {}", plot::shortNumber(measured), holds ? "holds" : "misses")
                : "not measured",
            isKnown && holds       ? "accent"
            : share >= kImpossible ? "warning"
            : isKnown              ? "warning"
                                   : "text"};
}

} // namespace

std::vector<FrameBudget> publishedBudgets()
{
    return {{40, "25 FPS, product"}, {28, "35 FPS, week 1"},  {16, "62.5 FPS, product"},
            {14, "70 FPS, week 2"},  {10, "100 FPS, week 3"}, {8, "120 FPS, week 4"}};
}

double neededShare(const Targets& targets, double budgetMs, int steps)
{
    const double left = budgetMs - targets.overheadMs;
    return left > 0 ? steps * targets.boundMs / left : INFINITY;
}

Diagram targetsTable(const Targets& targets)
{
    if (!(targets.boundMs > 0) || targets.steps.empty())
        return emptyChart("Targets", "The roofline of this device is not known yet.", 640, 160);
    plot::PlotTable table;
    table.title = fmt::format("Targets: {} on {}", targets.model, targets.device);
    table.note =
        fmt::format("Share of the roofline that a frame needs: {} ms per evaluation at "
                    "best, {} ms beside them.",
                    plot::shortNumber(targets.boundMs), plot::shortNumber(targets.overheadMs, 2));
    table.width = std::max(700.0, plot::textLength(table.note, 12) + 30);
    table.rows.push_back({{"budget"}});
    for (const int steps : targets.steps)
        table.rows.front().push_back({fmt::format("{} step{}", steps, steps == 1 ? "" : "s")});
    for (const FrameBudget& budget : targets.budgets) {
        table.rows.push_back({{fmt::format("{:g} ms", budget.milliseconds), budget.name, "text"}});
        for (std::size_t column = 0; column < targets.steps.size(); ++column)
            table.rows.back().push_back(cellFor(targets, budget.milliseconds, column));
    }
    return layOut(table);
}

} // namespace vergence::live
