#pragma once

#include <string>
#include <vector>

#include "plugins/mc_embedding/models/text_model.h"
#include "plugins/mc_embedding/study/chunk_result.h"

namespace vergence::mc_embedding {

/// Prompts of a chunk and passes at once. Fixed, since products of other extents may differ in
/// their last bits.
inline constexpr std::size_t kTextsAtOnce = 16;
inline constexpr int kTextPassesAtOnce = 3;

/// Blocks of passes that so many prompts take.
std::int64_t textBlocks(const MeasurementPlan& plan, std::size_t prompts);

/// Measures one chunk of prompts under masks on the text tower, Exp 10: the trace of their
/// features, unbiased or biased, at the largest T.
class TextMeasurement {
public:
    struct Prompts {
        std::size_t first = 0; ///< in the study
        std::vector<std::string> texts;
        std::string clean; ///< as TextModel::encode() has it
    };
    TextMeasurement(TextModel& model, Prompts prompts, const Perturbation& dropout,
                    const MeasurementPlan& plan, bool isBiased);

    bool isDone() const { return m_trial >= m_trials; }
    /// Some passes of one trial. Throws InputError where the model has no tower, NumericsError for
    /// features that are not finite.
    void runBlock(Stream& stream);
    std::int64_t blocksLeft() const;
    ChunkResult result() const { return m_result; }

private:
    void endTrial();

    TextModel& m_model;
    Prompts m_prompts;
    Perturbation m_dropout;
    int m_trials, m_passes;
    bool m_isBiased;
    ChunkResult m_result;
    Matrix m_shift, m_sums, m_squares; ///< [prompts, D]: the first pass; of what differs from it
    int m_trial = 0, m_pass = 0;
};

} // namespace vergence::mc_embedding
