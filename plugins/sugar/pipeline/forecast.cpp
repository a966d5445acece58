#include "plugins/sugar/pipeline/forecast.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/metrics/system_sampler.h"
#include "plugins/sugar/pipeline/surface_forecast.h"
#include "plugins/sugar/pipeline/surface_settings.h"

namespace vergence::sugar {

namespace {

constexpr double kMega = 1e6;
/// What a process takes beyond its start for threads, code that is read in as it is used, and
/// metrics, as measured.
constexpr double kLaterRuntime = 4e6;
constexpr Index kLargestBand = 1'024, kSmallestBand = 64; ///< rows
constexpr double kUsable = 0.85; ///< of free memory; the rest is for everything else

/// Of the Gaussians, what the alignment's pruning is expected to leave: .40 of those of 50
/// photographs of a fox and .60 of the built-in scene's were opaque enough.
Index keptOf(Index gaussians)
{
    return gaussians / 2;
}

/// Bytes of the decoded photographs that stay in host memory.
double photographBytes(const SugarConfig& config, const PictureSource& pictures)
{
    double bytes = 0;
    for (const Camera& camera : pictures.cameras())
        bytes += 3.0 * camera.width * camera.height;
    if (pictures.masked() > 0)
        bytes *= 4.0 / 3;
    const double budget = kMega * static_cast<double>(config.cacheMegabytes);
    return budget > 0 ? std::min(bytes, budget) : bytes;
}

/// Bytes of the photographs that stay on a GPU.
double residentBytes(const SugarConfig& config, const PictureSource& pictures)
{
    double largest = 0;
    for (const Camera& camera : pictures.cameras())
        largest = std::max(largest, 1.0 * camera.width * camera.height);
    const double planes = 3 + (pictures.masked() > 0 || config.masks == "alpha" ? 1 : 0) +
                          (config.background == "random" ? 1 : 0);
    return planes * largest * static_cast<double>(std::min(pictures.count(), kResidentPictures));
}

/// Whether density control adds and drops Gaussians.
bool densifies(const SugarConfig& config)
{
    return config.densify != "none" && config.iterations > config.densifyFrom &&
           config.densifyUntil > config.densifyFrom;
}

/// Gaussians at the end of learning.
Index finalCount(const ForecastInput& input)
{
    const bool grows = !input.isLearnt && densifies(input.config);
    return grows ? std::max<Index>(input.startCount, input.config.cap) : input.startCount;
}

/// Of learning from pictures.
MemoryQuestion learningQuestion(const ForecastInput& input)
{
    const SugarConfig& config = input.config;
    MemoryQuestion question;
    question.gaussians = finalCount(input);
    question.degree = config.shDegree;
    for (const Camera& camera : input.pictures.cameras()) {
        question.width = std::max<Index>(question.width, camera.width);
        question.height = std::max<Index>(question.height, camera.height);
    }
    question.instances = expectedInstances(question.gaussians, question.width, question.height);
    question.photographs = photographBytes(config, input.pictures);
    question.residentPhotographs = residentBytes(config, input.pictures);
    question.rearranges = densifies(config);
    question.tests = config.evalSplit;
    question.compactMoments = config.adamMoments == "compact";
    question.filter = config.mip;
    question.separateGradients = config.densify == "mcmc";
    question.bandRows = input.bandRows;
    question.hostRuntime =
        static_cast<double>(SystemSampler(0).sample().processResidentBytes) + kLaterRuntime;
    return question;
}

bool prunes(const SugarConfig& config)
{
    return config.regulariseFrom < config.alignSteps;
}

/// Of the alignment of as many Gaussians with surfaces; pictures are whole.
MemoryQuestion aligningQuestion(const ForecastInput& input, MemoryQuestion question)
{
    question.bandRows = 0;
    question.neighbours = input.config.neighbours;
    question.geometry = true;
    question.halfGeometry = input.config.depthNormalHalf;
    question.separateGradients = true;
    question.rearranges = prunes(input.config);
    question.keepsEarlier = true;
    question.samples = samplesOf(input.config, input.isCpu);
    return question;
}

MemoryForecast forecastOf(const MemoryQuestion& question, bool isCpu)
{
    return isCpu ? hostMemory(question, true) : deviceMemory(question);
}

/// Before the pruning, without the terms that follow it; after it, in the same rows.
MemoryForecast alignmentForecast(MemoryQuestion question, bool prunes, bool isCpu)
{
    MemoryQuestion before = question;
    before.neighbours = before.samples = 0;
    before.geometry = before.halfGeometry = false;
    if (prunes)
        question.kept = keptOf(question.gaussians);
    const MemoryForecast first = forecastOf(before, isCpu), second = forecastOf(question, isCpu);
    return first.total() > second.total() ? first : second;
}

bool fits(const MemoryForecast& forecast, std::size_t free)
{
    return free == 0 || forecast.total() <= kUsable * static_cast<double>(free);
}

} // namespace

std::vector<StageForecast> stageForecasts(const ForecastInput& input)
{
    const SugarConfig& config = input.config;
    const MemoryQuestion learning = learningQuestion(input);
    std::vector<StageForecast> all{{"S3", forecastOf(learning, input.isCpu)}};
    MemoryQuestion last = learning;
    if (config.goal != "gaussians" && config.alignSteps > 0) {
        const MemoryQuestion aligning = aligningQuestion(input, learning);
        all.push_back({"S4", alignmentForecast(aligning, prunes(config), input.isCpu)});
        if (prunes(config) && !input.isAligned)
            last.gaussians = keptOf(learning.gaussians);
    }
    if (input.isCpu) {
        for (StageForecast& later : laterForecasts(config, input.pictures, last))
            all.push_back(std::move(later));
    }
    return all;
}

MemoryForecast largest(const std::vector<StageForecast>& stages)
{
    expects(!stages.empty(), "memory forecast: there must be a stage");
    return std::max_element(stages.begin(), stages.end(),
                            [](const StageForecast& a, const StageForecast& b) {
                                return a.memory.total() < b.memory.total();
                            })
        ->memory;
}

MemoryForecast memoryForecast(const ForecastInput& input)
{
    return largest(stageForecasts(input));
}

Index bandRowsFor(const SugarConfig& config, const PictureSource& pictures, Index startCount,
                  bool isCpu, std::size_t free)
{
    if (config.bandRows > 0)
        return config.bandRows;
    MemoryQuestion question = learningQuestion({config, pictures, startCount, isCpu});
    if (fits(forecastOf(question, isCpu), free))
        return 0;
    for (question.bandRows = kLargestBand; question.bandRows > kSmallestBand;
         question.bandRows /= 2) {
        if (question.bandRows < question.height && fits(forecastOf(question, isCpu), free))
            return question.bandRows;
    }
    return kSmallestBand;
}

nlohmann::json forecastTable(const MemoryForecast& forecast, const Device& device)
{
    nlohmann::json rows = nlohmann::json::array();
    for (const MemoryPart& part : forecast.parts)
        rows.push_back({part.name, fmt::format("{:.1f}", part.bytes / kMega)});
    rows.push_back({device.isCpu() ? "Together: peak of the process" : "Together: peak of the GPU",
                    fmt::format("{:.1f}", forecast.total() / kMega)});
    rows.push_back(
        {"Free now", fmt::format("{:.0f}", static_cast<double>(device.memory().free) / kMega)});
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
