#include "core/run/run_manifest.h"

#include <algorithm>
#include <utility>

#include "core/artifact/manifest.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/messages.h"

namespace vergence {

namespace {

using nlohmann::json;

void hashIfPresent(json& target, const char* key, const std::filesystem::path& path)
{
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored))
        target[key] = sha256OfFile(path);
}

json describe(const DeviceInfo& device)
{
    return {{"name", device.name},
            {"uuid", device.uuid},
            {"kind", device.kind == DeviceKind::Cpu ? "cpu" : "cuda"},
            {"total_mib", device.totalBytes >> 20},
            {"compute_capability", device.computeCapability},
            {"driver", device.driver}};
}

/// Larger numbers win, so that a peak stays a peak over all parts of a run; other values are
/// replaced.
void keepLargest(json& target, const json& values)
{
    for (const auto& [key, value] : values.items()) {
        const auto present = target.find(key);
        if (present == target.end() || !present->is_number() || !value.is_number() ||
            present->get<double>() < value.get<double>())
            target[key] = value;
    }
}

} // namespace

RunManifest::RunManifest(const RunSettings& settings, const Config& config,
                         const DeviceInfo& device)
    : m_folder(settings.folder),
      m_json(makeManifest(settings.folder))
{
    m_json["run"]["id"] = settings.folder.id();
    m_json["plugin"] = settings.pluginInfo.is_object() ? settings.pluginInfo : json::object();
    m_json["plugin"]["id"] = settings.plugin;
    m_json["plugin"]["version"] = settings.pluginVersion;
    m_json["command"] = settings.command;
    json& section = m_json["config"];
    section["resolved"] = "config.toml";
    section["preset"] = settings.preset;
    hashIfPresent(section, "input_sha256", m_folder.configInput());
    hashIfPresent(section, "resolved_sha256", m_folder.config());
    const Field* seed = config.schema().find("seed");
    if (seed != nullptr && (seed->type == FieldType::Seed || seed->type == FieldType::Int))
        section["seed"] = config.get<std::int64_t>("seed");
    m_json["device"] = describe(device);
    m_json["times"]["start"] = utcNow();
}

std::vector<Artifact> RunManifest::continueEarlier(std::int64_t step)
{
    std::error_code ignored;
    if (!std::filesystem::exists(m_folder.manifest(), ignored))
        return {};
    try {
        const json earlier = readManifest(m_folder);
        if (earlier.contains("times") && earlier["times"].contains("start"))
            m_json["times"]["start"] = earlier["times"]["start"];
        if (earlier.contains("plugin_data"))
            m_json["plugin_data"] = earlier["plugin_data"];
        for (const char* key : {"tables", "controls", "streams"})
            if (earlier.contains(key) && earlier[key].is_array())
                m_json[key] = earlier[key];
        if (earlier.contains("resources") && earlier["resources"].is_object())
            addResources(earlier["resources"]);
        if (earlier.contains("run") && earlier["run"].contains("parent"))
            m_json["run"]["parent"] = earlier["run"]["parent"];
        m_json["resumed"] = earlier.value("resumed", json::array());
        m_json["resumed"].push_back({{"step", step}, {"time", utcNow()}});
        return artifactsOf(earlier);
    } catch (const std::exception& error) {
        log("run").warn("The manifest of the earlier part of this run is left out: {}",
                        error.what());
        return {};
    }
}

void RunManifest::addResources(const json& resources)
{
    const std::lock_guard lock(m_mutex);
    keepLargest(m_resources, resources);
}

void RunManifest::write(const Outcome& outcome, const std::vector<Artifact>& artifacts)
{
    json& run = m_json["run"];
    run["state"] = outcome.state;
    run["exit"] = outcome.exitCode ? json(*outcome.exitCode) : json();
    run["step"] = outcome.step;
    run["total"] = outcome.total;
    run["problem"] = outcome.problem;
    run["problem_id"] = outcome.problemId;
    m_json["times"]["end"] = utcNow();
    m_json["times"]["wall_s"] = outcome.wallSeconds;
    m_json["metrics"] = outcome.metrics;
    m_json["config"]["overrides"] = outcome.flags;
    m_json["plugin_data"].update(outcome.notes);
    if (!m_json.contains("tables"))
        m_json["tables"] = json::array();
    for (const json& table : outcome.tables)
        upsert(m_json["tables"].get_ref<json::array_t&>(), table, "id");
    for (const auto& [key, declared] :
         {std::pair{"controls", &outcome.controls}, {"streams", &outcome.streams}}) {
        if (!declared->empty() || !m_json.contains(key))
            m_json[key] = *declared;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_json["resources"] = m_resources;
    }
    writeManifest(m_folder, m_json, artifacts);
}

} // namespace vergence
