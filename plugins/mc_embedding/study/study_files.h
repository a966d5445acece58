#pragma once

#include <filesystem>
#include <functional>

#include "core/artifact/artifact_store.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

// Files of a study below artifacts/study, section 12 of the specification: JSON summaries with the
// original's names, NPZ arrays, CSV per image. Writing the same state twice gives the same bytes.

/// What was measured: everything that can be read back, and the summaries that need no resamples.
/// `isStopped` is asked before every file, and the rest is left out once it says yes.
void writeMeasured(ArtifactStore& artifacts, const StudyState& state,
                   const std::function<bool()>& isStopped = {});
/// Summaries and arrays of all experiments of the state that are complete for a model. False where
/// `isStopped` left something out.
bool writeStudy(ArtifactStore& artifacts, const StudyState& state,
                const std::function<bool()>& isStopped = {});
/// Reads back what writeStudy() wrote. Throws InputError.
StudyState readStudy(const std::filesystem::path& runFolder);
/// A K × N array of the original's files (`exp0_trials_T{T}.npz`) as scores, for re-analysis.
ModelStudy readPublishedTrials(const std::filesystem::path& folder, const std::string& model);

} // namespace vergence::mc_embedding
