#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

// The later experiments: exp1 to exp3, exp6 to exp11 and mean_convergence. Pure functions of the
// state. What a study cannot support has a "reason" instead of numbers.

/// In the order of the specification.
const std::vector<std::string>& laterExperiments();

/// A table of results for people: the live view, the report.
struct StudyTable {
    std::string id, title;
    std::vector<std::string> columns;
    std::vector<std::vector<nlohmann::json>> rows; ///< numbers or texts
    std::string note;
};

/// Summary of one experiment of one model, `{"experiment", "model", …}`. exp9 belongs to no model
/// where its frames are those of a file; then that of any model is the same.
nlohmann::json laterSummary(const StudyState& state, const ModelStudy& study,
                            const std::string& experiment);
/// Per image or prompt; empty for experiments that have no such numbers.
std::string laterCsv(const StudyState& state, const ModelStudy& study,
                     const std::string& experiment);
/// One per experiment that was asked for and has a complete model.
std::vector<StudyTable> laterTables(const StudyState& state);
/// Summaries, overall summary and CSV below study/<experiment>. `isStopped` is asked before every
/// one; false where it left something out.
bool writeLater(ArtifactStore& artifacts, const StudyState& state,
                const std::function<bool()>& isStopped = {});

} // namespace vergence::mc_embedding
