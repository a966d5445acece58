#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "core/artifact/run_folder.h"

namespace vergence {

/// manifest.json of a run ("vergence-manifest/1"): plugin, build, config hashes, seed, data,
/// device, times, peak memory, metric summary, artifacts. A thin wrapper over JSON so that later
/// fields need no new code.
nlohmann::json
makeManifest(const RunFolder& folder); ///< format, run id, build, environment; the rest is added
void writeManifest(const RunFolder& folder, nlohmann::json manifest,
                   const std::vector<Artifact>& artifacts);
nlohmann::json readManifest(const RunFolder& folder); ///< throws InputError
std::vector<Artifact> artifactsOf(const nlohmann::json& manifest);
nlohmann::json buildInfo(); ///< version, compiler, build type
std::string systemName();   ///< as /etc/os-release has it; empty where it does not say

} // namespace vergence
