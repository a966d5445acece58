#include "tests/support/heat/heat_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/image.h"
#include "tests/support/heat/compute/jacobi.h"

namespace vergence::heat {

void HeatRun::prepare(RunContext& context)
{
    context.phase(1, 1, "heating the edge");
    std::vector<float> plate(static_cast<std::size_t>(m_config.size) * m_config.size,
                             static_cast<float>(m_config.cold));
    std::fill_n(plate.begin(), m_config.size, static_cast<float>(m_config.hot));
    m_current = Tensor::fromHost<float>(context.stream(), context.device(),
                                        {m_config.size, m_config.size}, plate);
    m_next = m_current.clone(context.stream());
}

StepOutcome HeatRun::step(RunContext& context)
{
    jacobi(context.stream(), m_current, m_next);
    std::swap(m_current, m_next);
    if (context.metricsDue()) {
        const auto now = m_current.toHost<float>(context.stream());
        const auto before = m_next.toHost<float>(context.stream());
        double residual = 0;
        for (std::size_t i = 0; i < now.size(); ++i)
            residual = std::max(residual, static_cast<double>(std::fabs(now[i] - before[i])));
        context.record("heat/residual", residual);
    }
    return context.step() + 1 < m_config.sweeps ? StepOutcome::Continue : StepOutcome::Done;
}

void HeatRun::save(RunContext& context, Checkpoint& checkpoint)
{
    const auto values = m_current.toHost<float>(context.stream());
    checkpoint.tensors.push_back(HostTensor::from<float>("plate", m_current.shape(), values));
}

void HeatRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    const HostTensor& plate = checkpoint.tensor("plate");
    m_current =
        Tensor::fromHost<float>(context.stream(), context.device(), plate.shape, plate.as<float>());
    m_next = m_current.clone(context.stream());
}

void HeatRun::finish(RunContext& context)
{
    const auto plate = m_current.toHost<float>(context.stream());
    for (int frame = 1; frame <= 3; ++frame) {
        std::vector<float> dimmed(plate);
        for (float& value : dimmed)
            value *= static_cast<float>(frame) / 3.0f;
        context.artifacts().writePng(fmt::format("plate/fade_{}.png", frame),
                                     imageFromLinear(dimmed, m_config.size, m_config.size, 1),
                                     "temperature", "Plate");
    }
}

} // namespace vergence::heat
