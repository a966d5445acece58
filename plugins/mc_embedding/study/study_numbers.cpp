#include "plugins/mc_embedding/study/study_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

double settingOr(const StudyState& state, const std::string& key, double otherwise)
{
    const auto found = state.settings.find(key);
    return found == state.settings.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}

Matrix firstColumns(const Matrix& matrix, std::size_t count)
{
    Matrix part(matrix.rows, std::min(count, matrix.columns));
    for (std::size_t r = 0; r < matrix.rows; ++r)
        std::copy_n(matrix.values.begin() + static_cast<std::ptrdiff_t>(r * matrix.columns),
                    part.columns,
                    part.values.begin() + static_cast<std::ptrdiff_t>(r * part.columns));
    return part;
}

Matrix firstRows(const Matrix& matrix, std::size_t count)
{
    Matrix part(std::min(count, matrix.rows), matrix.columns);
    std::copy_n(matrix.values.begin(), part.values.size(), part.values.begin());
    return part;
}

std::vector<double> errorsOverTrials(const Matrix& scores)
{
    const std::vector<double> means = meansOverTrials(scores);
    const double k = static_cast<double>(scores.rows);
    std::vector<double> errors(scores.columns, std::numeric_limits<double>::quiet_NaN());
    if (scores.rows < 2)
        return errors;
    for (std::size_t i = 0; i < scores.columns; ++i) {
        double squares = 0;
        for (std::size_t trial = 0; trial < scores.rows; ++trial)
            squares += (scores(trial, i) - means[i]) * (scores(trial, i) - means[i]);
        errors[i] = std::sqrt(squares / (k - 1) / k);
    }
    return errors;
}

DegradationOutcome degradationOutcome(const ModelStudy& study, const DegradedScores& degraded,
                                      std::size_t passIndex)
{
    const std::vector<double> clean = meansOverTrials(study.scores.at("trace_pre")[passIndex]);
    const std::vector<double> worse = meansOverTrials(degraded.trace[passIndex]);
    DegradationOutcome outcome;
    std::vector<double> differences;
    for (std::size_t i = 0; i < std::min(clean.size(), worse.size()); ++i) {
        if (!std::isfinite(clean[i]) || !std::isfinite(worse[i]))
            continue;
        differences.push_back(worse[i] - clean[i]);
        outcome.meanClean += clean[i];
        outcome.meanDegraded += worse[i];
    }
    outcome.images = differences.size();
    if (differences.empty()) {
        outcome.wilcoxonP = Figure::none("no image has both scores");
        return outcome;
    }
    const double n = static_cast<double>(differences.size());
    const auto higher =
        std::count_if(differences.begin(), differences.end(), [](double d) { return d > 0; });
    outcome.fractionHigher = static_cast<double>(higher) / n;
    outcome.meanClean /= n;
    outcome.meanDegraded /= n;
    outcome.wilcoxonP = wilcoxonGreater(differences).p;
    return outcome;
}

Spread spreadOf(std::span<const double> values)
{
    std::vector<double> known;
    std::copy_if(values.begin(), values.end(), std::back_inserter(known),
                 [](double value) { return std::isfinite(value); });
    Spread spread;
    if (known.empty()) {
        spread.mean = spread.deviation = spread.median = spread.low = spread.high =
            Figure::none("no values");
        return spread;
    }
    double sum = 0, squares = 0;
    for (const double value : known)
        sum += value;
    const double mean = sum / static_cast<double>(known.size());
    for (const double value : known)
        squares += (value - mean) * (value - mean);
    spread.mean = mean;
    spread.deviation = std::sqrt(squares / static_cast<double>(known.size()));
    spread.median = quantile(known, 0.5);
    spread.low = quantile(known, 0.25);
    spread.high = quantile(known, 0.75);
    return spread;
}

} // namespace vergence::mc_embedding
