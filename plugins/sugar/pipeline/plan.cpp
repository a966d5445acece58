#include "plugins/sugar/pipeline/plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/log.h"
#include "plugins/sugar/pipeline/forecast.h"
#include "plugins/sugar/pipeline/settings.h"

namespace vergence::sugar {

namespace {

constexpr double kUsable = 0.85;  ///< of free memory
constexpr Index kStart = 100'000; ///< Gaussians; the forecast is that of the cap anyway

std::filesystem::path planFile(RunContext& context)
{
    return context.artifacts().folder().root / "stages" / "plan.json";
}

const Plan* keptPlan(RunContext& context, const std::vector<Plan>& plans)
{
    std::error_code failure;
    if (!std::filesystem::exists(planFile(context), failure))
        return nullptr;
    const auto json = nlohmann::json::parse(readFile(planFile(context)), nullptr, false);
    const std::string name = json.is_object() ? json.value("plan", "") : "";
    const auto plan = std::find_if(plans.begin(), plans.end(),
                                   [&](const Plan& each) { return name == each.name; });
    return plan == plans.end() ? nullptr : &*plan;
}

} // namespace

const std::vector<Plan>& plansFor(bool isCpu)
{
    static const std::vector<Plan> gpu{{"full resolution", 0, 30'000, 6'000'000, 3, 250'000, 1,
                                        false, 10'000'000, 10, 1'000'000, 1.0, 15'000, 10},
                                       {"24 GB", 1920, 30'000, 9'000'000, 3, 1'000'000, 1, false,
                                        10'000'000, 10, 1'000'000, 1.0, 15'000, 10},
                                       {"16 GB", 1920, 30'000, 6'000'000, 3, 250'000, 1, false,
                                        10'000'000, 10, 1'000'000, 0.5, 15'000, 10},
                                       {"emergency", 1280, 15'000, 2'000'000, 2, 150'000, 5, true,
                                        2'000'000, 9, 200'000, 0.5, 2'000, 6}};
    static const std::vector<Plan> cpu{{"processor", 640, 7'000, 200'000, 3, 8'192, 1, false,
                                        1'000'000, 9, 100'000, 0.5, 2'000, 10},
                                       {"processor, short", 320, 1'400, 60'000, 3, 4'096, 1, false,
                                        300'000, 8, 40'000, 0.5, 500, 8}};
    return isCpu ? cpu : gpu;
}

SugarConfig withPlan(SugarConfig config, const Plan& plan)
{
    config.maxWidth = plan.maxWidth;
    config.iterations = plan.iterations;
    config.cap = plan.cap;
    config.densifyUntil = plan.iterations * 5 / 6;
    config.shDegree = plan.degree;
    config.samples = plan.samples;
    config.regulariseEvery = plan.samplesEvery;
    config.depthNormalHalf = plan.depthNormalHalf;
    config.surfacePoints = plan.surfacePoints;
    config.poissonDepth = plan.poissonDepth;
    config.triangles = plan.triangles;
    config.trianglesBackground = plan.trianglesBackground;
    config.refineSteps = plan.refineSteps;
    config.textureSquare = plan.textureSquare;
    return config;
}

SugarConfig planned(RunContext& context, const SugarConfig& config,
                    const std::optional<Scene>& scene)
{
    if (config.plan != "auto")
        return config;
    const bool isCpu = context.device()->isCpu();
    const std::vector<Plan>& plans = plansFor(isCpu);
    const auto free = static_cast<double>(context.device()->memory().free);
    const Plan* chosen = keptPlan(context, plans);
    const bool isKept = chosen != nullptr;
    nlohmann::json rows = nlohmann::json::array();
    for (const Plan& plan : plans) {
        const SugarConfig wanted = withPlan(config, plan);
        const auto pictures = picturesOf(wanted, scene, [&] { return context.stopRequested(); });
        if (context.stopRequested())
            return config;
        const Index bands =
            bandRowsFor(wanted, *pictures, kStart, isCpu, static_cast<std::size_t>(free));
        const double bytes = memoryForecast({wanted, *pictures, kStart, isCpu, bands}).total();
        const bool fits = free == 0 || bytes <= kUsable * free;
        if (fits && !chosen)
            chosen = &plan;
        rows.push_back({plan.name, fmt::format("{:.1f}", bytes / 1e9),
                        &plan == chosen ? "chosen"
                        : fits          ? "would fit"
                                        : fmt::format("needs more than 85 % of the {:.1f} GB that "
                                                               "are free",
                                                      free / 1e9)});
    }
    if (!chosen) {
        chosen = &plans.back();
        context.warn("E-MEMORY", fmt::format("Even the most sparing plan, {}, is expected to need "
                                             "more memory than is free; close other programs or "
                                             "lower cap.",
                                             chosen->name));
    }
    context.table({{"id", "plan"},
                   {"title", "Plan, chosen by memory"},
                   {"columns", {"plan", "GB", "verdict"}},
                   {"rows", rows}});
    if (!isKept) {
        std::filesystem::create_directories(planFile(context).parent_path());
        writeFileAtomic(planFile(context), nlohmann::json{{"plan", chosen->name}}.dump());
    }
    log("sugar").info("Plan: {}.", chosen->name);
    return withPlan(config, *chosen);
}

} // namespace vergence::sugar
