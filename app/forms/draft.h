#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/forms/field_state.h"
#include "core/config/config.h"

namespace vergence {

/// What stands in the form, right or wrong, with the checks that need no plugin. Knows no widget.
class Draft {
public:
    Draft() = default;
    explicit Draft(const ConfigSchema& schema);

    const ConfigSchema& schema() const { return m_schema; }
    const FieldState& state(const std::string& key) const { return m_states.at(key); }
    void setState(const std::string& key, FieldState state) { m_states[key] = std::move(state); }
    const std::map<std::string, FieldState>& states() const { return m_states; }

    bool differsFromDefault(const Field& field) const;
    /// Whether the field's `visibleIf` holds: "key=a|b" compares with the value of another field.
    bool isVisible(const Field& field) const;

    /// Every complaint, in the order of the schema; `pendingKey` stands with `pending` instead of
    /// its committed state.
    std::vector<ConfigIssue> issues(const std::string& pendingKey = {},
                                    const FieldState& pending = {}) const;
    /// The values that are right; the others are at their default.
    Config config() const;

    struct Reading {
        std::optional<Config> config; ///< empty where the text is no TOML at all
        std::vector<ConfigIssue> issues;
    };
    /// Reads TOML over the defaults. Lines with an error are left out, so that the rest of an old
    /// file can still be used.
    Reading read(const std::string& toml, const std::string& source) const;
    /// Reads TOML over that of its preset; no config where anything is wrong.
    Reading readWhole(const std::string& toml, const std::string& source,
                      const std::string& preset) const;

private:
    ConfigSchema m_schema, m_bare; // bare: without rules, which could forbid to write a draft down
    std::map<std::string, FieldState> m_states;
};

} // namespace vergence
