#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/artifact/run_folder.h"
#include "core/cluster/target.h"

namespace vergence {

/// Which job works on a run: `job.json` of the run folder, written when it is submitted.
struct Job {
    std::string target; ///< name of the Target
    std::string login;  ///< where Slurm's commands are, as in the target
    std::string id;     ///< "1234": of the job, or of the array
    int task = -1;      ///< of the array; -1: none
    Scheduler scheduler = Scheduler::Slurm;
    /// "1234" or "1234_7", as Slurm's commands take it.
    std::string slurmId() const;
};

std::filesystem::path jobFile(const RunFolder& folder);   ///< `job.json`
std::filesystem::path jobScript(const RunFolder& folder); ///< `job.sh`
/// Nothing where the run was never submitted. Throws InputError where the file is damaged.
std::optional<Job> readJob(const RunFolder& folder);
void writeJob(const RunFolder& folder, const Job& job); ///< throws OutputError

} // namespace vergence
