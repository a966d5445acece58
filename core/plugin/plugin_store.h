#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace vergence {

/// What makes a file "the same file" between two starts.
struct FileStamp {
    std::string path;
    std::uintmax_t size = 0;
    std::int64_t modified = 0; ///< nanoseconds of the file clock

    static FileStamp of(const std::filesystem::path& path); ///< zeros for a file that is not there
    bool operator==(const FileStamp&) const = default;
    nlohmann::json toJson() const;
    static FileStamp fromJson(const nlohmann::json& json);
};

/// Files that crashed or hung while they were probed, in `<state>/quarantine.json`. A changed file
/// is free again. A list that cannot be read counts as empty; writing throws OutputError.
class QuarantineList {
public:
    static QuarantineList read();
    std::optional<std::string> reasonFor(const FileStamp& stamp) const;
    static void add(const FileStamp& stamp, const std::string& reason);
    static void remove(const FileStamp& stamp);

private:
    nlohmann::json m_entries = nlohmann::json::array();
};

/// What the user switched on and off, in `<config>/plugins.json`.
struct PluginChoices {
    std::set<std::string> enabled, disabled;

    static PluginChoices read();
    void write() const; ///< throws OutputError
};

/// Answers of earlier probes, one file each in `<cache>/probe`, valid for one plugin file and one
/// build of the host.
std::optional<nlohmann::json> cachedDescription(const FileStamp& plugin);
void cacheDescription(const FileStamp& plugin,
                      const nlohmann::json& description); ///< failure is logged only

} // namespace vergence
