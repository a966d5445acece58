#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/artifact/run_folder.h"
#include "core/cluster/job_file.h"
#include "core/cluster/target.h"

namespace vergence {

/// Runs that one submission puts into the queue; several become one array.
struct Submission {
    std::string plugin;                 ///< for the job's name
    std::vector<RunFolder> runs;        ///< each with config.toml and status.json
    std::vector<std::string> arguments; ///< further ones of `vergence run`: {"--device", "cpu"}
    /// Where relative paths of a configuration begin; empty: where Slurm puts the job.
    std::filesystem::path workingFolder;
};

/// The script of a job: readable, kept as `job.sh` in every run folder. Each task runs
/// `vergence run RUN --resume --wait`; before its time is up (USR1) the run saves and the job goes
/// back into the queue; TERM (preemption, scancel) saves and stops. Options of sbatch stand in
/// `#SBATCH` lines.
std::string slurmScript(const Target& target, const Submission& submission,
                        const std::string& vergence);

/// Sets the status of each run to Queued, submits them, and writes job.json and job.sh of each,
/// which name the job: a status belongs to the worker from the submission on. Where the cluster
/// refuses, the runs stay as they were, without a job; throws then, with Slurm's reason and what to
/// do: InputError where Slurm cannot be asked, Error (ExitCode::ConfigInvalid) where a setting of
/// the target is wrong for the cluster.
std::vector<Job> submitToSlurm(const Target& target, const Submission& submission,
                               const std::string& vergence);

/// What the queue says of a job.
struct JobState {
    enum class Phase {
        Pending, ///< waits: see `reason`
        Running, ///< also while it ends
        Ended,   ///< gone from the queue
        Unknown  ///< the queue does not answer
    };
    Phase phase = Phase::Unknown;
    std::string slurmState; ///< "PENDING", "CANCELLED", …; empty where Slurm forgot the job
    std::string reason;     ///< in words: "other jobs go first", "cancelled", "exit code 1"
    std::string node;       ///< where it runs
    int exitCode = 0;       ///< of an ended job, where Slurm knows it
};

/// "Priority" → "other jobs go first"; what to do with the job (see Job::slurmId()) where it cannot
/// begin. Unknown reasons stay as they are.
std::string pendingReasonText(const std::string& reason, const std::string& job);

/// States of all jobs that the queue of `login` (see Target) knows of this user, by Job::slurmId(),
/// from one `squeue`. Throws InputError where it does not answer.
std::map<std::string, JobState> queuedJobs(const std::string& login);
/// Of jobs that are gone from the queue: what `scontrol show job`, once per array, and one `sacct`
/// still know. Phase Unknown where Slurm does not answer.
std::map<std::string, JobState> endedJobs(const std::string& login, const std::vector<Job>& jobs);
JobState endedJob(const std::string& login, const Job& job);

/// Takes jobs out of the queue; those that run save and stop. Throws InputError with scancel's
/// reason.
void cancelJobs(const std::string& login, const std::vector<Job>& jobs);
/// A signal for the worker of a running job: "USR2" saves a checkpoint. Throws InputError.
void signalJob(const std::string& login, const Job& job, const std::string& signal);

/// What "Try" says of a target, one sentence each; `isGood` where it can be used.
struct TargetCheck {
    struct Line {
        bool isGood = true;
        std::string text; ///< "Slurm 22.05.8 answers.", "Partition `gpu`: 4 nodes, 2 idle."
    };
    std::vector<Line> lines;
    bool isGood() const;
};
/// Login, Slurm, partition and account, runs folder (written from a job's node where one is free
/// within `seconds`), version of `vergence` there, devices. Blocks.
TargetCheck checkTarget(const Target& target, const std::filesystem::path& runsFolder,
                        const std::string& vergence, double seconds = 30);

} // namespace vergence
