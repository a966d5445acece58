#include "core/run/group_end.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace vergence {

namespace {

bool works(const RunCourse& run)
{
    return isLive(run.state);
}

bool canBeJudged(const RunCourse& run)
{
    return works(run) && run.step > 0 && run.total > 0;
}

/// Of a whole run at its present pace.
double wholeSeconds(const RunCourse& run)
{
    return run.seconds * static_cast<double>(std::max(run.step, run.total)) /
           static_cast<double>(run.step);
}

std::optional<double> meanSeconds(const std::vector<RunCourse>& runs)
{
    double sum = 0;
    int count = 0;
    for (const RunCourse& run : runs)
        if (run.state == RunState::Completed) {
            sum += run.seconds;
            ++count;
        }
    for (const RunCourse& run : runs)
        if (count == 0 && canBeJudged(run))
            sum += wholeSeconds(run);
    if (count == 0)
        count = static_cast<int>(std::ranges::count_if(runs, canBeJudged));
    return count > 0 ? std::optional(sum / count) : std::nullopt;
}

} // namespace

std::optional<double> secondsLeft(const std::vector<RunCourse>& runs)
{
    const auto whole = meanSeconds(runs);
    // When each lane is free: the run that works there goes on at its own pace.
    std::priority_queue<double, std::vector<double>, std::greater<>> lanes;
    for (const RunCourse& run : runs) {
        if (!works(run) || !whole)
            continue;
        const double ownWhole = canBeJudged(run) ? wholeSeconds(run) : *whole;
        lanes.push(std::max(0.0, ownWhole - run.seconds));
    }
    if (lanes.empty())
        return std::nullopt;
    for (const RunCourse& run : runs) {
        if (run.state != RunState::Queued)
            continue;
        const double end = lanes.top() + *whole;
        lanes.pop();
        lanes.push(end);
    }
    while (lanes.size() > 1)
        lanes.pop();
    return lanes.top();
}

} // namespace vergence
