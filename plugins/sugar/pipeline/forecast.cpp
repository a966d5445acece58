#include "plugins/sugar/pipeline/forecast.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/metrics/system_sampler.h"

namespace vergence::sugar {

namespace {

constexpr double kMega = 1e6;
/// What a process takes beyond its start for threads, libraries and the writing of results, as
/// measured on runs of three sizes.
constexpr double kLaterRuntime = 25e6;
constexpr double kUsable = 0.85; ///< of free memory; the rest is for everything else

} // namespace

MemoryForecast memoryForecast(const SugarConfig& config, const PictureSource& pictures,
                              Index startCount, bool isCpu)
{
    MemoryQuestion question;
    const bool grows = config.densify != "none" && config.iterations > config.densifyFrom;
    question.gaussians = grows ? std::max<Index>(startCount, config.cap) : startCount;
    question.headroom = grows ? 1.25 : 1;
    question.degree = config.shDegree;
    for (const Camera& camera : pictures.cameras()) {
        question.width = std::max<Index>(question.width, camera.width);
        question.height = std::max<Index>(question.height, camera.height);
    }
    question.instances = expectedInstances(question.gaussians, question.width, question.height);
    question.photographs = static_cast<Index>(pictures.count());
    if (config.goal != "gaussians" && config.alignSteps > 0) {
        question.neighbours = config.neighbours;
        question.geometry = true;
        question.separateGradients = true;
    }
    question.hostRuntime =
        static_cast<double>(SystemSampler(0).sample().processResidentBytes) + kLaterRuntime;
    return isCpu ? hostMemory(question, true) : deviceMemory(question);
}

nlohmann::json forecastTable(const MemoryForecast& forecast, const DeviceMemory& memory)
{
    nlohmann::json rows = nlohmann::json::array();
    for (const MemoryPart& part : forecast.parts)
        rows.push_back({part.name, fmt::format("{:.1f}", part.bytes / kMega)});
    rows.push_back({"Together", fmt::format("{:.1f}", forecast.total() / kMega)});
    rows.push_back({"Free now", fmt::format("{:.0f}", static_cast<double>(memory.free) / kMega)});
    return {{"id", "memory_forecast"},
            {"title", "Memory forecast"},
            {"columns", {"part", "MB"}},
            {"rows", rows}};
}

std::string forecastWarning(const MemoryForecast& forecast, const DeviceMemory& memory)
{
    if (memory.free == 0 || forecast.total() <= kUsable * static_cast<double>(memory.free))
        return {};
    return fmt::format(
        "About {:.0f} MB will be needed and {:.0f} MB are free; lower cap, max_width "
        "or sh_degree.",
        forecast.total() / kMega, static_cast<double>(memory.free) / kMega);
}

} // namespace vergence::sugar
