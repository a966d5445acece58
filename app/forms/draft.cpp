#include "app/forms/draft.h"

#include <algorithm>
#include <set>

#include <QStringList>

namespace vergence {
namespace {

ConfigIssue unreadable(const std::string& key, const FieldState& state)
{
    ConfigIssue issue;
    issue.rule = "wrong_type";
    issue.key = key;
    issue.sentence = key + ": " + state.reason.toStdString();
    return issue;
}

Config defaults(const ConfigSchema& schema)
{
    auto result = ConfigBuilder(schema).build();
    expects(result.config.has_value(), "form: the defaults of the schema are not valid");
    return *result.config;
}

/// The text without the lines that errors point at.
std::string withoutLines(const std::string& toml, const std::vector<ConfigIssue>& issues)
{
    QStringList lines = QString::fromStdString(toml).split(u'\n');
    for (const ConfigIssue& issue : issues)
        if (issue.severity == IssueSeverity::Error && issue.place.line >= 1 &&
            issue.place.line <= lines.size())
            lines[issue.place.line - 1].clear();
    return lines.join(u'\n').toStdString();
}

} // namespace

Draft::Draft(const ConfigSchema& schema)
    : m_schema(schema),
      m_bare(schema.id(), schema.version(), schema.fields())
{
    for (const Field& field : schema.fields())
        m_states[field.key] = {field.defaultValue, {}, {}};
}

bool Draft::differsFromDefault(const Field& field) const
{
    const FieldState& held = state(field.key);
    return !held.isValid() || held.value != field.defaultValue;
}

bool Draft::isVisible(const Field& field) const
{
    return vergence::isVisible(field, [&](const std::string& key) -> std::optional<std::string> {
        const auto found = m_states.find(key);
        if (found == m_states.end())
            return std::nullopt;
        return editorText(found->second.value).toStdString();
    });
}

std::vector<ConfigIssue> Draft::issues(const std::string& pendingKey,
                                       const FieldState& pending) const
{
    std::vector<ConfigIssue> found;
    ConfigBuilder builder(m_schema);
    for (const Field& field : m_schema.fields()) {
        const FieldState& held = field.key == pendingKey ? pending : state(field.key);
        if (!held.isValid())
            found.push_back(unreadable(field.key, held));
        else if (held.value != field.defaultValue)
            builder.addValue(field.key, held.value, {});
    }
    const auto checked = builder.build().issues;
    found.insert(found.end(), checked.begin(), checked.end());

    std::map<std::string, std::size_t> order;
    for (const Field& field : m_schema.fields())
        order.emplace(field.key, order.size());
    std::stable_sort(found.begin(), found.end(), [&](const ConfigIssue& a, const ConfigIssue& b) {
        const auto rank = [&](const ConfigIssue& issue) {
            const auto at = order.find(issue.key);
            return at == order.end() ? order.size() : at->second;
        };
        return std::pair(a.severity, rank(a)) < std::pair(b.severity, rank(b));
    });
    return found;
}

Config Draft::config() const
{
    std::set<std::string> wrong;
    for (int attempt = 0; attempt < 2; ++attempt) {
        ConfigBuilder builder(m_bare);
        for (const Field& field : m_schema.fields()) {
            const FieldState& held = state(field.key);
            if (held.isValid() && held.value != field.defaultValue && !wrong.contains(field.key))
                builder.addValue(field.key, held.value, {});
        }
        auto result = builder.build();
        if (result.config)
            return *result.config;
        for (const ConfigIssue& issue : result.issues)
            wrong.insert(issue.key);
    }
    return defaults(m_bare);
}

Draft::Reading Draft::readWhole(const std::string& toml, const std::string& source,
                                const std::string& preset) const
{
    ConfigBuilder builder(m_bare);
    builder.addToml(preset, "preset");
    builder.addToml(toml, source);
    auto result = builder.build();
    return {std::move(result.config), std::move(result.issues)};
}

Draft::Reading Draft::read(const std::string& toml, const std::string& source) const
{
    ConfigBuilder builder(m_bare);
    builder.addToml(toml, source);
    auto result = builder.build();
    const bool isToml =
        std::none_of(result.issues.begin(), result.issues.end(),
                     [](const ConfigIssue& issue) { return issue.rule == "syntax"; });
    if (result.config || !isToml)
        return {result.config, result.issues};
    ConfigBuilder rest(m_bare);
    rest.addToml(withoutLines(toml, result.issues), source);
    auto usable = rest.build();
    return {usable.config, result.issues};
}

} // namespace vergence
