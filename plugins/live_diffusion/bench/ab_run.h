#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/bench/ab_row.h"
#include "plugins/live_diffusion/bench/report.h"

namespace vergence::live {

/// What an A/B run asks of one configuration.
struct AbMeasurement {
    BenchResult result;                              ///< `numeric`: of one evaluation
    std::optional<NumericError> frameError;          ///< after all steps of a frame
    std::array<std::optional<double>, 3> streamPsnr; ///< dB to the baseline's stream after 1, 10,
                                                     ///< 100 frames
};

/// Where an A/B run gets its numbers from.
class AbTarget {
public:
    virtual ~AbTarget() = default;
    /// The setting as built, warmed up and measured. The first call is of the baseline.
    virtual AbMeasurement measure(const AbSetting& setting) = 0;
};

/// One finished row.
struct AbEntry {
    AbStep step;
    std::optional<AbMeasurement> measurement{}; ///< none where it is not available or failed
    std::string failure{};                      ///< what was thrown while it was measured
    Interval milliseconds{};                    ///< median device time of a frame
    AbVerdict verdict = AbVerdict::NotJudged;   ///< against what the part compares with
    double speedUp = NAN;                       ///< baseline's median ÷ this one's
    double memoryReduction = NAN;               ///< 1 − steady ÷ baseline's steady
};

/// Runs a plan row by row. Alone and Cumulative are judged against the baseline and the row before;
/// Without against the last cumulative row.
class AbRun {
public:
    AbRun(AbTarget& target, std::vector<AbStep> plan);

    bool next(); ///< measures one row; false when none is left. What a row throws becomes its
                 ///< failure; the baseline's is thrown on
    std::size_t done() const { return m_entries.size(); }
    std::size_t count() const { return m_plan.size(); }
    const std::vector<AbEntry>& entries() const { return m_entries; }

private:
    AbMeasurement measured(const AbStep& step);
    void judge(AbEntry& entry) const;
    const AbEntry* reference(AbPart part) const;

    AbTarget& m_target;
    std::vector<AbStep> m_plan;
    std::vector<AbEntry> m_entries;
};

AbVerdict verdictOf(const Interval& entry, const Interval& reference);

std::vector<AbRow> rowsOf(const std::vector<AbEntry>& entries);

/// One row per entry with all columns of the lab's A/B table.
std::string abMarkdown(const std::vector<AbEntry>& entries);
std::string abCsv(const std::vector<AbEntry>& entries);
nlohmann::json toJson(const std::vector<AbEntry>& entries);

} // namespace vergence::live
