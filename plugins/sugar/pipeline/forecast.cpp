#include "plugins/sugar/pipeline/forecast.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/metrics/system_sampler.h"
#include "plugins/sugar/compute/gaussians.h"

namespace vergence::sugar {

namespace {

constexpr double kMega = 1e6;
/// What a process takes beyond its start for threads, libraries and the writing of results, as
/// measured on runs of three sizes.
constexpr double kLaterRuntime = 12e6;
constexpr Index kLargestBand = 1'024, kSmallestBand = 64; ///< rows
constexpr double kUsable = 0.85; ///< of free memory; the rest is for everything else

/// Of learning from pictures.
MemoryQuestion learningQuestion(const SugarConfig& config, const PictureSource& pictures,
                                Index startCount)
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
    question.hostRuntime =
        static_cast<double>(SystemSampler(0).sample().processResidentBytes) + kLaterRuntime;
    return question;
}

MemoryForecast forecastOf(const MemoryQuestion& question, bool isCpu)
{
    return isCpu ? hostMemory(question, true) : deviceMemory(question);
}

/// Of the writing of results: all frames of the turntable are held until they are a GIF, beside the
/// Gaussians as they are kept and as they are drawn.
MemoryForecast resultsForecast(const SugarConfig& config, const PictureSource& pictures,
                               const MemoryQuestion& learning)
{
    constexpr double kFloat = 4, kCopies = 2;
    double turntable = 0;
    if (pictures.count() > 0) {
        const Camera& like = pictures.cameras().front();
        const double longer = std::max(like.width, like.height);
        const double shorter = std::min(like.width, like.height);
        turntable = 3.0 * config.turntableFrames * config.turntableSize * config.turntableSize *
                    shorter / longer;
    }
    const double numbers = 14 + 3.0 * restCoefficients(learning.degree);
    MemoryForecast forecast{
        {{"Gaussians", kCopies * kFloat * numbers * static_cast<double>(learning.gaussians)},
         {"Photographs",
          3.0 * static_cast<double>(learning.photographs * learning.width * learning.height)},
         {"Turntable", turntable},
         {"Runtime", learning.hostRuntime}}};
    std::erase_if(forecast.parts, [](const MemoryPart& part) { return part.bytes == 0; });
    return forecast;
}

bool fits(const MemoryForecast& forecast, std::size_t free)
{
    return free == 0 || forecast.total() <= kUsable * static_cast<double>(free);
}

} // namespace

MemoryForecast memoryForecast(const SugarConfig& config, const PictureSource& pictures,
                              Index startCount, bool isCpu, Index bandRows)
{
    MemoryQuestion question = learningQuestion(config, pictures, startCount);
    question.bandRows = bandRows;
    MemoryForecast largest = forecastOf(question, isCpu);
    const auto consider = [&](MemoryForecast other) {
        if (other.total() > largest.total())
            largest = std::move(other);
    };
    if (isCpu)
        consider(resultsForecast(config, pictures, question));
    if (config.goal != "gaussians" && config.alignSteps > 0) {
        question.bandRows = 0;
        question.neighbours = config.neighbours;
        question.geometry = true;
        question.separateGradients = true;
        consider(forecastOf(question, isCpu));
    }
    return largest;
}

Index bandRowsFor(const SugarConfig& config, const PictureSource& pictures, Index startCount,
                  bool isCpu, std::size_t free)
{
    if (config.bandRows > 0)
        return config.bandRows;
    MemoryQuestion question = learningQuestion(config, pictures, startCount);
    if (fits(forecastOf(question, isCpu), free))
        return 0;
    for (question.bandRows = kLargestBand; question.bandRows > kSmallestBand;
         question.bandRows /= 2) {
        if (question.bandRows < question.height && fits(forecastOf(question, isCpu), free))
            return question.bandRows;
    }
    return kSmallestBand;
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
    if (fits(forecast, memory.free))
        return {};
    return fmt::format(
        "About {:.0f} MB will be needed and {:.0f} MB are free; lower cap, max_width "
        "or sh_degree.",
        forecast.total() / kMega, static_cast<double>(memory.free) / kMega);
}

} // namespace vergence::sugar
