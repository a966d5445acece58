#pragma once

#include "core/run/run_context.h"
#include "plugins/mc_embedding/study/study_state.h"
#include "plugins/mc_embedding/study/work_meter.h"

namespace vergence::mc_embedding {

/// Series of a model over the images measured so far: ICC, median Spearman, SNR and mean trace per
/// T. After a chunk of `added` images; not after every one where there are many.
void reportProgress(RunContext& context, const ModelStudy& study, std::size_t added, bool isLast);
/// Throughput, share of the work, time left.
void reportSpeed(RunContext& context, const WorkMeter& meter);
/// Reliability of all models, T and spaces; degradations.
void reportTables(RunContext& context, const StudyState& state);

} // namespace vergence::mc_embedding
