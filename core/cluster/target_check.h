#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/cluster/slurm.h"
#include "core/cluster/studio_there.h"

namespace vergence::detail {

// Each adds what it finds of a target, and throws IoError where it cannot go on.

/// Slurm, its partitions, whether it takes a job with the settings of the target, and what a node
/// sees, where one is free within `seconds`. `studio`: as the nodes shall see it.
void checkSlurm(const Target& target, const StudioThere& studio, double seconds,
                std::vector<TargetCheck::Line>& lines);

/// The computer that starts runs: the login, or this one. Runs folder, and the program with its
/// devices for the lanes. False where the program cannot be used.
bool checkComputer(const Target& target, const StudioThere& studio,
                   std::vector<TargetCheck::Line>& lines);

/// Whether rsync is on both sides.
void checkCopying(const Target& target, std::vector<TargetCheck::Line>& lines);

} // namespace vergence::detail
