#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/plugin_access.h"
#include "core/config/config.h"

namespace vergence::cli {

/// What the user says of a configuration: a plugin, a TOML file or a run folder, and what lies over
/// it.
struct ConfigRequest {
    std::string target; ///< plugin id, TOML file ("-" for stdin) or run folder
    std::string preset;
    std::string file;                     ///< --config; "-" for stdin
    std::vector<std::string> assignments; ///< --set key=value
    PluginOptions plugins;
    bool isForElsewhere = false;    ///< what this computer has no device for is no fault
    bool pathsAreElsewhere = false; ///< nor is a path that leads to nothing here

    void addTo(CLI::App& app, bool requiresTarget = true);
    void addLayersTo(CLI::App& app); ///< all but the target
};

/// One layer of a configuration, weak ones first.
struct ConfigLayer {
    std::string source; ///< "preset demo", "bunny.toml", "--set"
    std::string toml;   ///< empty for the assignments
    std::vector<std::string> assignments;
};

/// The answer: the plugin (loaded) and the configuration with all its issues.
struct ConfigSource {
    explicit ConfigSource(PluginSearch search) : registry(std::move(search)) {}

    PluginRegistry registry; ///< keeps what it loaded
    PluginDescriptor plugin;
    LabPlugin* lab = nullptr;
    std::string preset;             ///< empty for none
    std::string input;              ///< what the user gave, for config.input.toml
    bool hasFile = false;           ///< `input` is a file of the user, byte for byte
    bool pathsAreElsewhere = false; ///< see ConfigRequest
    std::vector<ConfigLayer> layers;
    std::vector<ConfigIssue> ownIssues; ///< of no layer: another plugin, an unknown preset
    std::vector<ConfigIssue> issues;    ///< all of them
    std::optional<Config> config;       ///< present where no issue is an error
};

/// Loads the plugin and stacks default < preset < file < --set. Throws InputError for files that
/// cannot be read and Error (exit code 4) for plugins; what is wrong inside a configuration comes
/// back as issues.
ConfigSource resolveConfig(const ConfigRequest& request, const Session& session);

/// One configuration of several that differ in a few values.
struct ConfigVariant {
    std::string input; ///< for config.input.toml
    std::vector<ConfigIssue> issues;
    std::optional<Config> config; ///< present where no issue is an error
};
/// `source` with further assignments over all its layers, which messages call `name`.
ConfigVariant variantOf(const ConfigSource& source, const std::vector<std::string>& assignments,
                        const std::string& name);

/// The configuration, or Error (exit code 3) after every issue was printed to stderr. Warnings are
/// printed, too.
const Config& requireConfig(const ConfigSource& source);

} // namespace vergence::cli
