#include "core/config/config.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "core/config/toml_reader.h"
#include "core/config/value_check.h"

namespace vergence {

namespace {

/// As `visibleIf` compares it.
std::string plainText(const ConfigValue& value)
{
    const auto* text = std::get_if<std::string>(&value);
    return text ? *text : toToml(value);
}

bool leadsTo(const std::filesystem::path& path, PathKind kind)
{
    std::error_code failure;
    return kind == PathKind::File ? std::filesystem::is_regular_file(path, failure)
                                  : std::filesystem::is_directory(path, failure);
}

/// Paths of visible fields that lead to nothing, or to something else.
std::vector<ConfigIssue> pathIssues(const Config& config)
{
    const auto textOf = [&](const std::string& key) {
        return config.schema().find(key) ? std::optional(plainText(config.value(key)))
                                         : std::nullopt;
    };
    std::vector<ConfigIssue> issues;
    for (const Field& field : config.schema().fields()) {
        if (field.pathKind == PathKind::Any || !isVisible(field, textOf))
            continue;
        const auto& path = config.get<std::string>(field.key);
        if (!path.empty() && !leadsTo(path, field.pathKind))
            issues.push_back({IssueSeverity::Error,
                              "no_such_path",
                              field.key,
                              fmt::format("{} is not a {}.", path, nameOf(field.pathKind)),
                              config.origin(field.key),
                              {}});
    }
    return issues;
}

} // namespace

ConfigBuilder::ConfigBuilder(ConfigSchema schema) : m_schema(std::move(schema)) {}

void ConfigBuilder::addToml(const std::string& text, const std::string& source)
{
    const auto first = static_cast<std::ptrdiff_t>(m_issues.size());
    const detail::TomlDocument document = detail::parseToml(text, source);
    detail::TomlLayer layer(m_schema, source);
    layer.walk(document.table);
    m_issues.insert(m_issues.end(), document.issues.begin(), document.issues.end());
    m_issues.insert(m_issues.end(), layer.issues().begin(), layer.issues().end());
    for (const auto& [field, read, place] : layer.entries()) {
        complain(*field, read.complaints, place, read.elements);
        if (read.value)
            check(*field, *read.value, place, read.elements);
    }
    // toml++ sorts by key; people read from the top.
    std::stable_sort(
        m_issues.begin() + first, m_issues.end(), [](const ConfigIssue& a, const ConfigIssue& b) {
            return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
        });
}

void ConfigBuilder::addValue(const std::string& key, ConfigValue value, const Place& place)
{
    if (const Field* field = m_schema.find(key))
        check(*field, value, place, {});
    else
        m_issues.push_back(detail::unknownKey(m_schema, key, place));
}

void ConfigBuilder::check(const Field& field, const ConfigValue& value, const Place& place,
                          const std::vector<Place>& elements)
{
    detail::Checked checked = detail::checkValue(field, value);
    complain(field, checked.complaints, place, elements);
    if (checked.value) {
        m_values[field.key] = std::move(*checked.value);
        m_origins[field.key] = place;
    }
}

void ConfigBuilder::complain(const Field& field, const std::vector<detail::Complaint>& complaints,
                             const Place& place, const std::vector<Place>& elements)
{
    for (const detail::Complaint& complaint : complaints) {
        const bool hasOwnPlace = complaint.element && *complaint.element < elements.size();
        m_issues.push_back({IssueSeverity::Error, complaint.rule, field.key, complaint.sentence,
                            hasOwnPlace ? elements[*complaint.element] : place, complaint.nearest});
    }
}

ConfigBuilder::Result ConfigBuilder::build() const
{
    Result result;
    result.issues = m_issues;
    if (hasErrors(m_issues))
        return result;
    Config config;
    config.m_revision = Config::nextRevision();
    config.m_schema = m_schema;
    for (const Field& field : m_schema.fields()) {
        const auto found = m_values.find(field.key);
        const bool isSet = found != m_values.end();
        config.m_values[field.key] = isSet ? found->second : field.defaultValue;
        config.m_origins[field.key] = isSet ? m_origins.at(field.key) : Place{};
    }
    for (ConfigIssue& issue : pathIssues(config))
        result.issues.push_back(std::move(issue));
    for (const Rule& rule : m_schema.rules()) {
        for (ConfigIssue issue : rule.check(config)) {
            if (issue.rule.empty())
                issue.rule = rule.id;
            if (issue.place.source.empty() && m_schema.find(issue.key))
                issue.place = config.origin(issue.key);
            result.issues.push_back(std::move(issue));
        }
    }
    if (!hasErrors(result.issues))
        result.config = std::move(config);
    return result;
}

ConfigHeader readConfigHeader(const std::string& text, const std::string& source)
{
    detail::TomlDocument document = detail::parseToml(text, source);
    ConfigHeader header;
    header.issues = std::move(document.issues);
    for (const auto& [name, target] :
         {std::pair{"plugin", &header.plugin}, std::pair{"preset", &header.preset},
          std::pair{"schema", &header.schema}, std::pair{"vergence", &header.vergence}}) {
        const toml::node* node = document.table.get(name);
        if (!node)
            continue;
        if (const auto* held = node->as_string())
            *target = held->get();
        else
            header.issues.push_back({IssueSeverity::Error,
                                     "wrong_type",
                                     name,
                                     fmt::format("`{}` must be text in quotes.", name),
                                     detail::placeOf(node->source(), source),
                                     {}});
    }
    return header;
}

} // namespace vergence
