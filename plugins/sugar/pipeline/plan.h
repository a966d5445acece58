#pragma once

#include "core/run/run_context.h"
#include "plugins/sugar/io/scene.h"
#include "plugins/sugar/sugar_config.h"

namespace vergence::sugar {

/// One of the ways to set the lab up, from rich to sparing.
struct Plan {
    const char* name;
    int maxWidth; ///< px, 0: no limit
    std::int64_t iterations, cap;
    int degree;
    std::int64_t samples;
    int samplesEvery;
    bool depthNormalHalf;
    std::int64_t surfacePoints;
    int poissonDepth;
    std::int64_t triangles;
    double trianglesBackground;
    std::int64_t refineSteps;
    int textureSquare;
};

/// Plans for a device, richest first.
const std::vector<Plan>& plansFor(bool isCpu);
SugarConfig withPlan(SugarConfig config, const Plan& plan);

/// Where `plan` is auto: the configuration with the richest plan whose forecast fits 85 % of the
/// device's free memory, the last one where none does (with a warning). Reports all plans with
/// their forecasts as a table. A resumed run keeps the plan of its start. Otherwise the
/// configuration as it is. `scene` is that of sceneOf().
SugarConfig planned(RunContext& context, const SugarConfig& config,
                    const std::optional<Scene>& scene);

} // namespace vergence::sugar
