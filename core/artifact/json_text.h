#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace vergence {

/// The JSON of `text`; throws InputError that names `source` and the place of the fault. Also for
/// invalid UTF-8.
nlohmann::json parseJson(std::string_view text, const std::string& source);

/// A text of an object that must have it; throws InputError that names `source` and the key.
std::string requiredText(const nlohmann::json& object, const char* key, const std::string& source);

/// For files that people read: indented, with a final newline; invalid UTF-8 is replaced.
std::string prettyJson(const nlohmann::json& json);

} // namespace vergence
