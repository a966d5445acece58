#pragma once

#include <functional>

#include "core/artifact/artifact_store.h"
#include "plugins/mc_embedding/report/study_views.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// Charts as PNG with their data as CSV, the cloud over passes as GIF and PNG sequence, report.html
/// and report.md (section 15), below artifacts/report. A pure function of the state. `isStopped` is
/// asked before every picture; false where it left something out.
bool writeReport(ArtifactStore& artifacts, const StudyState& state,
                 const StudyViews::Thumbnail& thumbnail,
                 const std::function<bool()>& isStopped = {});

} // namespace vergence::mc_embedding
