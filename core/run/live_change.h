#pragma once

#include <optional>
#include <string>

#include "core/config/config.h"

namespace vergence {

struct LiveChange {
    std::optional<Config> config; ///< with the new value, where it is allowed
    std::string refusal;          ///< one sentence otherwise
};

/// Checks one live change against the schema, its ranges and rules. `tomlValue` as in a file;
/// quotes may be left out.
LiveChange changeLive(const Config& config, const std::string& key, const std::string& tomlValue);

} // namespace vergence
