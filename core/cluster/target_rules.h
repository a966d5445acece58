#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster/target.h"

namespace vergence::detail {

/// Seconds of a time as sbatch takes it: "90", "90:00", "1:30:00", "1-0", "1-0:30", "1-0:30:00".
/// Nothing where it is none.
std::optional<long> slurmSeconds(const std::string& time);

/// All that sbatch, ssh or the shell of a node would misunderstand.
std::vector<ConfigIssue> targetIssues(const Target& target);

} // namespace vergence::detail
