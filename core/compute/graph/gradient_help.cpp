#include "core/compute/graph/gradient_help.h"

#include "core/compute/ops/pointwise.h"

namespace vergence {

OverwrittenGradient::OverwrittenGradient(Graph& graph, Value input) : m_graph(graph)
{
    if (graph.needsGradient(input)) {
        const auto target = graph.gradientTarget(input);
        if (!target.accumulate) {
            m_tensor = target.tensor;
            return;
        }
        m_target = target.tensor;
    }
    m_tensor = graph.scratch(graph.shape(input), graph.tensor(input).dtype());
}

void OverwrittenGradient::finish()
{
    if (m_target.isEmpty())
        return;
    Tensor wide = m_tensor;
    if (m_target.dtype() != m_tensor.dtype()) {
        wide = m_graph.scratch(m_tensor.shape(), m_target.dtype());
        cast(m_graph.stream(), m_tensor, wide);
    }
    addScaled(m_graph.stream(), 1, m_target, 1, wide, m_target);
}

SummedGradient::SummedGradient(Graph& graph, Value input) : m_graph(graph), m_input(input)
{
    if (!graph.needsGradient(input))
        return;
    const DType own = graph.tensor(input).dtype();
    const auto target = graph.gradientTarget(input);
    if (target.tensor.dtype() == sumType(own)) {
        m_tensor = target.tensor;
    } else {
        m_rounded = target;
        m_tensor = graph.scratch(target.tensor.shape(), sumType(own));
    }
    if (!target.accumulate || !m_rounded.tensor.isEmpty())
        graph.stream().fillBytes(m_tensor.data(), 0, m_tensor.bytes());
}

void SummedGradient::finish()
{
    if (m_rounded.tensor.isEmpty())
        return;
    Tensor rounded = m_rounded.tensor;
    if (m_rounded.accumulate)
        rounded = m_graph.scratch(rounded.shape(), rounded.dtype());
    cast(m_graph.stream(), m_tensor, rounded);
    if (m_rounded.accumulate)
        addScaled(m_graph.stream(), 1, m_rounded.tensor, 1, rounded, m_rounded.tensor);
}

} // namespace vergence
