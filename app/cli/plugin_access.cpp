#include "app/cli/plugin_access.h"

#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/error.h"

namespace vergence::cli {

void PluginOptions::addTo(CLI::App& app)
{
    addRepeatable(app, "--plugin-path", folders, "Look for plugins here first (repeatable).")
        ->type_name("DIR");
    app.add_flag("--safe-mode", safeMode, "Open no plugin.");
}

PluginSearch PluginOptions::search() const
{
    PluginSearch search;
    search.extraFolders.assign(folders.begin(), folders.end());
    search.safeMode = safeMode;
    return search;
}

PluginRegistry openRegistry(const PluginOptions& options)
{
    PluginRegistry registry(options.search());
    registry.scan();
    return registry;
}

PluginDescriptor choosePlugin(PluginRegistry& registry, const std::string& id,
                              const std::filesystem::path& executable, bool worksHere)
{
    const PluginDescriptor* found = registry.find(id);
    if (!found) {
        std::vector<std::string> ids;
        for (const PluginDescriptor& plugin : registry.plugins())
            ids.push_back(plugin.id);
        throw Error(
            fmt::format(
                "There is no plugin `{}`.{} `vergence plugins list` names those that were found.",
                id, suggestion(id, ids)),
            ExitCode::PluginUnavailable);
    }
    PluginDescriptor descriptor = *found;
    registry.probe(descriptor, executable);
    if (!worksHere && descriptor.state == PluginState::Needs)
        descriptor.state = PluginState::Ready;
    if (descriptor.state != PluginState::Ready) {
        throw Error(descriptor.reason, descriptor.state == PluginState::Needs
                                           ? ExitCode::NoDevice
                                           : ExitCode::PluginUnavailable);
    }
    return descriptor;
}

std::vector<PluginDescriptor> probedPlugins(const PluginOptions& options,
                                            const std::filesystem::path& executable)
{
    PluginRegistry registry = openRegistry(options);
    std::vector<PluginDescriptor> plugins = registry.plugins();
    for (PluginDescriptor& plugin : plugins)
        registry.probe(plugin, executable);
    return plugins;
}

} // namespace vergence::cli
