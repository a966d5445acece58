#pragma once

#include <string>

#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// CSV per image, T and space of one model; specification, section 15. What is not known stays
/// empty.
std::string imageTable(const StudyState& state, const ModelStudy& study);

} // namespace vergence::mc_embedding
