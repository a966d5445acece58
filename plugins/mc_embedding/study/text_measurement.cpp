#include "plugins/mc_embedding/study/text_measurement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::mc_embedding {

TextMeasurement::TextMeasurement(TextModel& model, Prompts prompts, const Perturbation& dropout,
                                 const MeasurementPlan& plan, bool isBiased)
    : m_model(model),
      m_prompts(std::move(prompts)),
      m_dropout(dropout),
      m_trials(plan.trials),
      m_passes(plan.passes.back()),
      m_isBiased(isBiased)
{
    expects(!m_prompts.texts.empty() && plan.passes.size() == 1,
            "TextMeasurement: prompts, and one number of passes");
    m_result.first = m_prompts.first;
    m_result.images = m_prompts.texts.size();
    m_result.trials = m_trials;
    m_result.passes = plan.passes;
    m_result.scores["trace_pre"].assign(static_cast<std::size_t>(m_trials) * m_result.images, 0);
}

void TextMeasurement::runBlock(Stream& stream)
{
    expects(!isDone(), "TextMeasurement: nothing to run");
    std::vector<PassId> ids;
    for (int t = m_pass; t < std::min(m_passes, m_pass + kTextPassesAtOnce); ++t)
        ids.push_back({static_cast<std::uint16_t>(m_trial), static_cast<std::uint16_t>(t)});
    const Matrix features =
        m_model.encodeMasked(stream, m_prompts.texts, m_prompts.clean, m_dropout, ids);
    if (!std::all_of(features.values.begin(), features.values.end(),
                     [](double value) { return std::isfinite(value); }))
        throw NumericsError(fmt::format("Text features of {} are not finite in trial {}.",
                                        m_model.describe(), m_trial));
    const std::size_t prompts = m_result.images, size = prompts * features.columns;
    if (m_pass == 0) {
        m_shift = Matrix(prompts, features.columns);
        std::copy_n(features.values.begin(), size, m_shift.values.begin());
        m_sums = m_squares = Matrix(prompts, features.columns);
    }
    for (std::size_t t = 0; t < ids.size(); ++t) {
        for (std::size_t i = 0; i < size; ++i) {
            const double delta = features.values[t * size + i] - m_shift.values[i];
            m_sums.values[i] += delta;
            m_squares.values[i] += delta * delta;
        }
    }
    m_pass += static_cast<int>(ids.size());
    if (m_pass == m_passes)
        endTrial();
}

void TextMeasurement::endTrial()
{
    const double t = m_passes, divisor = m_isBiased ? t : t - 1;
    std::vector<double>& traces = m_result.scores["trace_pre"];
    for (std::size_t i = 0; i < m_result.images; ++i) {
        double trace = 0;
        for (std::size_t d = 0; d < m_sums.columns; ++d)
            trace += std::max(0.0, m_squares(i, d) - m_sums(i, d) * m_sums(i, d) / t) / divisor;
        traces[static_cast<std::size_t>(m_trial) * m_result.images + i] =
            trace / static_cast<double>(m_sums.columns);
    }
    m_pass = 0;
    ++m_trial;
}

namespace {

std::int64_t blocksOfTrial(int passes)
{
    return (passes + kTextPassesAtOnce - 1) / kTextPassesAtOnce;
}

} // namespace

std::int64_t TextMeasurement::blocksLeft() const
{
    return (m_trials - m_trial) * blocksOfTrial(m_passes) - m_pass / kTextPassesAtOnce;
}

std::int64_t textBlocks(const MeasurementPlan& plan, std::size_t prompts)
{
    return static_cast<std::int64_t>((prompts + kTextsAtOnce - 1) / kTextsAtOnce) * plan.trials *
           blocksOfTrial(plan.passes.back());
}

} // namespace vergence::mc_embedding
