#include "core/run/live_settings.h"

#include <utility>

#include <fmt/format.h>

namespace vergence {

namespace {

/// `config` with other values, or why that cannot be.
struct Changed {
    std::optional<Config> config;
    std::string refusal;
};

Changed changed(const Config& config, const LiveSettings::Values& values)
{
    ConfigBuilder builder(config.schema());
    for (const auto& [key, value] : values) {
        const Field* field = config.schema().find(key);
        if (field == nullptr)
            return {{}, fmt::format("There is no setting `{}`.", key)};
        if (!field->isLive)
            return {{}, fmt::format("`{}` cannot change while the run is going on.", key)};
    }
    for (const Field& field : config.schema().fields()) {
        const auto given = values.find(field.key);
        if (given == values.end())
            builder.addValue(field.key, config.value(field.key), config.origin(field.key));
        else
            builder.addAssignment(field.key + "=" + given->second, LiveSettings::kOrigin);
    }
    ConfigBuilder::Result result = builder.build();
    for (const ConfigIssue& issue : result.issues) {
        if (!result.config && issue.severity == IssueSeverity::Error)
            return {{}, issue.sentence};
    }
    if (!result.config)
        return {{}, "These settings are not allowed."};
    return {std::move(result.config), {}};
}

} // namespace

LiveSettings::LiveSettings(Config initial, std::function<void(const Values&)> onChange)
    : m_onChange(std::move(onChange)),
      m_config(std::move(initial))
{
}

std::optional<std::string> LiveSettings::change(const Values& values)
{
    const std::lock_guard lock(m_mutex);
    Changed result = changed(m_config, values);
    if (!result.config)
        return result.refusal;
    m_config = std::move(*result.config);
    m_onChange(valuesLocked());
    return std::nullopt;
}

Config LiveSettings::newest() const
{
    const std::lock_guard lock(m_mutex);
    return m_config;
}

LiveSettings::Values LiveSettings::values() const
{
    const std::lock_guard lock(m_mutex);
    return valuesLocked();
}

LiveSettings::Values LiveSettings::valuesLocked() const
{
    Values values;
    for (const Field& field : m_config.schema().fields()) {
        if (field.isLive)
            values[field.key] = toToml(m_config.value(field.key));
    }
    return values;
}

} // namespace vergence
