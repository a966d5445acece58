#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/studio_folders.h"
#include "core/plugin/lab_plugin.h"
#include "core/plugin/plugin_descriptor.h"

namespace vergence {

/// Where plugins are looked for, in order; the first of an id wins, later ones are Shadowed. A
/// place may also name a file.
struct PluginSearch {
    std::vector<std::filesystem::path> extraFolders; ///< --plugin-path, repeatable
    bool safeMode = false;                           ///< opens none
    /// Extra folders, $VERGENCE_PLUGIN_PATH, user data, then beside this library (installation and
    /// build tree alike).
    std::vector<std::filesystem::path> folders() const;
};

/// A plugin file that the system's loader or the interface check turned down; exit code 4.
class PluginRefusal : public Error {
public:
    PluginRefusal(const std::string& reason, std::string details);
    ~PluginRefusal() override;
    const std::string& details() const { return m_details; } ///< the loader's own words

private:
    std::string m_details;
};

/// Finds modules, reads descriptors, keeps a state and a reason for each; a crash or hang while
/// probing quarantines a file (by path, size and time, in the state folder). Used in the window
/// too: load() is for workers and probes only.
class PluginRegistry {
public:
    explicit PluginRegistry(PluginSearch search);

    void scan(); ///< metadata only; 100 files in at most 50 ms warm
    const std::vector<PluginDescriptor>& plugins() const { return m_plugins; }
    const PluginDescriptor*
    find(const std::string& id) const; ///< the Ready one, or the first candidate of that id

    /// Loads with all symbols resolved; throws Error with the descriptor's reason or the loader's
    /// (exit code 4, or 7 where the plugin needs a device that is not there). A loaded plugin stays
    /// until the process ends.
    LabPlugin& load(const std::string& id);
    LabPlugin& load(const PluginDescriptor& descriptor);
    /// CUDA bodies of a plugin, for loadKernelModule(): libvergence-kernels-<id>.so and, where it
    /// has several, libvergence-kernels-<id>_*.so, in the first folder that has the former: beside
    /// the plugin, or a module folder. By name; empty where none.
    static std::vector<std::filesystem::path> kernelModulesFor(const PluginDescriptor& descriptor);

    /// Runs `<executable> plugins describe --json <path>` with a time limit and keeps the answer in
    /// the cache (by path, size and time, and build of the host). A crash or a hang quarantines the
    /// file. Sets state and reason of `descriptor` alone, so that a copy may be probed in another
    /// thread. Only Ready and Needs are probed. Blocks up to `milliseconds`.
    std::optional<nlohmann::json> probe(PluginDescriptor& descriptor,
                                        const std::filesystem::path& executable,
                                        int milliseconds = 5000);
    /// These three write the choice and scan anew; they throw OutputError.
    void setQuarantined(const PluginDescriptor& descriptor, const std::string& reason);
    void clearQuarantine(const PluginDescriptor& descriptor);
    void setEnabled(const std::string& id, bool enabled);

private:
    void applyChoices();
    void shadowDuplicates();

    PluginSearch m_search;
    std::vector<PluginDescriptor> m_plugins;
    std::map<std::filesystem::path, LabPlugin*> m_loaded;
};

/// What a probe prints: {"descriptor", "schema", "presets": [{name, title, summary, toml}],
/// "metrics": [{name, title, unit, better, headline}], "streams": [{id, title, kind, help,
/// compare_group}]}.
nlohmann::json describePlugin(const PluginDescriptor& descriptor, const LabPlugin& plugin);

} // namespace vergence
