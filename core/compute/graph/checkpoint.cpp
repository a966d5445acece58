// Segments of the tape that are run twice instead of being kept.

#include "core/compute/graph/graph.h"
#include "core/compute/ops/structure.h"

namespace vergence {

/// While it lives, temporaries lie in the segment's arena; afterwards the nodes made meanwhile are
/// gone and the arena is empty.
class Graph::SegmentScope {
public:
    SegmentScope(Graph& graph, bool keepsTape)
        : m_graph(graph),
          m_firstNode(graph.m_nodes.size()),
          m_kept(graph.m_keepsTape)
    {
        m_graph.m_inSegment = true;
        m_graph.m_segmentStart = m_firstNode;
        m_graph.m_keepsTape = keepsTape;
    }
    ~SegmentScope()
    {
        m_graph.dropNodes(m_firstNode);
        m_graph.m_segmentArena.reset();
        m_graph.m_inSegment = false;
        m_graph.m_keepsTape = m_kept;
    }
    SegmentScope(const SegmentScope&) = delete;
    SegmentScope& operator=(const SegmentScope&) = delete;

    std::size_t firstNode() const { return m_firstNode; }

private:
    Graph& m_graph;
    std::size_t m_firstNode;
    bool m_kept;
};

void Graph::dropNodes(std::size_t first)
{
    std::erase_if(m_parameterNodes, [first](const auto& entry) {
        return static_cast<std::size_t>(entry.second) >= first;
    });
    for (std::size_t i = first; i < m_nodes.size(); ++i)
        release(m_nodes[i]);
    m_nodes.resize(first);
}

Value Graph::checkpoint(const std::vector<Value>& inputs, const Segment& segment)
{
    expects(!m_inSegment, "checkpoint: a segment within a segment");
    const std::uint32_t purpose = m_purpose;
    Node result;
    {
        const SegmentScope scope(*this, false);
        const Value y = segment(*this, inputs);
        const Tensor& value = tensor(y);
        result.value = m_arena.take(value.shape(), value.dtype());
        copyStrided(m_stream, value, result.value);
        result.needsGradient = needsGradient(y);
    }
    if (result.needsGradient) {
        result.backward = [inputs, segment, purpose](Graph& graph, const Tensor& gradY) {
            graph.recompute(inputs, segment, purpose, gradY);
        };
    }
    return push(std::move(result));
}

void Graph::recompute(const std::vector<Value>& inputs, const Segment& segment,
                      std::uint32_t purpose, const Tensor& gradY)
{
    const std::uint32_t outer = std::exchange(m_purpose, purpose);
    {
        const SegmentScope scope(*this, true);
        std::vector<Value> leaves;
        for (const Value input : inputs) {
            Node leaf;
            leaf.value = tensor(input);
            leaf.needsGradient = needsGradient(input);
            leaves.push_back(push(std::move(leaf)));
        }
        passGradient(segment(*this, leaves), gradY);
        walk(scope.firstNode());
        for (std::size_t i = 0; i < inputs.size(); ++i)
            moveGradient(node(leaves[i]), inputs[i]);
    }
    m_purpose = outer;
}

void Graph::moveGradient(Node& from, Value to)
{
    if (from.gradient.isEmpty())
        return;
    Node& target = node(to);
    if (target.isParameter || !target.gradient.isEmpty()) {
        add(to, from.gradient);
        release(from);
        return;
    }
    target.gradient = std::exchange(from.gradient, {});
    target.buffer = std::exchange(from.buffer, -1);
}

} // namespace vergence
