#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace vergence {

/// Where a value was written. Line and column count from 1; 0 means unknown. `source` is a file,
/// "--set" or "preset demo".
struct Place {
    std::string source;
    int line = 0;
    int column = 0;

    std::string text() const; ///< "bunny.toml line 14, column 3", "--set", or empty
};

enum class IssueSeverity { Error, Warning, Note };

/// One complaint about a configuration.
struct ConfigIssue {
    IssueSeverity severity = IssueSeverity::Error;
    std::string
        rule; ///< "unknown_key", "out_of_range", "wrong_type", "syntax", or a rule of the plugin
    std::string key;      ///< field at fault; empty for the whole file
    std::string sentence; ///< what is wrong and what would be right: "iterations must be at least 1
                          ///< (found -5)."
    Place place;
    std::string nearest; ///< for unknown keys: the key that was meant; else empty

    std::string
    text() const; ///< "bunny.toml line 14: Unknown key `max_splat`. Did you mean `max_splats`?"
};

bool hasErrors(const std::vector<ConfigIssue>& issues);
nlohmann::json toJson(const ConfigIssue& issue);
ConfigIssue issueFromJson(const nlohmann::json& json);

} // namespace vergence
