#include "plugins/foveated_vlm/view/health.h"

#include <fmt/format.h>

namespace vergence::fvlm {

namespace {

using State = HealthLight::State;

State stateOf(double value, bool isBad)
{
    return !std::isfinite(value) ? State::Unknown : isBad ? State::Bad : State::Good;
}

/// "0.991 (above 0.98)".
std::string reading(double value, const char* bound)
{
    return std::isfinite(value) ? fmt::format("{:.3f} (bad {})", value, bound) : "not measured";
}

} // namespace

std::vector<HealthLight> healthLights(const HealthFigures& figures)
{
    constexpr double kAlike = 0.98, kNarrow = 0.2, kEven = 0.005;
    constexpr std::int64_t kLearnt = 2'000; // updates after which a ratio of 1 says something
    const bool isEarly = figures.updates < kLearnt;
    std::vector<HealthLight> lights{
        {"uniform", "attention is uniform", "attention chooses",
         reading(figures.uniformity, "above 0.98"),
         stateOf(figures.uniformity, figures.uniformity > kAlike)},
        {"collapsed", "queries collapsed", "queries turn from frame to frame",
         reading(figures.querySimilarity, "above 0.98"),
         stateOf(figures.querySimilarity, figures.querySimilarity > kAlike)},
        {"same", "both passes see the same", "the passes see different things",
         reading(figures.featureSimilarity, "above 0.98"),
         stateOf(figures.featureSimilarity, figures.featureSimilarity > kAlike)},
        {"narrow", "queries hardly differ", "queries differ",
         reading(figures.queryDeviation, "below 0.2"),
         stateOf(figures.queryDeviation, figures.queryDeviation < kNarrow)},
        {"even", "looking makes no difference", "looking makes a difference",
         reading(figures.ratio, "within 1 ± 0.005"),
         stateOf(figures.ratio, std::abs(figures.ratio - 1) <= kEven)}};
    if (isEarly && lights.back().state == State::Bad) {
        lights.back().state = State::Unknown;
        lights.back().reading = fmt::format("{:.3f}, too early to say", figures.ratio);
    }
    return lights;
}

} // namespace vergence::fvlm
