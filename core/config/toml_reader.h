#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <toml++/toml.h>

#include "core/config/issue.h"
#include "core/config/schema.h"
#include "core/config/value_check.h"

namespace vergence::detail {

/// TOML text as toml++ sees it, with every syntax error as an issue. Lines with errors are left out
/// of the table.
struct TomlDocument {
    toml::table table;
    std::vector<ConfigIssue> issues;
};
TomlDocument parseToml(const std::string& text, const std::string& source);

/// Whether a top-level key belongs to the header of a file and not to the schema.
bool isHeaderKey(const std::string& key);

/// A TOML value in the form that `field` wants, as far as TOML can say it; complaints where it
/// cannot.
struct ReadValue {
    std::optional<ConfigValue> value;
    std::vector<Complaint> complaints;
    std::vector<Place> elements; ///< of lists, one place each
};
ReadValue readValue(const toml::node& node, const Field& field, const std::string& source);

Place placeOf(const toml::source_region& region, const std::string& source);
Place placeOf(const toml::key& key, const std::string& source);

/// Matches one document against a schema: which value stands for which field, and what stands where
/// it should not.
class TomlLayer {
public:
    TomlLayer(const ConfigSchema& schema, std::string source);

    struct Entry {
        const Field* field;
        ReadValue read;
        Place place;
    };
    void walk(const toml::table& top);
    const std::vector<Entry>& entries() const { return m_entries; }
    const std::vector<ConfigIssue>& issues() const { return m_issues; }

private:
    void visitTop(const toml::key& key, const toml::node& node);
    void visitTable(const std::string& group, bool isKnown, const toml::table& table);
    void visitKey(const std::string& group, bool isKnownGroup, const toml::key& key,
                  const toml::node& node);
    void take(const Field& field, const toml::key& key, const toml::node& node);
    void complain(const std::string& rule, const std::string& field, const std::string& sentence,
                  const toml::key& key, const std::string& nearest = {});

    const ConfigSchema& m_schema;
    std::string m_source;
    std::vector<std::string> m_groups;
    std::set<std::string> m_taken;
    std::vector<Entry> m_entries;
    std::vector<ConfigIssue> m_issues;
};

/// "Unknown key `max_splat`. Did you mean `max_splats`?"
ConfigIssue unknownKey(const ConfigSchema& schema, const std::string& key, const Place& place);

} // namespace vergence::detail
