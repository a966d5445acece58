#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "core/base/error.h"
#include "core/plugin/lab_inspector.h"

namespace vergence::cli {

namespace {

struct ValidateOptions {
    ConfigRequest config;
    bool json = false;
};

/// What the lab says of the data; empty where the configuration has errors or the lab is silent.
DataReport inspected(const ConfigSource& source)
{
    const auto* lab = dynamic_cast<const LabInspector*>(source.lab);
    return lab != nullptr && source.config ? lab->inspect(*source.config) : DataReport{};
}

void printJson(const ConfigSource& source, const DataReport& data)
{
    auto issues = nlohmann::json::array();
    for (const ConfigIssue& issue : source.issues)
        issues.push_back(toJson(issue));
    nlohmann::json report{{"plugin", source.plugin.id},
                          {"valid", source.config && !hasErrors(data.issues)},
                          {"issues", issues}};
    if (!data.key.empty())
        report["data"] = toJson(data);
    std::cout << report.dump(2) << '\n';
}

void printText(const ConfigSource& source, const DataReport& data)
{
    for (const ConfigIssue& issue : source.issues)
        std::cout << issue.text() << '\n';
    if (source.config)
        std::cout << fmt::format("The configuration of {} is valid.\n", source.plugin.name);
    if (!data.summary.empty())
        std::cout << fmt::format("{}: {}\n", data.key, data.summary);
    for (const ConfigIssue& issue : data.issues)
        std::cout << fmt::format("{}: {}\n", issue.rule, issue.text());
    if (!data.remedy.empty())
        std::cout << fmt::format("To continue without: --set {}\n", data.remedy);
}

int validate(const ValidateOptions& options, const Session& session)
{
    const ConfigSource source = resolveConfig(options.config, session);
    const DataReport data = inspected(source);
    options.json ? printJson(source, data) : printText(source, data);
    return static_cast<int>(!source.config           ? ExitCode::ConfigInvalid
                            : hasErrors(data.issues) ? ExitCode::InputUnreadable
                                                     : ExitCode::Success);
}

} // namespace

void addValidateCommand(CLI::App& app, Session& session)
{
    CLI::App* command = addLevel(app, "validate",
                                 "Check a configuration and the data it names; print every issue.");
    auto options = std::make_shared<ValidateOptions>();
    options->config.addTo(*command);
    command->add_flag("--json", options->json, "One JSON object with all issues.");
    command->callback([options, &session] {
        session.action = [options, &session] { return validate(*options, session); };
    });
}

} // namespace vergence::cli
