#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vergence {

/// Paths of one run folder (architecture.md §4). Creates nothing by itself.
struct RunFolder {
    std::filesystem::path root;

    std::filesystem::path configInput() const { return root / "config.input.toml"; }
    std::filesystem::path config() const { return root / "config.toml"; }
    std::filesystem::path manifest() const { return root / "manifest.json"; }
    std::filesystem::path status() const { return root / "status.json"; }
    std::filesystem::path events() const { return root / "events.jsonl"; }
    std::filesystem::path metrics() const { return root / "metrics.csv"; }
    std::filesystem::path log() const { return root / "log.jsonl"; }
    std::filesystem::path checkpoints() const { return root / "checkpoints"; }
    std::filesystem::path artifacts() const { return root / "artifacts"; }
    std::filesystem::path previews() const { return root / "previews"; }
    std::filesystem::path exports() const { return root / "exports"; }
    std::string id() const { return root.filename().string(); }

    /// `<parent>/2026-03-02T10-15-07Z-<plugin>-7c1e` with its subfolders. Throws OutputError.
    static RunFolder create(const std::filesystem::path& parent, const std::string& plugin);
    /// The given folder, which must not exist or be empty. Throws OutputError.
    static RunFolder createAt(const std::filesystem::path& root);
    /// An existing one; throws InputError where `status.json` or `config.toml` is missing.
    static RunFolder open(const std::filesystem::path& root);
};

/// Newest state of a run, replaced once a second while a worker lives.
struct RunStatus {
    std::string state; ///< name of a RunState, see core/run/run_state.h
    std::string plugin, preset, device;
    std::int64_t step = 0, total = 0;
    int pid = 0;
    std::string bootId;    ///< /proc/sys/kernel/random/boot_id
    std::string host, job; ///< name of the computer; "slurm 1234_7", empty for none
    double heartbeat = 0;  ///< seconds since the epoch
    std::optional<int> exitCode;
    std::string phase;              ///< while starting
    std::string problem;            ///< sentence of the cause for failed runs
    std::string problemId;          ///< "E-OOM", "E-CRASH", …
    std::string socket;             ///< name of the worker's local socket
    std::vector<std::string> rings; ///< shared-memory names to clean up after a crash

    nlohmann::json toJson() const;
    static RunStatus fromJson(const nlohmann::json& json); ///< throws InputError
};

RunStatus readStatus(const RunFolder& folder); ///< throws InputError
void writeStatus(const RunFolder& folder, const RunStatus& status);
std::string currentBootId();
std::string currentHost(); ///< this computer's name
std::string currentJob();  ///< "slurm 1234_7" inside of a job of Slurm, else empty
/// Whether its process number means anything here: same start of the same computer.
bool isOfThisComputer(const RunStatus& status);
/// Whether the worker that wrote `status` is still the same live process of this computer.
bool isWorkerAlive(const RunStatus& status);

/// Run folders below `parent` (those with a status.json), newest first. Unreadable ones are
/// skipped.
std::vector<RunFolder> listRuns(const std::filesystem::path& parent);
/// $VERGENCE_RUNS, or `runs` below the working folder.
std::filesystem::path defaultRunsFolder();

} // namespace vergence
