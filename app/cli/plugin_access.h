#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/plugin/plugin_registry.h"

namespace vergence::cli {

/// --plugin-path and --safe-mode, which every command that looks at plugins knows.
struct PluginOptions {
    std::vector<std::string> folders;
    bool safeMode = false;

    void addTo(CLI::App& app);
    PluginSearch search() const;
};

/// A registry that was scanned.
PluginRegistry openRegistry(const PluginOptions& options);

/// The plugin `id`, probed in a process of its own before its code runs here.
/// Throws Error with exit code 4 (missing, refused, quarantined) or 7 (needs a device, unless it is
/// to work elsewhere), always with the reason.
PluginDescriptor choosePlugin(PluginRegistry& registry, const std::string& id,
                              const std::filesystem::path& executable, bool worksHere = true);

/// All candidates after a probe of those that may be opened.
std::vector<PluginDescriptor> probedPlugins(const PluginOptions& options,
                                            const std::filesystem::path& executable);

} // namespace vergence::cli
