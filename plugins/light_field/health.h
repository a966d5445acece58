#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/light_field/problem.h"

namespace vergence::light_field {

/// What decides whether results mean anything, as a table of two columns: sampling, coverage, plane
/// placement, states, lens diffraction, memory, profile.
nlohmann::json healthTable(Stream& stream, const SweepItem& item, const Geometry& geometry,
                           const ItemTargets& targets);
/// Sentences for what is doubtful; empty where all is well.
std::vector<std::string> healthWarnings(const SweepItem& item, const Geometry& geometry);

} // namespace vergence::light_field
