#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/plugin_access.h"
#include "app/cli/plugin_template.h"
#include "app/cli/text.h"
#include "core/base/error.h"

namespace vergence::cli {

namespace {

using nlohmann::json;

struct PluginsOptions {
    PluginOptions plugins;
    std::string name, folder;
    bool json = false;
};

bool isPath(const std::string& name)
{
    return name.find('/') != std::string::npos || name.ends_with(".so");
}

void printJson(const std::vector<PluginDescriptor>& plugins)
{
    auto rows = json::array();
    for (const PluginDescriptor& plugin : plugins)
        rows.push_back(toJson(plugin));
    std::cout << rows.dump(2) << '\n';
}

int list(const PluginsOptions& options, const Session& session)
{
    const auto plugins = probedPlugins(options.plugins, session.executable);
    if (options.json) {
        printJson(plugins);
        return 0;
    }
    if (plugins.empty()) {
        std::cerr << "No plugins were found in:\n";
        for (const auto& folder : options.plugins.search().folders())
            std::cerr << "  " << folder.string() << '\n';
        return 0;
    }
    std::vector<std::vector<std::string>> rows = {{"plugin", "version", "state", "name or reason"}};
    for (const PluginDescriptor& plugin : plugins) {
        rows.push_back({plugin.id.empty() ? plugin.path.filename().string() : plugin.id,
                        plugin.version, nameOf(plugin.state),
                        plugin.reason.empty() ? plugin.name : plugin.reason});
    }
    printTable(std::cout, rows);
    return 0;
}

PluginDescriptor findDescriptor(const PluginRegistry& registry, const std::string& name)
{
    if (isPath(name))
        return judgePlugin(name);
    const PluginDescriptor* found = registry.find(name);
    if (found)
        return *found;
    std::vector<std::string> ids;
    for (const PluginDescriptor& plugin : registry.plugins())
        ids.push_back(plugin.id);
    throw Error(fmt::format("There is no plugin `{}`.{}", name, suggestion(name, ids)),
                ExitCode::PluginUnavailable);
}

void printDescription(const json& described)
{
    const PluginDescriptor plugin = descriptorFromJson(described["descriptor"]);
    std::cout << fmt::format("{} {} ({})\n", plugin.name, plugin.version, plugin.id);
    if (!plugin.summary.empty())
        std::cout << plugin.summary << '\n';
    std::cout << fmt::format("\nFile: {}\nBuilt with Qt {}, {}, {}\n", plugin.path.string(),
                             plugin.qt, plugin.abi, plugin.build);
    if (!plugin.requirements.empty())
        std::cout << fmt::format("Requires: {}\n", fmt::join(plugin.requirements, ", "));
    std::vector<std::vector<std::string>> rows = {{"preset", "summary"}};
    for (const json& preset : described["presets"])
        rows.push_back({preset["name"].get<std::string>(), preset["summary"].get<std::string>()});
    std::cout << '\n';
    printTable(std::cout, rows);
    rows = {{"series", "unit", "title"}};
    for (const json& metric : described["metrics"])
        rows.push_back({metric["name"].get<std::string>(), metric["unit"].get<std::string>(),
                        metric["title"].get<std::string>()});
    std::cout << '\n';
    printTable(std::cout, rows);
    rows = {{"stream", "kind", "title"}};
    for (const json& stream : described["streams"])
        rows.push_back({stream["id"].get<std::string>(), stream["kind"].get<std::string>(),
                        stream["title"].get<std::string>()});
    std::cout << '\n';
    printTable(std::cout, rows);
}

/// The probe: opens the plugin in this very process. A refusal is an answer, too, and is printed as
/// one.
int describe(const PluginsOptions& options, const Session&)
{
    PluginRegistry registry(options.plugins.search());
    if (!isPath(options.name))
        registry.scan();
    PluginDescriptor descriptor = findDescriptor(registry, options.name);
    if (descriptor.state == PluginState::Needs)
        descriptor.state = PluginState::Ready; // describing needs no device
    std::string details = descriptor.details;
    try {
        const json described = describePlugin(descriptor, registry.load(descriptor));
        if (options.json)
            std::cout << described.dump(2) << '\n';
        else
            printDescription(described);
        return 0;
    } catch (const PluginRefusal& refusal) {
        descriptor.reason = refusal.what();
        details = refusal.details();
    } catch (const Error& error) {
        descriptor.reason = error.what();
    }
    if (options.json)
        std::cout << json{{"refusal", {{"reason", descriptor.reason}, {"details", details}}}}.dump(
                         2)
                  << '\n';
    std::cerr << descriptor.reason << '\n';
    if (!details.empty())
        std::cerr << "Details: " << details << '\n';
    return static_cast<int>(ExitCode::PluginUnavailable);
}

/// Judges and probes; a quarantined file gets another chance.
int check(const PluginsOptions& options, const Session& session)
{
    PluginRegistry registry = openRegistry(options.plugins);
    std::vector<PluginDescriptor> plugins;
    if (options.name.empty())
        plugins = registry.plugins();
    else
        plugins.push_back(findDescriptor(registry, options.name));
    bool allGood = true;
    for (PluginDescriptor& plugin : plugins) {
        if (plugin.state == PluginState::Quarantined && !options.name.empty()) {
            registry.clearQuarantine(plugin);
            plugin = judgePlugin(plugin.path);
        }
        registry.probe(plugin, session.executable);
        allGood = allGood && plugin.state != PluginState::Refused &&
                  plugin.state != PluginState::Quarantined;
    }
    if (options.json)
        printJson(plugins);
    for (const PluginDescriptor& plugin : plugins) {
        if (!options.json)
            std::cout << fmt::format("{}: {}\n", plugin.path.string(),
                                     plugin.reason.empty() ? nameOf(plugin.state) + "."
                                                           : plugin.reason);
    }
    return static_cast<int>(allGood ? ExitCode::Success : ExitCode::PluginUnavailable);
}

int switchPlugin(const PluginsOptions& options, bool enabled)
{
    PluginRegistry registry = openRegistry(options.plugins);
    const PluginDescriptor plugin = findDescriptor(registry, options.name);
    registry.setEnabled(plugin.id, enabled);
    std::cerr << fmt::format("{} is {} from the next run on.\n", plugin.name,
                             enabled ? "switched on" : "switched off");
    return 0;
}

int enable(const PluginsOptions& options, const Session&)
{
    return switchPlugin(options, true);
}

int disable(const PluginsOptions& options, const Session&)
{
    return switchPlugin(options, false);
}

int makeNew(const PluginsOptions& options, const Session&)
{
    const std::filesystem::path folder = options.folder.empty()
                                             ? std::filesystem::path(options.name)
                                             : std::filesystem::path(options.folder);
    const std::vector<std::string> files = writePluginTemplate(options.name, folder);
    for (const std::string& file : files)
        std::cout << (folder / file).string() << '\n';
    std::cerr << fmt::format("{} says how to build it.\n", (folder / "README.md").string());
    return 0;
}

using Action = int (*)(const PluginsOptions&, const Session&);

std::shared_ptr<PluginsOptions> addAction(CLI::App* command, Session& session, Action action)
{
    auto options = std::make_shared<PluginsOptions>();
    options->plugins.addTo(*command);
    command->callback([options, &session, action] {
        session.action = [options, &session, action] { return action(*options, session); };
    });
    return options;
}

} // namespace

void addPluginsCommand(CLI::App& app, Session& session)
{
    CLI::App* plugins = addLevel(app, "plugins", "List, describe and check plugins.");
    plugins->require_subcommand(1);
    plugins->alias("plugin");

    CLI::App* command =
        addLevel(*plugins, "list", "Every candidate with its state and the reason for it.");
    auto options = addAction(command, session, list);
    command->add_flag("--json", options->json, "A JSON array instead.");

    command =
        addLevel(*plugins, "describe", "Open one plugin in this process and print what it offers.");
    options = addAction(command, session, describe);
    command->add_option("plugin", options->name, "Id, or path of a plugin file.")->required();
    command->add_flag("--json", options->json, "One JSON object instead.");

    command = addLevel(*plugins, "check",
                       "Open plugins in a process of their own; exit code 4 where one is refused.");
    options = addAction(command, session, check);
    command->add_option("plugin", options->name, "Id, or path of a plugin file; default is all.");
    command->add_flag("--json", options->json, "A JSON array instead.");

    command = addLevel(*plugins, "new", "Write the sources of a lab of your own.");
    options = addAction(command, session, makeNew);
    command->add_option("id", options->name, "Its id: small letters, digits and _.")->required();
    command->add_option("--folder", options->folder, "Where to write; default is ./<id>.")
        ->type_name("DIR");

    command = addLevel(*plugins, "enable", "Switch a plugin on.");
    options = addAction(command, session, enable);
    command->add_option("plugin", options->name, "Id.")->required();

    command =
        addLevel(*plugins, "disable", "Switch a plugin off; its code is not opened any more.");
    options = addAction(command, session, disable);
    command->add_option("plugin", options->name, "Id.")->required();
}

} // namespace vergence::cli
