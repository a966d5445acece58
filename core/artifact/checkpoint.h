#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/run_folder.h"
#include "core/artifact/safetensors.h"

namespace vergence {

/// What a run saves: named tensors (host copies) and a JSON of everything else (counters, cursors,
/// records). On disk: checkpoints/step-00001000/{tensors.safetensors, state.json}, written beside
/// and renamed.
struct Checkpoint {
    std::int64_t step = 0;
    nlohmann::json state = nlohmann::json::object();
    std::vector<HostTensor> tensors;

    const HostTensor& tensor(const std::string& name) const; ///< throws InputError that names it
};

/// Writes, then removes the oldest beyond `keep` (at least 1). Throws OutputError; a full disk
/// leaves the older ones whole.
std::filesystem::path saveCheckpoint(const RunFolder& folder, const Checkpoint& checkpoint,
                                     int keep = 3);
/// Throws InputError that says what is damaged.
Checkpoint loadCheckpoint(const std::filesystem::path& directory);
/// Complete checkpoints by ascending step.
std::vector<std::filesystem::path> listCheckpoints(const RunFolder& folder);
/// The newest that loads; damaged ones are skipped with a warning in the log. Nothing where there
/// is none; throws InputError where all are damaged or the folder cannot be listed.
std::optional<Checkpoint> loadNewestCheckpoint(const RunFolder& folder);

} // namespace vergence
