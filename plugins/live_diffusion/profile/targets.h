#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/profile/peaks.h"

namespace vergence::live {

/// What a frame costs beside its evaluations, seconds.
inline constexpr double kFrameOverhead = 0.3e-3;

/// A time that one frame may take, from the easiest to the hardest: the two product budgets and the
/// four weekly targets of the published roadmap.
struct TimeBudget {
    double milliseconds = 0;
    std::string name;
};
const std::vector<TimeBudget>& timeBudgets();

/// Share of the roofline that a frame of `steps` evaluations must reach to hold the budget:
/// steps·bound/(budget − overhead).
double shareOfRoofline(double boundSeconds, double budgetMs, int steps);
/// From 99.5 % on: not even a perfect program could.
bool isImpossible(double share);

/// Frames per second at the bound, with the memory written every frame. Seconds.
double frameRateBound(double boundSeconds, double memoryWriteSeconds, int steps);

/// "20/41/82": percent for 1, 2 and 4 steps, ✗ for what is impossible.
std::string shareText(double boundSeconds, double budgetMs);

/// The table for one device and model; `measuredFrameMs`: of 1, 2, 4 steps, NaN: not measured.
std::string targetsMarkdown(const std::string& device, const std::string& model,
                            double boundSeconds, const std::vector<double>& measuredFrameMs = {});

} // namespace vergence::live
