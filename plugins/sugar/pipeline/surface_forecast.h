#pragma once

#include <vector>

#include "plugins/sugar/pipeline/forecast.h"

namespace vergence::sugar {

/// Of the stages after the alignment, up to the goal, and of the writing of results; all on the
/// CPU, with what the process holds. `learning` is what the Gaussians were learnt with; of them as
/// many as the alignment leaves.
std::vector<StageForecast> laterForecasts(const SugarConfig& config, const PictureSource& pictures,
                                          const MemoryQuestion& learning);

} // namespace vergence::sugar
