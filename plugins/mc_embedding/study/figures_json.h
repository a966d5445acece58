#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "plugins/mc_embedding/study/study_numbers.h"

namespace vergence::mc_embedding {

/// JSON has no NaN.
nlohmann::json numberOrNull(double value);
nlohmann::json numbersOrNull(std::span<const double> values);
/// {mean, std, median, p25, p75}.
nlohmann::json toJson(const Spread& spread);

} // namespace vergence::mc_embedding
