#include "core/config/schema.h"

#include <cctype>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/config/nearest.h"
#include "core/config/toml_reader.h"
#include "core/config/value_check.h"

namespace vergence {

struct ConfigSchema::Data {
    std::string id;
    int version = 1;
    std::vector<Field> fields;
    std::vector<Rule> rules;
    std::unordered_map<std::string, std::size_t> index;
};

namespace {

/// "panel_res" → "Panel res".
std::string titleFromKey(const std::string& key)
{
    std::string title = key;
    for (char& c : title) {
        if (c == '_')
            c = ' ';
    }
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return title;
}

bool isSnakeCase(const std::string& key)
{
    if (key.empty() || key[0] < 'a' || key[0] > 'z')
        return false;
    return key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

void dropInfiniteBound(std::optional<double>& bound, const std::string& key)
{
    expects(!bound || !std::isnan(*bound), "config: bound of " + key + " is not a number");
    if (bound && std::isinf(*bound))
        bound.reset();
}

void completeField(Field& field, const std::string& schemaId)
{
    expects(isSnakeCase(field.key),
            fmt::format("config: key `{}` of {} is not snake_case", field.key, schemaId));
    expects(!detail::isHeaderKey(field.key) && !detail::isHeaderKey(field.group),
            fmt::format("config: key `{}` in group `{}` of {} takes a name of the file's header",
                        field.key, field.group, schemaId));
    expects(detail::isUtf8(field.group), "config: group of " + field.key + " is not UTF-8 text");
    expects(field.type != FieldType::Enum || !field.choices.empty(),
            "config: no choices for " + field.key);
    expects(field.pathKind == PathKind::Any || field.type == FieldType::Path,
            "config: " + field.key + " must lead to something and is no path");
    expects(!(field.isDecisive && field.isLive),
            "config: " + field.key + " decides what a run is, and may change in it");
    dropInfiniteBound(field.minimum, field.key);
    dropInfiniteBound(field.maximum, field.key);
    if (field.title.empty())
        field.title = titleFromKey(field.key);
    detail::Checked checked = detail::checkValue(field, field.defaultValue);
    if (!checked.value)
        throw ContractError(
            fmt::format("config: default of {} in {} breaks its own declaration: {}", field.key,
                        schemaId, checked.complaints.front().sentence));
    field.defaultValue = std::move(*checked.value);
}

} // namespace

bool isVisible(const Field& field,
               const std::function<std::optional<std::string>(const std::string& key)>& textOf)
{
    const std::size_t equals = field.visibleIf.find('=');
    if (equals == std::string::npos)
        return true;
    const auto text = textOf(field.visibleIf.substr(0, equals));
    const std::string values = '|' + field.visibleIf.substr(equals + 1) + '|';
    return !text || values.find('|' + *text + '|') != std::string::npos;
}

ConfigSchema::ConfigSchema() : m_data(std::make_shared<const Data>()) {}

ConfigSchema::ConfigSchema(std::string id, int version, std::vector<Field> fields,
                           std::vector<Rule> rules)
{
    auto data = std::make_shared<Data>();
    std::set<std::string> groups;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        completeField(fields[i], id);
        expects(data->index.emplace(fields[i].key, i).second,
                fmt::format("config: key `{}` of {} is declared twice", fields[i].key, id));
        groups.insert(fields[i].group);
    }
    for (const Field& field : fields)
        expects(!field.group.empty() || !groups.contains(field.key),
                fmt::format("config: `{}` of {} is both a key and a table", field.key, id));
    data->id = std::move(id);
    data->version = version;
    data->fields = std::move(fields);
    data->rules = std::move(rules);
    m_data = std::move(data);
}

const std::string& ConfigSchema::id() const
{
    return m_data->id;
}

int ConfigSchema::version() const
{
    return m_data->version;
}

const std::vector<Field>& ConfigSchema::fields() const
{
    return m_data->fields;
}

const std::vector<Rule>& ConfigSchema::rules() const
{
    return m_data->rules;
}

const Field* ConfigSchema::find(const std::string& key) const
{
    const auto found = m_data->index.find(key);
    return found == m_data->index.end() ? nullptr : &m_data->fields[found->second];
}

std::string ConfigSchema::nearestKey(const std::string& key) const
{
    std::vector<std::string> keys;
    keys.reserve(m_data->fields.size());
    for (const Field& field : m_data->fields)
        keys.push_back(field.key);
    return detail::nearestOf(key, keys);
}

} // namespace vergence
