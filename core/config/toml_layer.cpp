#include "core/config/toml_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/config/nearest.h"

namespace vergence::detail {

TomlLayer::TomlLayer(const ConfigSchema& schema, std::string source)
    : m_schema(schema),
      m_source(std::move(source))
{
    for (const Field& field : schema.fields()) {
        if (!field.group.empty() &&
            std::find(m_groups.begin(), m_groups.end(), field.group) == m_groups.end())
            m_groups.push_back(field.group);
    }
}

void TomlLayer::walk(const toml::table& top)
{
    for (const auto& [key, node] : top) {
        if (!isHeaderKey(std::string(key.str())))
            visitTop(key, node);
    }
}

void TomlLayer::visitTop(const toml::key& key, const toml::node& node)
{
    const std::string name(key.str());
    const bool isGroup = std::find(m_groups.begin(), m_groups.end(), name) != m_groups.end();
    const toml::table* table = node.as_table();
    if (isGroup && table)
        return visitTable(name, true, *table);
    if (const Field* field = m_schema.find(name))
        return take(*field, key, node);
    if (isGroup)
        return complain("wrong_type", {},
                        fmt::format("`{}` is a table; write [{}] and its keys below.", name, name),
                        key);
    if (!table)
        return visitKey({}, true, key, node);

    const std::string nearest = nearestOf(name, m_groups);
    const std::string hint = nearest.empty() ? "" : fmt::format(" Did you mean [{}]?", nearest);
    complain("unknown_table", {}, fmt::format("Unknown table [{}].{}", name, hint), key, nearest);
    if (!nearest.empty())
        visitTable(nearest, false, *table);
}

void TomlLayer::visitTable(const std::string& group, bool isKnown, const toml::table& table)
{
    for (const auto& [key, node] : table)
        visitKey(group, isKnown, key, node);
}

void TomlLayer::visitKey(const std::string& group, bool isKnownGroup, const toml::key& key,
                         const toml::node& node)
{
    const std::string name(key.str());
    const Field* field = m_schema.find(name);
    if (!field) {
        const bool isTable = node.is_table() && !group.empty();
        if (isTable)
            return complain("unknown_table", {}, fmt::format("Unknown table [{}.{}].", group, name),
                            key);
        m_issues.push_back(unknownKey(m_schema, name, placeOf(key, m_source)));
        return;
    }
    if (field->group != group && isKnownGroup) {
        const std::string home = field->group.empty() ? "at the top of the file"
                                                      : fmt::format("in table [{}]", field->group);
        complain("wrong_table", name,
                 fmt::format("Key `{}` belongs {}, not in [{}].", name, home, group), key);
    }
    take(*field, key, node);
}

void TomlLayer::take(const Field& field, const toml::key& key, const toml::node& node)
{
    if (!m_taken.insert(field.key).second)
        return complain("duplicate_key", field.key,
                        fmt::format("Key `{}` is set twice in this file. Keep one.", field.key),
                        key);
    m_entries.push_back(
        {&field, readValue(node, field, m_source), placeOf(node.source(), m_source)});
}

void TomlLayer::complain(const std::string& rule, const std::string& field,
                         const std::string& sentence, const toml::key& key,
                         const std::string& nearest)
{
    m_issues.push_back(
        {IssueSeverity::Error, rule, field, sentence, placeOf(key, m_source), nearest});
}

ConfigIssue unknownKey(const ConfigSchema& schema, const std::string& key, const Place& place)
{
    const std::string nearest = schema.nearestKey(key);
    const std::string hint = nearest.empty() ? "" : fmt::format(" Did you mean `{}`?", nearest);
    return {IssueSeverity::Error,
            "unknown_key",
            key,
            fmt::format("Unknown key `{}`.{}", key, hint),
            place,
            nearest};
}

} // namespace vergence::detail
