#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/config/issue.h"
#include "core/config/schema.h"
#include "core/config/value.h"

namespace vergence {

namespace detail {
struct Complaint;
}

/// Validated values for every field of a schema, each with the place it came from. Immutable.
class Config {
public:
    const ConfigSchema& schema() const { return m_schema; }

    /// Throws ContractError for unknown keys.
    const ConfigValue& value(const std::string& key) const;
    const Place& origin(const std::string& key) const; ///< empty source for defaults
    bool differsFromDefault(const std::string& key) const;
    /// Changes with the values: equal numbers in one process mean equal values.
    std::uint64_t revision() const { return m_revision; }

    /// Typed access: get<bool>, get<std::int64_t>, get<double>, get<std::string>, or a vector type.
    /// Throws ContractError.
    template <class T>
    const T& get(const std::string& key) const
    {
        const T* found = std::get_if<T>(&value(key));
        expects(found != nullptr, "config: wrong type asked for " + key);
        return *found;
    }

    /// A copy with one value replaced (already validated by ConfigBuilder or for live changes).
    Config with(const std::string& key, ConfigValue value, Place place) const;

    /// Only the keys that differ from the default, as `key=value` for --set. TOML spelling.
    std::vector<std::string> asFlags() const;

private:
    friend class ConfigBuilder;
    static std::uint64_t nextRevision();

    std::uint64_t m_revision = 0;
    ConfigSchema m_schema;
    std::map<std::string, ConfigValue> m_values;
    std::map<std::string, Place> m_origins;
};

/// Gathers layers from weak to strong (default < preset < file < --set), collecting every issue of
/// every layer.
class ConfigBuilder {
public:
    explicit ConfigBuilder(ConfigSchema schema);

    /// TOML text; `source` is what messages call it. Keys stand at top level or in the table of
    /// their group; the top-level keys `schema`, `vergence`, `plugin` and `preset` are header and
    /// not looked at here.
    void addToml(const std::string& text, const std::string& source);
    /// One `key=value` of the command line; value as in TOML, quotes around strings may be left
    /// out.
    void addAssignment(const std::string& assignment, const std::string& source = "--set");
    void addValue(const std::string& key, ConfigValue value, const Place& place);
    void addIssue(ConfigIssue issue) { m_issues.push_back(std::move(issue)); }

    struct Result {
        std::optional<Config> config;    ///< present where no issue is an error
        std::vector<ConfigIssue> issues; ///< in order of appearance, rules last
    };
    /// Runs ranges and the schema's rules.
    Result build() const;

private:
    void check(const Field& field, const ConfigValue& value, const Place& place,
               const std::vector<Place>& elements);
    void complain(const Field& field, const std::vector<detail::Complaint>& complaints,
                  const Place& place, const std::vector<Place>& elements);

    ConfigSchema m_schema;
    std::map<std::string, ConfigValue> m_values;
    std::map<std::string, Place> m_origins;
    std::vector<ConfigIssue> m_issues;
};

/// Header keys of a configuration file, read without a schema. Syntax errors are issues.
struct ConfigHeader {
    std::string plugin, preset, schema, vergence;
    std::vector<ConfigIssue> issues;
};
ConfigHeader readConfigHeader(const std::string& text, const std::string& source);

/// Every key in schema order, grouped in tables, help, unit and range as comments, `# changed,
/// default …` where it differs.
std::string emitToml(const Config& config, const std::string& presetName = {});

/// Keys whose values differ, in schema order: key, a, b in TOML spelling.
struct ConfigDifference {
    std::string key, a, b;
};
std::vector<ConfigDifference> difference(const Config& a, const Config& b);

/// Values of the decisive fields in TOML spelling, by key: what a checkpoint keeps.
std::map<std::string, std::string> decisiveValues(const Config& config);

/// Declares a schema from a plain struct and fills that struct from a Config:
///     SchemaBuilder<HeatConfig> schema("heat");
///     schema.group("plate").add("size", &HeatConfig::size).range(8, 4096).unit("px").help("Side of
///     the plate."); ConfigSchema s = schema.build();   HeatConfig c = schema.read(config);
/// Members may be bool, int, std::int64_t, std::uint64_t, float, double, std::string,
/// std::filesystem::path, vectors of std::int64_t, int, double, std::string, and enums with names
/// (core/base/enum_names.h), alone, in a vector, or in an optional, which is "auto" where it is
/// empty. Text that has choices() is an enum too.
template <class C>
class SchemaBuilder;

} // namespace vergence

#include "core/config/schema_builder.h"
