#include "plugins/live_diffusion/profile/targets.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr int kSteps[] = {1, 2, 4};

std::string oneShare(double boundSeconds, double budgetMs, int steps)
{
    const double share = shareOfRoofline(boundSeconds, budgetMs, steps);
    return isImpossible(share) ? "✗" : fmt::format("{:.0f}", 100 * share);
}

/// "27.3 ms, holds" or "not measured".
std::string verdict(double measuredMs, double budgetMs)
{
    if (!std::isfinite(measuredMs))
        return "–";
    return fmt::format("{:.3g} ms, {}", measuredMs, measuredMs <= budgetMs ? "holds" : "misses");
}

} // namespace

const std::vector<TimeBudget>& timeBudgets()
{
    static const std::vector<TimeBudget> budgets = {
        {40, "25 FPS product"}, {28, "35 FPS, week 1"},  {16, "62.5 FPS product"},
        {14, "70 FPS, week 2"}, {10, "100 FPS, week 3"}, {8, "120 FPS, week 4"}};
    return budgets;
}

double shareOfRoofline(double boundSeconds, double budgetMs, int steps)
{
    expects(boundSeconds > 0 && steps >= 1, "shareOfRoofline: a bound and at least one step");
    const double left = budgetMs * 1e-3 - kFrameOverhead;
    return left > 0 ? steps * boundSeconds / left : std::numeric_limits<double>::infinity();
}

bool isImpossible(double share)
{
    return share >= 0.995;
}

double frameRateBound(double boundSeconds, double memoryWriteSeconds, int steps)
{
    return 1 / (steps * boundSeconds + memoryWriteSeconds);
}

std::string shareText(double boundSeconds, double budgetMs)
{
    std::string text;
    for (const int steps : kSteps)
        text += (text.empty() ? "" : "/") + oneShare(boundSeconds, budgetMs, steps);
    return text;
}

std::string targetsMarkdown(const std::string& device, const std::string& model,
                            double boundSeconds, const std::vector<double>& measuredFrameMs)
{
    TextTable table{{"budget"}, {}};
    for (const int steps : kSteps) {
        table.columns.push_back(
            fmt::format("{} step{}: % of roofline", steps, steps > 1 ? "s" : ""));
        table.columns.emplace_back("measured");
    }
    for (const TimeBudget& budget : timeBudgets()) {
        std::vector<std::string> row{
            fmt::format("{:.0f} ms ({})", budget.milliseconds, budget.name)};
        for (std::size_t i = 0; i < std::size(kSteps); ++i) {
            row.push_back(oneShare(boundSeconds, budget.milliseconds, kSteps[i]));
            row.push_back(i < measuredFrameMs.size()
                              ? verdict(measuredFrameMs[i], budget.milliseconds)
                              : "–");
        }
        table.rows.push_back(std::move(row));
    }
    return fmt::format("{} on {}: least time of an evaluation {:.3g} ms, {} ms a frame beside its "
                       "evaluations; ✗: no program could\n\n{}",
                       model, device, boundSeconds * 1e3, kFrameOverhead * 1e3, table.markdown());
}

} // namespace vergence::live
