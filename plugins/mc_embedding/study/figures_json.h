#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "plugins/mc_embedding/statistics/figure.h"
#include "plugins/mc_embedding/statistics/reliability.h"
#include "plugins/mc_embedding/study/study_numbers.h"

namespace vergence::mc_embedding {

/// The number, or null with a sibling `<name>_reason`. JSON has no NaN.
void put(nlohmann::json& object, const std::string& name, const Figure& figure);
nlohmann::json numberOrNull(double value);
nlohmann::json numbersOrNull(std::span<const double> values);
/// {mean, std, median, p25, p75}.
nlohmann::json toJson(const Spread& spread);
/// The reliability block of section 12.2, names of the original first.
nlohmann::json toJson(const Reliability& reliability);

} // namespace vergence::mc_embedding
