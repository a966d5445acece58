#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "core/base/error.h"

namespace vergence::cli {

namespace {

struct ValidateOptions {
    ConfigRequest config;
    bool json = false;
};

int validate(const ValidateOptions& options, const Session& session)
{
    const ConfigSource source = resolveConfig(options.config, session);
    const bool isValid = source.config.has_value();
    if (options.json) {
        auto issues = nlohmann::json::array();
        for (const ConfigIssue& issue : source.issues)
            issues.push_back(toJson(issue));
        std::cout << nlohmann::json{{"plugin", source.plugin.id},
                                    {"valid", isValid},
                                    {"issues", issues}}
                         .dump(2)
                  << '\n';
    } else {
        for (const ConfigIssue& issue : source.issues)
            std::cout << issue.text() << '\n';
        if (isValid)
            std::cout << fmt::format("The configuration of {} is valid.\n", source.plugin.name);
    }
    return static_cast<int>(isValid ? ExitCode::Success : ExitCode::ConfigInvalid);
}

} // namespace

void addValidateCommand(CLI::App& app, Session& session)
{
    CLI::App* command = addLevel(app, "validate", "Check a configuration and print every issue.");
    auto options = std::make_shared<ValidateOptions>();
    options->config.addTo(*command);
    command->add_flag("--json", options->json, "One JSON object with all issues.");
    command->callback([options, &session] {
        session.action = [options, &session] { return validate(*options, session); };
    });
}

} // namespace vergence::cli
