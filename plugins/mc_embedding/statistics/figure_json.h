#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "plugins/mc_embedding/statistics/reliability.h"

namespace vergence::mc_embedding {

/// object[name] = the number, or null with its reason in object[name + "_reason"].
void setFigure(nlohmann::json& object, const std::string& name, const Figure& figure);

/// One cell of a summary: `pre_norm` or `post_norm` of section 12.2 of the specification.
nlohmann::json reliabilityJson(const Reliability& cell);

} // namespace vergence::mc_embedding
