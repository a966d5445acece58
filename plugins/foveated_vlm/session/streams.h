#pragma once

#include <vector>

#include "core/view/frame.h"

namespace vergence::fvlm {

/// The pictures and drawings of a run.
const std::vector<StreamDecl>& streamDecls();

} // namespace vergence::fvlm
