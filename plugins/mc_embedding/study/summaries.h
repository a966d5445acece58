#pragma once

#include <nlohmann/json.hpp>

#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

// Summaries of the experiments as JSON, names of the original kept; specification, sections 12.2
// and 12.3. Pure functions of the state.

/// All images of the clean measurement are in.
bool isComplete(const ModelStudy& study);
bool isMeasuredFor(const ModelStudy& study, const std::string& experiment);

/// What all summaries of one model begin with.
nlohmann::json summaryHeader(const ModelStudy& study, const std::string& experiment);
nlohmann::json exp0Summary(const StudyState& state, const ModelStudy& study);
nlohmann::json exp0bSummary(const ModelStudy& study);
/// Models of exp4, side by side.
nlohmann::json exp4Summary(const std::vector<const ModelStudy*>& studies);
nlohmann::json degradationSummary(const ModelStudy& study);
/// Variants of one model side by side (the lists of the group `compare`), trace_pre at the largest
/// T: reliability of each and the Spearman matrix of trial means, raw and disattenuated.
nlohmann::json variantsSummary(const std::vector<const ModelStudy*>& variants);
/// Mean and spread of trace_sum, logdet_eps and offdiag_l1_sum at the largest T.
nlohmann::json mnistSummary(const std::vector<const ModelStudy*>& studies);

} // namespace vergence::mc_embedding
