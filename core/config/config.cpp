#include "core/config/config.h"

#include <atomic>

#include <fmt/format.h>

#include "core/config/value_check.h"

namespace vergence {

const ConfigValue& Config::value(const std::string& key) const
{
    const auto found = m_values.find(key);
    expects(found != m_values.end(), "config: no parameter " + key + " in " + m_schema.id());
    return found->second;
}

const Place& Config::origin(const std::string& key) const
{
    const auto found = m_origins.find(key);
    expects(found != m_origins.end(), "config: no parameter " + key + " in " + m_schema.id());
    return found->second;
}

bool Config::differsFromDefault(const std::string& key) const
{
    // Spellings differ exactly where bits do, also between 0.0 and -0.0.
    const ConfigValue& current = value(key);
    return toToml(current) != toToml(m_schema.find(key)->defaultValue);
}

std::uint64_t Config::nextRevision()
{
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

Config Config::with(const std::string& key, ConfigValue value, Place place) const
{
    const Field* field = m_schema.find(key);
    expects(field != nullptr, "config: no parameter " + key + " in " + m_schema.id());
    detail::Checked checked = detail::checkValue(*field, value);
    if (!checked.value)
        throw ContractError("config: " + checked.complaints.front().sentence);
    Config changed = *this;
    changed.m_revision = nextRevision();
    changed.m_values[key] = std::move(*checked.value);
    changed.m_origins[key] = std::move(place);
    return changed;
}

std::vector<std::string> Config::asFlags() const
{
    std::vector<std::string> flags;
    for (const Field& field : m_schema.fields()) {
        if (differsFromDefault(field.key))
            flags.push_back(field.key + "=" + toToml(value(field.key)));
    }
    return flags;
}

std::vector<ConfigDifference> difference(const Config& a, const Config& b)
{
    std::vector<ConfigDifference> differences;
    const auto spelling = [](const Config& config, const std::string& key) {
        return config.schema().find(key) ? toToml(config.value(key)) : std::string();
    };
    const auto compare = [&](const std::string& key) {
        ConfigDifference entry{key, spelling(a, key), spelling(b, key)};
        if (entry.a != entry.b)
            differences.push_back(std::move(entry));
    };
    for (const Field& field : a.schema().fields())
        compare(field.key);
    for (const Field& field : b.schema().fields()) {
        if (!a.schema().find(field.key))
            compare(field.key);
    }
    return differences;
}

std::map<std::string, std::string> decisiveValues(const Config& config)
{
    std::map<std::string, std::string> values;
    for (const Field& field : config.schema().fields()) {
        if (field.isDecisive)
            values[field.key] = toToml(config.value(field.key));
    }
    return values;
}

} // namespace vergence
