#include "core/run/run_forecast.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "core/artifact/manifest.h"
#include "core/base/error.h"

namespace vergence {

namespace {

/// When each step had ended: s since the run began, by step.
using StepEnds = std::map<std::int64_t, double>;

/// Of a line "step,wall_s,name,value". False for a heading, and for what is told between steps.
bool stepEndOf(const std::string& line, std::int64_t& step, double& wall)
{
    const char* end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, step);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ',')
        return false;
    const auto second = std::from_chars(first.ptr + 1, end, wall);
    return second.ec == std::errc() && !std::string_view(second.ptr, end).starts_with(",system/");
}

StepEnds stepEndsOf(const RunFolder& run)
{
    std::ifstream lines(run.metrics());
    StepEnds ends;
    std::int64_t step = 0;
    double wall = 0;
    for (std::string line; std::getline(lines, line);)
        if (stepEndOf(line, step, wall) && step > 0)
            ends.try_emplace(step, wall);
    return ends;
}

double resourceOf(const nlohmann::json& manifest, const char* key)
{
    const auto resources = manifest.find("resources");
    if (resources == manifest.end() || !resources->is_object())
        return 0;
    const auto found = resources->find(key);
    return found != resources->end() && found->is_number() ? found->get<double>() : 0;
}

/// The pace of the second half, by time.
void judgePace(const StepEnds& ends, RunForecast& forecast)
{
    const auto& [lastStep, lastWall] = *ends.rbegin();
    const double middle = (ends.begin()->second + lastWall) / 2;
    auto from = ends.begin();
    for (auto next = from; next != ends.end() && next->second <= middle; ++next)
        from = next;
    forecast.measured = lastStep - from->first;
    forecast.secondsPerStep = (lastWall - from->second) / static_cast<double>(forecast.measured);
    // What came before the first step that was told is its beginning, but for the steps themselves.
    const double steps = static_cast<double>(ends.begin()->first) * forecast.secondsPerStep;
    forecast.secondsBefore = std::max(0.0, ends.begin()->second - steps);
}

} // namespace

double RunForecast::seconds() const
{
    return secondsBefore + secondsPerStep * static_cast<double>(total);
}

double RunForecast::secondsFor(std::int64_t runs, std::int64_t atOnce) const
{
    expects(runs >= 1 && atOnce >= 1, "RunForecast: at least one run at a time");
    return seconds() * std::ceil(static_cast<double>(runs) / static_cast<double>(atOnce));
}

RunForecast forecastFrom(const RunFolder& probe)
{
    const RunStatus status = readStatus(probe);
    if (!status.problem.empty())
        throw InputError(status.problem);
    const StepEnds ends = stepEndsOf(probe);
    if (status.total <= 0)
        throw InputError("The run does not say how many steps it has, so that nothing can be "
                         "forecast.");
    if (ends.size() < 2)
        throw InputError(fmt::format("The run made {} of {} steps while it was measured, too few "
                                     "to judge by. Measure longer, with --seconds.",
                                     ends.empty() ? 0 : ends.rbegin()->first, status.total));
    const nlohmann::json manifest = readManifest(probe);
    RunForecast forecast;
    forecast.total = status.total;
    judgePace(ends, forecast);
    forecast.memoryMiB = resourceOf(manifest, "peak_rss_mib");
    forecast.deviceMiB = resourceOf(manifest, "peak_vram_mib");
    return forecast;
}

std::string roughDuration(double seconds)
{
    constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
    const auto whole = static_cast<std::int64_t>(std::max(0.0, std::ceil(seconds)));
    if (whole < 2 * kMinute)
        return fmt::format("{} s", whole);
    if (whole < 2 * kHour)
        return fmt::format("{} min", (whole + kMinute / 2) / kMinute);
    if (whole < 2 * kDay)
        return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
    return fmt::format("{} d {} h", whole / kDay, whole % kDay / kHour);
}

} // namespace vergence
