#include "plugins/foveated_vlm/train/best_metric.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence::fvlm {

bool BestMetric::add(double loss)
{
    if (!std::isfinite(loss) || (m_hasBest && loss >= m_best))
        return false;
    m_hasBest = true;
    m_best = loss;
    return true;
}

nlohmann::json BestMetric::state() const
{
    return {{"best", m_best}, {"has_best", m_hasBest}};
}

void BestMetric::restore(const nlohmann::json& state)
{
    try {
        m_best = state.at("best").get<double>();
        // Earlier versions also kept the best of training losses.
        m_hasBest = state.at("has_best").get<bool>() && state.value("is_validation", true);
    } catch (const nlohmann::json::exception& error) {
        throw InputError(std::string("The saved record of the best loss is damaged: ") +
                         error.what());
    }
}

} // namespace vergence::fvlm
