#pragma once

#include <filesystem>

#include "core/artifact/artifact_store.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

// The whole state of a study as files, `study/state.json` beside `study/models/<label>.npz`, from
// which it is read back without loss; clouds in single precision, as they were measured.

void writeRecord(ArtifactStore& artifacts, const StudyState& state);
StudyState readRecord(const std::filesystem::path& runFolder); ///< throws InputError

} // namespace vergence::mc_embedding
