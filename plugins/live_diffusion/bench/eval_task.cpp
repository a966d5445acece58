#include "plugins/live_diffusion/bench/eval_task.h"

#include <cmath>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/rng.h"

namespace vergence::live {

namespace {

/// Uniform in [−1, 1): the bits count, not their meaning.
std::vector<float> randomPictures(std::size_t count, std::uint64_t seed)
{
    const Rng rng(seed);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = 2 * rng.uniform(i) - 1;
    return values;
}

} // namespace

EvalTask::EvalTask(std::shared_ptr<FrameNetwork> network, int rows, int calls, std::uint64_t seed)
    : m_network(std::move(network)),
      m_calls(calls)
{
    expects(rows >= 1 && rows <= m_network->maxRows() && calls >= 1,
            "EvalTask: rows that the network was prepared for, at least one call");
    const FrameShape& shape = m_network->shape();
    const auto values = static_cast<std::size_t>(shape.values());
    const auto cells = static_cast<std::size_t>(shape.cells());
    const auto count = static_cast<std::size_t>(rows);
    m_pictures = randomPictures(3 * values * count, seed);
    m_output.resize((values + cells) * count);
    const auto picture = [&](std::size_t i) {
        return std::span<const float>(m_pictures).subspan(i * values, values);
    };
    for (std::size_t row = 0; row < count; ++row)
        m_rows.push_back({picture(3 * row), picture(3 * row + 1), picture(3 * row + 2)});
}

MeasuredFrame EvalTask::frame()
{
    const auto values = static_cast<std::size_t>(m_network->shape().values()) * m_rows.size();
    const std::span<float> output(m_output);
    const EvalOutput answer{output.first(values), output.subspan(values)};
    MeasuredFrame frame;
    const double start = steadySeconds();
    for (int call = 0; call < m_calls; ++call) {
        m_network->evaluate({m_rows}, answer);
        frame.launch += m_network->cost().launchSeconds;
    }
    frame.device = frame.pipeline = steadySeconds() - start;
    frame.evaluations = m_calls * static_cast<int>(m_rows.size());
    return frame;
}

} // namespace vergence::live
