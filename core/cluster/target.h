#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/config/config.h"

namespace vergence {

/// Who decides when a run works.
enum class Scheduler {
    Slurm, ///< the queue of a cluster
    Lanes  ///< a computer works on as many runs at a time as it has lanes, in their order
};
constexpr auto namesOf(Scheduler)
{
    return std::array{EnumName{Scheduler::Slurm, "slurm"}, EnumName{Scheduler::Lanes, "lanes"}};
}

/// Whose disk the run folders are on.
enum class Disk {
    Shared, ///< seen here under the same path
    Own     ///< of the target; what is seen here is a copy that follows it
};
constexpr auto namesOf(Disk)
{
    return std::array{EnumName{Disk::Shared, "shared"}, EnumName{Disk::Own, "own"}};
}

/// A place beside this computer where runs may work: a Slurm cluster, or a computer that ssh
/// reaches. One TOML file each, `targets/NAME.toml` below configHome().
struct Target {
    std::string name; ///< of the file; letters, digits, `-`, `_` and `.`
    Scheduler scheduler = Scheduler::Slurm;
    std::string login; ///< ssh destination that starts runs; empty: this computer does
    Disk disk = Disk::Shared;
    std::string folder;   ///< for run folders, as the target sees it; empty: see runsFolderOf()
    std::string vergence; ///< command line program there; empty: see programOf()
    std::vector<std::string> lanes; ///< device of each lane; empty: one, of its own choice
    std::string partition, account, qos, constraint; ///< empty: the cluster's default
    std::string time;   ///< longest time of a job, as Slurm writes it ("4:00:00"); empty: default
    std::string memory; ///< of a node, as Slurm writes it ("16G"); empty: default
    std::string gpus;   ///< --gres ("gpu:1", "gpu:a100:1"); empty: none
    int cores = 0;      ///< of a job; 0: default
    int atOnce = 0;     ///< jobs of an array that may run at a time; 0: no limit
    int grace = 120;    ///< s before the end of its time at which a job saves and queues again
    std::vector<std::string> extra; ///< further options of sbatch
};

/// The settings of a target as every form and TOML file of the studio has them.
const ConfigSchema& targetSchema();
/// The target of that name with the values of a configuration of targetSchema().
Target targetFrom(const std::string& name, const Config& config);

/// `targets` below configHome().
std::filesystem::path targetsFolder();
/// Names of all targets, sorted.
std::vector<std::string> targetNames();

/// A target as read, and everything that is wrong with its file; usable where no issue is an error.
struct TargetFile {
    Target target;
    std::vector<ConfigIssue> issues;
    bool isUsable() const { return !hasErrors(issues); }
};
/// Throws InputError where there is no such target (names the known ones) or it cannot be read.
TargetFile readTarget(const std::string& name);
/// The same from TOML text.
TargetFile parseTarget(const std::string& name, const std::string& toml);
/// The TOML file of a target, with help and default of each setting as comments. Throws Error
/// (ExitCode::ConfigInvalid) for a target that breaks a rule.
std::string targetToToml(const Target& target);
/// Why `name` cannot be a target's, in a sentence; empty where it can.
std::string refusedTargetName(const std::string& name);
/// Replaces the file of that name. Throws OutputError, and what targetToToml() throws.
void saveTarget(const Target& target);
/// Throws InputError where there is no such target.
void removeTarget(const std::string& name);

} // namespace vergence
