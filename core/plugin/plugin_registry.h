#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/plugin/lab_plugin.h"
#include "core/plugin/plugin_descriptor.h"

namespace vergence {

/// Where plugins are looked for, in order; the first of an id wins, later ones are Shadowed.
struct PluginSearch {
    std::vector<std::filesystem::path> extraFolders;  ///< --plugin-path, repeatable
    bool safeMode = false;                            ///< opens none
    std::vector<std::filesystem::path> folders() const;  ///< extra, $VERGENCE_PLUGIN_PATH, user data, prefix, build tree
};

/// Finds modules, reads descriptors, keeps a state and a reason for each; a crash or hang while probing quarantines a file
/// (by path, size and time, in the state folder). Used in the window too: load() is for workers and probes only.
class PluginRegistry {
public:
    explicit PluginRegistry(PluginSearch search);

    void scan();                                       ///< metadata only; 100 files in at most 50 ms warm
    const std::vector<PluginDescriptor>& plugins() const { return m_plugins; }
    const PluginDescriptor* find(const std::string& id) const;   ///< the Ready one, or the first candidate of that id

    /// Loads with all symbols resolved; throws Error (exit code 4) with the descriptor's reason or the loader's.
    LabPlugin& load(const std::string& id);
    /// Path of the CUDA bodies beside a plugin, for loadKernelModule().
    static std::filesystem::path kernelModuleFor(const PluginDescriptor& descriptor);

    /// Runs `<executable> plugins describe <path>` with a time limit and keeps the answer in the cache (by path, size and
    /// time). A crash or a hang quarantines. Sets state and reason. Blocks up to `milliseconds`; the window calls it from a
    /// worker thread or uses describeAsync of its own.
    std::optional<nlohmann::json> probe(PluginDescriptor& descriptor, const std::filesystem::path& executable,
                                        int milliseconds = 5000);
    void setQuarantined(const PluginDescriptor& descriptor, const std::string& reason);
    void clearQuarantine(const PluginDescriptor& descriptor);
    void setEnabled(const std::string& id, bool enabled);

private:
    PluginSearch m_search;
    std::vector<PluginDescriptor> m_plugins;
};

/// What a probe prints: {"descriptor", "schema", "presets": [{name, title, summary, toml}], "metrics", "streams"}.
nlohmann::json describePlugin(const PluginDescriptor& descriptor, const LabPlugin& plugin);

/// XDG folders of the studio (ux, 3.3); made on demand with user-only rights.
std::filesystem::path configHome();
std::filesystem::path dataHome();
std::filesystem::path stateHome();
std::filesystem::path cacheHome();
std::filesystem::path runtimeHome();

}  // namespace vergence
