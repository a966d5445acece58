#pragma once

#include "plugins/mc_embedding/study/chunk_result.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// Room for `images` images, everything NaN; scores of the clean measurement.
void prepareStudy(ModelStudy& study, const MeasurementPlan& plan, std::size_t images);
/// Puts a chunk of the clean measurement into the study. Whole chunks in ascending order.
void addChunk(ModelStudy& study, const ChunkResult& chunk);
/// Puts a chunk of a degraded measurement into the study.
void addDegradedChunk(ModelStudy& study, const MeasurementPlan& plan, const ChunkResult& chunk);

/// Puts a chunk of any other measurement where it belongs; `groups` are those of the pictures of
/// exp2.
void addLaterChunk(ModelStudy& study, const MeasurementPlan& plan, const ChunkResult& chunk,
                   const std::vector<std::string>& groups);
/// The clean scores as a way of an experiment that asks for the same masks.
void addCleanWay(ModelStudy& study, const MeasurementPlan& way);

/// Scores that weigh dimensions by the spread of the image means (weighted_trace, topk_trace) are
/// known once all images are: means of the study must be complete. `chunks` gives them one after
/// the other.
class WeightedScores {
public:
    WeightedScores(ModelStudy& study, const MeasurementPlan& plan);
    void add(const ChunkResult& chunk);

private:
    ModelStudy& m_study;
    std::vector<std::string> m_names;
    std::vector<double> m_weights;
};
bool wantsWeightedScores(const MeasurementPlan& plan);

} // namespace vergence::mc_embedding
