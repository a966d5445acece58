#pragma once

#include <filesystem>

#include "core/artifact/artifact_store.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

// Files of a study below artifacts/study, section 12 of the specification: JSON summaries with the
// original's names, NPZ arrays, CSV per image. Writing the same state twice gives the same bytes.

/// Summaries and arrays of all experiments of the state that are complete for a model.
void writeStudy(ArtifactStore& artifacts, const StudyState& state);
/// Reads back what writeStudy() wrote. Throws InputError.
StudyState readStudy(const std::filesystem::path& runFolder);
/// A K × N array of the original's files (`exp0_trials_T{T}.npz`) as scores, for re-analysis.
ModelStudy readPublishedTrials(const std::filesystem::path& folder, const std::string& model);

} // namespace vergence::mc_embedding
