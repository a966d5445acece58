#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/mc_embedding/report/plots.h"
#include "plugins/mc_embedding/statistics/reliability.h"
#include "plugins/mc_embedding/study/study_numbers.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// One figure of the views, the exports and the report.
struct Chart {
    std::string id; ///< file name without ending
    std::string title, caption;
    Diagram drawing;
    std::string csv; ///< its data
};

/// What a chart of one model looks at.
struct Look {
    std::size_t model = 0;
    std::size_t pass = 0; ///< index into ModelStudy::passes
    std::string metric = "trace_pre";
};

// Every function gives nothing where the state lacks its data. Specification, sections 7 and 13.

// Reliability
std::optional<Chart> spearmanChart(const StudyState& state, const Look& look);
std::optional<Chart> gatesChart(const StudyState& state, const Look& look);
std::optional<Chart> scalingChart(const StudyState& state, const Look& look);
std::optional<Chart> histogramChart(const StudyState& state, const Look& look);
std::optional<Chart> trialScatterChart(const StudyState& state, const Look& look);
std::optional<Chart> classBoxChart(const StudyState& state, const Look& look);
// Geometry and comparison
std::optional<Chart> spectrumChart(const StudyState& state, const Look& look);
std::optional<Chart> offdiagChart(const StudyState& state, const Look& look);
std::optional<Chart> preAgainstPostChart(const StudyState& state, const Look& look);
std::optional<Chart> dimensionChart(const StudyState& state, const Look& look);
std::optional<Chart> crossModelChart(const StudyState& state, const Look& look);
std::optional<Chart> rankRankChart(const StudyState& state, const Look& look, std::size_t other);
std::optional<Chart> siteProfileChart(const StudyState& state, const Look& look);
std::optional<Chart> comparisonChart(const StudyState& state, const Look& look);
// Ambiguity and degradation
std::optional<Chart> ambiguityChart(const StudyState& state, const Look& look);
std::optional<Chart> rocChart(const StudyState& state, const Look& look, int resamples = 200);
std::optional<Chart> accuracyChart(const StudyState& state, const Look& look);
std::optional<Chart> setSizeChart(const StudyState& state, const Look& look);
std::optional<Chart> pairedChart(const StudyState& state, const Look& look);

/// Rows of the comparison table, heading first; also for the report.
std::vector<std::vector<PlotTable::Cell>> comparisonRows(const StudyState& state);
/// Reason beside a published value that differs, from section 16; empty for none.
std::string deviationReason(const ModelStudy& model);

/// "clip_b32"; the label, "clip_b32-mlp_only-p0.1", where a key occurs twice. No two are equal:
/// files of charts are named by it.
std::string modelName(const StudyState& state, std::size_t model);
/// Classes of the images, in the order in which they come.
std::vector<std::string> classesOf(const StudyState& state);
/// File name of an image.
std::string imageName(const StudyState& state, std::size_t image);
/// "trace, pre-norm"
std::string metricName(const std::string& metric);
/// [K, n] of the images that all trials have scored, and which images of the set they are.
struct Scores : Matrix {
    std::vector<std::size_t> images;
};
std::optional<Scores> scoresOf(const StudyState& state, const Look& look);
/// Images by falling score; those without a finite one are left out.
std::vector<std::size_t> byScore(const std::vector<double>& scores);

/// One mark per image; beyond `few` images a two-dimensional histogram says more.
void addImages(Plot& plot, std::vector<double> x, std::vector<double> y, std::size_t few = 1500);

/// Panels of one figure side by side with the data of all.
Chart chartOf(const std::string& id, const std::string& title, const std::string& caption,
              const std::vector<Plot>& panels, std::size_t columns = 2);
/// Data of a plot as CSV lines `panel,kind,series,x,y,low,high`, without a heading.
std::string csvLines(const Plot& plot, const std::string& panel);

} // namespace vergence::mc_embedding
