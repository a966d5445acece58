#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/run_folder.h"
#include "core/artifact/safetensors.h"
#include "core/config/config.h"

namespace vergence::sugar {

/// Fingerprint of everything a stage's result follows from: its keys, what earlier stages followed
/// from, and how results are made in this version. SHA-256, hexadecimal.
std::string stageHash(const std::string& id, const Config& config,
                      const std::vector<std::string>& keys, const std::string& earlier);

/// Results of finished stages below <run>/stages: S4/result.safetensors and S4/done.json with the
/// hash. Both appear whole or not at all.
class StageStore {
public:
    StageStore(RunFolder folder, std::filesystem::path reuseFrom);

    struct Done {
        std::string hash;
        double seconds = 0;    ///< that its steps took
        std::string takenFrom; ///< run that made it; empty: this one
    };
    /// A finished stage of this run with that hash.
    std::optional<Done> find(const std::string& id, const std::string& hash) const;
    /// Takes a finished stage of the same hash from the run to reuse, where that has one.
    void takeOver(const std::string& id, const std::string& hash) const;
    void write(const std::string& id, const std::string& hash, double seconds,
               const std::vector<HostTensor>& result) const;
    SafetensorsFile read(const std::string& id) const; ///< throws InputError

private:
    std::filesystem::path at(const std::string& id) const;
    RunFolder m_folder;
    std::filesystem::path m_reuseFrom;
};

} // namespace vergence::sugar
