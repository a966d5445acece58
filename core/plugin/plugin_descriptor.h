#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vergence {

inline constexpr int kPluginApi = 1;

enum class PluginState { Ready, Disabled, Needs, Refused, Quarantined, Shadowed };
std::string nameOf(PluginState state);

/// A kind of file that a plugin opens: a run of `preset` whose setting `key` names the file shows
/// it.
struct OpenedFile {
    std::string suffix; ///< without the dot, in small letters: "ply"
    std::string key, preset;
};

/// A kind of folder that a plugin reads: its setting `key` names the folder.
struct TakenFolder {
    /// Paths below the folder, any of which says so; `*` stands for any part of a name:
    /// "sparse/0/cameras.bin", "*.mp4".
    std::vector<std::string> markers;
    std::string key;
    std::string preset{};           ///< where the lab is not being set up already; may be empty
    std::vector<std::string> set{}; ///< further `key=value`: "source=images"
};

/// What is known of a plugin file before any of its code runs, and the verdict.
struct PluginDescriptor {
    std::filesystem::path path;
    PluginState state = PluginState::Refused;
    std::string reason;  ///< one sentence for every state but Ready
    std::string details; ///< Qt's own words and the like
    std::string id, name, version, vendor, license, url, summary, category;
    int apiMin = 0, apiMax = 0;
    std::string qt, abi, build;
    std::vector<std::string> capabilities, requirements, literature;
    std::vector<OpenedFile> opens;
    std::vector<TakenFolder> takes;
    std::string demo;               ///< its preset for a first try; empty: none
    bool needsCuda = false;         ///< a CUDA device is required, not optional
    bool disabledByDefault = false; ///< until a user enables it
};

/// Reads the metadata of a shared library without loading it and judges: plain file, truncated, no
/// metadata, wrong IID, missing keys (each named), API range, Qt version, compiler ABI, build type.
/// Never throws, never runs plugin code.
PluginDescriptor judgePlugin(const std::filesystem::path& path);
nlohmann::json toJson(const PluginDescriptor& descriptor);
PluginDescriptor descriptorFromJson(const nlohmann::json& json);

} // namespace vergence
