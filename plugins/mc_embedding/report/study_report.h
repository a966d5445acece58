#pragma once

#include "core/artifact/artifact_store.h"
#include "plugins/mc_embedding/report/study_views.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// Charts as PNG with their data as CSV, the cloud over passes as GIF and PNG sequence, report.html
/// and report.md (section 15), below artifacts/report. A pure function of the state.
void writeReport(ArtifactStore& artifacts, const StudyState& state,
                 const StudyViews::Thumbnail& thumbnail);

} // namespace vergence::mc_embedding
