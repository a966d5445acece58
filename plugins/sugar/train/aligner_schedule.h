#pragma once

#include <cstdint>

namespace vergence::sugar {

/// What happens when in the alignment. s counts from 0: it is the number of steps done before.
struct AlignmentScheduleSettings {
    std::int64_t steps = 8'000;
    std::int64_t phase1 = 2'000; ///< s of the pruning; entropy before, terms of the surface after
    std::int64_t ramp = 200;     ///< steps in which weights of the surface's terms rise from 0
    std::int64_t knnEvery = 500; ///< steps a table of neighbours serves; at least 1
    std::int64_t every = 1;      ///< steps from one sampling of the field to the next; at least 1
    std::int64_t dnEvery = 1;    ///< likewise of depth against normals
};

/// Source: SuGaR (2024), section 5; weights rise gradually so that the loss does not jump.
class AlignmentSchedule {
public:
    /// Throws ContractError for intervals below 1.
    explicit AlignmentSchedule(AlignmentScheduleSettings settings);

    const AlignmentScheduleSettings& settings() const { return m_settings; }
    bool hasEntropy(std::int64_t s) const { return s > 0 && s < m_settings.phase1; }
    /// At the end of the step.
    bool prunes(std::int64_t s) const { return s == m_settings.phase1; }
    /// At the end of the step.
    bool refreshesNeighbours(std::int64_t s) const;
    /// What the weight of samples of the field is multiplied with: 0 in steps without, and the
    /// number of steps they stand for in the others.
    double samplesWeight(std::int64_t s) const { return weightAt(s, m_settings.every); }
    double depthNormalWeight(std::int64_t s) const { return weightAt(s, m_settings.dnEvery); }
    bool normalisesRotations(std::int64_t s) const { return (s + 1) % 1'000 == 0; }

private:
    double weightAt(std::int64_t s, std::int64_t every) const;
    AlignmentScheduleSettings m_settings;
};

} // namespace vergence::sugar
