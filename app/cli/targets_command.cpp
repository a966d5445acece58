#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/target_access.h"
#include "app/cli/text.h"
#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/portable_studio.h"
#include "core/cluster/slurm.h"

namespace vergence::cli {

namespace {

using nlohmann::json;

struct TargetsOptions {
    std::string name;
    std::vector<std::string> assignments;
    bool json = false;
};

std::filesystem::path fileOf(const std::string& name)
{
    return targetsFolder() / (name + ".toml");
}

json summaryOf(const TargetFile& file)
{
    auto issues = json::array();
    for (const ConfigIssue& issue : file.issues)
        issues.push_back(toJson(issue));
    return {{"name", file.target.name},   {"scheduler", nameOf(file.target.scheduler)},
            {"login", file.target.login}, {"disk", nameOf(file.target.disk)},
            {"lanes", file.target.lanes}, {"partition", file.target.partition},
            {"usable", file.isUsable()},  {"issues", issues}};
}

int list(const TargetsOptions& options, const Session&)
{
    auto targets = json::array();
    std::vector<std::vector<std::string>> rows = {
        {"target", "scheduler", "login", "disk", "partition", "state"}};
    for (const std::string& name : targetNames()) {
        const TargetFile file = readTarget(name);
        targets.push_back(summaryOf(file));
        const Target& target = file.target;
        rows.push_back({name, std::string(nameOf(target.scheduler)),
                        target.login.empty() ? "this computer" : target.login,
                        std::string(nameOf(target.disk)), target.partition,
                        file.isUsable() ? "ready" : file.issues.front().sentence});
    }
    if (options.json)
        std::cout << targets.dump(2) << '\n';
    else if (targets.empty())
        std::cerr << "There are no targets; `vergence targets new NAME` makes one.\n";
    else
        printTable(std::cout, rows);
    return 0;
}

int show(const TargetsOptions& options, const Session&)
{
    const TargetFile file = readTarget(options.name);
    for (const ConfigIssue& issue : file.issues)
        std::cerr << issue.text() << '\n';
    if (options.json) {
        json target = summaryOf(file);
        target["file"] = fileOf(options.name).string();
        target["toml"] = readFile(fileOf(options.name));
        std::cout << target.dump(2) << '\n';
    } else {
        std::cout << readFile(fileOf(options.name));
    }
    return static_cast<int>(file.isUsable() ? ExitCode::Success : ExitCode::ConfigInvalid);
}

/// Throws Error (ExitCode::ConfigInvalid) after every issue was printed to stderr.
Target targetOf(const TargetsOptions& options)
{
    ConfigBuilder builder(targetSchema());
    for (const std::string& assignment : options.assignments)
        builder.addAssignment(assignment);
    const auto result = builder.build();
    for (const ConfigIssue& issue : result.issues)
        std::cerr << issue.text() << '\n';
    if (!result.config)
        throw Error("The target was not made.", ExitCode::ConfigInvalid);
    return targetFrom(options.name, *result.config);
}

int makeNew(const TargetsOptions& options, const Session&)
{
    if (const std::string refusal = refusedTargetName(options.name); !refusal.empty())
        throw Error(refusal, ExitCode::Usage);
    std::error_code code;
    if (std::filesystem::exists(fileOf(options.name), code))
        throw Error(fmt::format("The target `{}` exists; change {}, or remove it by `vergence "
                                "targets remove {}`.",
                                options.name, fileOf(options.name).string(), options.name),
                    ExitCode::Usage);
    saveTarget(targetOf(options));
    std::cout << fileOf(options.name).string() << '\n';
    std::cerr << fmt::format("`vergence targets check {}` tries it.\n", options.name);
    return 0;
}

int check(const TargetsOptions& options, const Session& session)
{
    const Target target = usableTarget(options.name);
    const TargetCheck result =
        checkTarget(target, runsFolderOf(target), programOf(target, session));
    auto lines = json::array();
    for (const TargetCheck::Line& line : result.lines) {
        lines.push_back({{"good", line.isGood}, {"text", line.text}});
        if (!options.json)
            std::cout << fmt::format("{} {}\n", line.isGood ? "✓" : "✗", line.text);
    }
    if (options.json)
        std::cout << json{{"good", result.isGood()}, {"lines", lines}}.dump(2) << '\n';
    return static_cast<int>(result.isGood() ? ExitCode::Success : ExitCode::InputUnreadable);
}

/// Where the disk is shared the program is seen there already; where the target names one, that one
/// counts.
int install(const TargetsOptions& options, const Session& session)
{
    const Target target = usableTarget(options.name);
    if (target.disk == Disk::Shared)
        throw Error(fmt::format("The target `{}` starts {} on a disk that it shares with this "
                                "computer; nothing is to be installed. `vergence targets check {}` "
                                "tries it.",
                                target.name, programOf(target, session), target.name),
                    ExitCode::Usage);
    if (!target.vergence.empty())
        throw Error(fmt::format("The target `{}` starts {} there. Remove `program` from {}; then "
                                "this studio can be installed.",
                                target.name, target.vergence, fileOf(target.name).string()),
                    ExitCode::Usage);
    const std::string program =
        installStudio(target, session.executable, buildInfo().value("version", ""),
                      [](const std::string& step) { std::cerr << step << std::endl; });
    std::cout << program << '\n';
    return 0;
}

int remove(const TargetsOptions& options, const Session&)
{
    removeTarget(options.name);
    return 0;
}

using Action = int (*)(const TargetsOptions&, const Session&);

std::shared_ptr<TargetsOptions> addAction(CLI::App* command, Session& session, Action action,
                                          bool takesName = true)
{
    auto options = std::make_shared<TargetsOptions>();
    if (takesName)
        command->add_option("name", options->name, "Name of the target.")->required();
    command->callback([options, &session, action] {
        session.action = [options, &session, action] { return action(*options, session); };
    });
    return options;
}

} // namespace

void addTargetsCommand(CLI::App& app, Session& session)
{
    CLI::App* targets =
        addLevel(app, "targets",
                 "Clusters and computers that runs may go to: list, show, make, check, install, "
                 "remove.");
    targets->require_subcommand(1);

    CLI::App* command = addLevel(*targets, "list", "All targets.");
    auto options = addAction(command, session, list, false);
    command->add_flag("--json", options->json, "A JSON array instead.");

    command = addLevel(*targets, "show", "Print a target as TOML.");
    options = addAction(command, session, show);
    command->add_flag("--json", options->json, "One JSON object instead.");

    command = addLevel(*targets, "new", "Make a target and print its file.");
    options = addAction(command, session, makeNew);
    addRepeatable(*command, "--set", options->assignments, "One setting (repeatable).")
        ->type_name("KEY=VALUE");

    command = addLevel(*targets, "check",
                       "Try a target: its login, program, runs folder and devices, on a node of a "
                       "cluster where one is free; exit code 6 where it fails.");
    options = addAction(command, session, check);
    command->add_flag("--json", options->json, "One JSON object instead.");

    command = addLevel(*targets, "install",
                       "Put this studio on a target with a disk of its own, and print its path "
                       "there.");
    addAction(command, session, install);

    addAction(addLevel(*targets, "remove", "Remove a target."), session, remove);
}

} // namespace vergence::cli
