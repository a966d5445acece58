#include "plugins/live_diffusion/stream/oracle_network.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::live {

namespace {

/// σ(30) is 1 in single precision: the new frame counts alone.
constexpr float kSure = 30;

} // namespace

OracleNetwork::OracleNetwork(const OracleSettings& settings, std::vector<float> pictures)
    : m_settings(settings),
      m_schedule(settings.curve, settings.zeroTerminalSnr),
      m_oracle(std::move(pictures), settings.shape.values())
{
    expects(m_oracle.count() >= 1, "oracle: at least one picture");
}

void OracleNetwork::evaluate(const EvalInput& input, const EvalOutput& output)
{
    const auto values = static_cast<std::size_t>(m_settings.shape.values());
    const auto cells = static_cast<std::size_t>(m_settings.shape.cells());
    const std::size_t rows = input.rows.size();
    expects(rows >= 1 && rows <= static_cast<std::size_t>(maxRows()) &&
                output.prediction.size() == rows * values &&
                output.blendLogits.size() == rows * cells,
            "oracle: rows as prepared for, and outputs of their size");
    for (std::size_t i = 0; i < rows; ++i) {
        const EvalRow& row = input.rows[i];
        m_oracle.predict(m_settings.prediction, row.x, m_schedule.alpha(row.timestep),
                         m_schedule.sigma(row.timestep),
                         output.prediction.subspan(i * values, values));
    }
    std::ranges::fill(output.blendLogits, kSure);
}

FrameCost OracleNetwork::cost() const
{
    FrameCost cost;
    cost.weightBytes = static_cast<std::size_t>(m_oracle.count() * m_oracle.size()) * sizeof(float);
    cost.flopPerRow = cost.workPerRow =
        5 * m_oracle.count() * m_oracle.size(); // distance 3, mean 2
    cost.threads = 1;
    return cost;
}

} // namespace vergence::live
