#pragma once

#include <string>

#include "core/cluster/shell.h"
#include "core/cluster/target.h"

namespace vergence::detail {

/// Why sbatch takes no job of this target, and what to do.
std::string refusalText(const Target& target, const CommandResult& result);

} // namespace vergence::detail
