#include "plugins/foveated_vlm/train/gaze_measures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

std::span<const double> row(std::span<const double> rows, Index i, Index width)
{
    return rows.subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width));
}

} // namespace

void AttentionMeter::add(std::span<const double> weights, Index tokens, bool hasClassToken)
{
    expects(tokens > 0 && static_cast<Index>(weights.size()) % tokens == 0,
            "AttentionMeter: weights are rows of all tokens");
    expects(m_rows == 0 || tokens == m_tokens, "AttentionMeter: frames have other tokens");
    m_tokens = tokens;
    for (std::size_t first = 0; first < weights.size(); first += static_cast<std::size_t>(tokens)) {
        const auto p = weights.subspan(first, static_cast<std::size_t>(tokens));
        for (const double weight : p)
            m_sums.entropy -= weight > 0 ? weight * std::log(weight) : 0;
        m_sums.peak += *std::max_element(p.begin(), p.end());
        m_sums.classMass += hasClassToken ? p.front() : 0;
        ++m_rows;
    }
}

AttentionMeasures AttentionMeter::measures() const
{
    if (m_rows == 0)
        return {};
    const auto rows = static_cast<double>(m_rows);
    return {m_sums.entropy / rows, std::log(static_cast<double>(m_tokens)), m_sums.peak / rows,
            m_sums.classMass / rows};
}

void LikenessMeter::add(std::span<const double> coarse, std::span<const double> fine, Index width,
                        std::span<const double> queries, Index queryWidth)
{
    expects(coarse.size() == fine.size() || coarse.empty(),
            "LikenessMeter: as many coarse tokens as fine ones, or none");
    const Index frames = static_cast<Index>(queries.size()) / queryWidth;
    for (Index t = 0; t < frames; ++t) {
        if (!coarse.empty())
            m_features += cosine(row(coarse, t, width), row(fine, t, width));
        m_tokens += coarse.empty() ? 0 : 1;
        if (t + 1 == frames)
            break;
        m_queries += cosine(row(queries, t, queryWidth), row(queries, t + 1, queryWidth));
        ++m_pairs;
    }
    for (const double number : queries) {
        m_sum += number;
        m_squares += number * number;
    }
    m_numbers += static_cast<Index>(queries.size());
}

LikenessMeasures LikenessMeter::measures() const
{
    const auto mean = [](double sum, Index count) {
        return count > 0 ? sum / static_cast<double>(count) : 0;
    };
    const double average = mean(m_sum, m_numbers);
    const double variance = mean(m_squares, m_numbers) - average * average;
    return {mean(m_features, m_tokens), mean(m_queries, m_pairs),
            std::sqrt(std::max(0.0, variance))};
}

double cosine(std::span<const double> a, std::span<const double> b)
{
    const auto product = [](std::span<const double> x, std::span<const double> y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const double lengths = std::sqrt(product(a, a) * product(b, b));
    return lengths > 0 ? product(a, b) / lengths : 0;
}

} // namespace vergence::fvlm
