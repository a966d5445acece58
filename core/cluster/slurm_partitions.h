#pragma once

#include <string>
#include <vector>

#include "core/cluster/target.h"

namespace vergence::detail {

/// A partition of the cluster, as `sinfo` tells it.
struct Partition {
    std::string name;
    int nodes = 0, idle = 0;
    int cores = 0;    ///< of its largest node; 0 where it is not told
    std::string time; ///< longest of a job, as Slurm writes it ("1:00:00", "infinite")
};

/// Those of the cluster that a job of the target may go to: named by it, or the default one. Throws
/// InputError where the cluster does not answer.
std::vector<Partition> partitionsOf(const Target& target);

} // namespace vergence::detail
