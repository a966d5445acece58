#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "core/compute/device.h"
#include "core/config/config.h"
#include "core/run/run_controller.h"

namespace vergence {

/// Gathers and writes manifest.json: at the start, at the end, and with every checkpoint. A resumed
/// run keeps what the earlier part noted.
class RunManifest {
public:
    RunManifest(const RunSettings& settings, const Config& config, const DeviceInfo& device);

    /// Reads what an earlier part of this run wrote; returns its artifacts.
    std::vector<Artifact> continueEarlier(std::int64_t step);
    /// "resources"; kept at the largest values seen. Any thread.
    void addResources(const nlohmann::json& resources);

    struct Outcome {
        std::string state, problemId, problem;
        std::optional<int> exitCode;
        std::int64_t step = 0, total = 0;
        double wallSeconds = 0;
        nlohmann::json metrics, notes, tables, controls, streams;
        std::vector<std::string> flags; ///< configuration as it is now
    };
    /// Throws OutputError.
    void write(const Outcome& outcome, const std::vector<Artifact>& artifacts);

private:
    RunFolder m_folder;
    std::mutex m_mutex;
    nlohmann::json m_json, m_resources = nlohmann::json::object();
};

} // namespace vergence
