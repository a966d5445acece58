#include "core/run/live_change.h"

#include <fmt/format.h>

namespace vergence {

LiveChange changeLive(const Config& config, const std::string& key, const std::string& tomlValue)
{
    const Field* field = config.schema().find(key);
    if (field == nullptr)
        return {{}, fmt::format("There is no setting `{}`.", key)};
    if (!field->isLive)
        return {{}, fmt::format("`{}` cannot change while the run is going on.", key)};
    ConfigBuilder builder(config.schema());
    for (const Field& other : config.schema().fields()) {
        if (other.key != key)
            builder.addValue(other.key, config.value(other.key), config.origin(other.key));
    }
    builder.addAssignment(key + "=" + tomlValue, "live");
    ConfigBuilder::Result result = builder.build();
    if (!result.config) {
        for (const ConfigIssue& issue : result.issues) {
            if (issue.severity == IssueSeverity::Error)
                return {{}, issue.sentence};
        }
        return {{}, fmt::format("`{}` is not a value for `{}`.", tomlValue, key)};
    }
    return {std::move(result.config), {}};
}

} // namespace vergence
