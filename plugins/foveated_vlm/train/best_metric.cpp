#include "plugins/foveated_vlm/train/best_metric.h"

#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence::fvlm {

BestMetric::BestMetric(Index window) : m_window(window)
{
    expects(window > 0, "BestMetric: a window holds at least one loss");
}

bool BestMetric::add(double loss)
{
    if (!std::isfinite(loss) || (m_hasBest && loss >= m_best))
        return false;
    m_hasBest = true;
    m_best = loss;
    return true;
}

bool BestMetric::addValidation(double loss)
{
    if (!std::isfinite(loss)) // nothing was counted
        return false;
    if (!m_isValidation)
        m_hasBest = false;
    m_isValidation = true;
    m_recent.clear();
    return add(loss);
}

bool BestMetric::addTraining(double loss)
{
    if (m_isValidation)
        return false;
    m_recent.push_back(loss);
    if (static_cast<Index>(m_recent.size()) > m_window)
        m_recent.pop_front();
    if (static_cast<Index>(m_recent.size()) < m_window)
        return false;
    return add(std::accumulate(m_recent.begin(), m_recent.end(), 0.0) /
               static_cast<double>(m_window));
}

nlohmann::json BestMetric::state() const
{
    return {{"recent", m_recent},
            {"best", m_best},
            {"has_best", m_hasBest},
            {"is_validation", m_isValidation}};
}

void BestMetric::restore(const nlohmann::json& state)
{
    try {
        m_recent = state.at("recent").get<std::deque<double>>();
        m_best = state.at("best").get<double>();
        m_hasBest = state.at("has_best").get<bool>();
        m_isValidation = state.at("is_validation").get<bool>();
    } catch (const nlohmann::json::exception& error) {
        throw InputError(std::string("The saved record of the best loss is damaged: ") +
                         error.what());
    }
}

} // namespace vergence::fvlm
