#pragma once

#include <string>
#include <vector>

#include "core/cluster/shell.h"
#include "core/cluster/target.h"

namespace vergence::detail {

inline constexpr double kSlurmPatience = 60; ///< s; a busy controller lets its clients wait

/// Runs one of Slurm's commands where `login` (see Target) says. Throws InputError, with what to
/// do, where it is not there or the controller does not answer; any other end comes back.
CommandResult askSlurm(const std::string& login, const std::vector<std::string>& command,
                       const std::string& input = {}, double seconds = kSlurmPatience);

/// The same, with `-u` and the name that the user has there behind the command.
CommandResult askSlurmOfUser(const std::string& login, const std::vector<std::string>& command);

/// Words that begin a command of one task on a node of the target, of at most so many minutes, if
/// one is free within `seconds`.
std::vector<std::string> srunCommand(const Target& target, double seconds, int minutes);

/// What a command said of its failure, without "sbatch: error: " in front and a full stop behind.
std::string slurmWords(const CommandResult& result);

} // namespace vergence::detail
