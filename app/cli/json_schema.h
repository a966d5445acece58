#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/config/schema.h"

namespace vergence::cli {

/// A configuration schema as JSON Schema (draft 2020-12), for editors that complete and check TOML
/// files. Groups are nested objects, as they are tables in the file; unit and live changes are
/// `x-unit` and `x-live`.
nlohmann::json jsonSchemaOf(const ConfigSchema& schema);

} // namespace vergence::cli
