#include "core/compute/graph/graph.h"

#include <array>

#include <fmt/format.h>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/structure.h"

namespace vergence {

Graph::Graph(Stream& stream, std::shared_ptr<Device> device, Options options)
    : m_stream(stream),
      m_device(std::move(device)),
      m_options(options),
      m_arena(m_device),
      m_segmentArena(m_device)
{
    expects(&stream.device() == m_device.get(), "Graph: the stream belongs to another device");
    m_seedAndStep = Tensor::zeros(stream, m_device, {2}, DType::I64);
}

void Graph::reset()
{
    m_parameterNodes.clear();
    m_nodes.clear();
    m_buffers.clear();
    m_freeBuffers.clear();
    m_scratch.clear();
    m_activeBuffer = -1;
    m_inSegment = false;
    m_keepsTape = true;
    m_purpose = 0;
    m_segmentArena.reset();
    m_arena.reset();
}

void Graph::askStop() const
{
    if (m_isStopped && m_isStopped())
        throw GraphStopped();
}

Graph::Node& Graph::node(Value value)
{
    expects(value.id >= 0 && value.id < static_cast<int>(m_nodes.size()),
            "Graph: the value does not belong to this tape (any more)");
    return m_nodes[static_cast<std::size_t>(value.id)];
}

const Graph::Node& Graph::node(Value value) const
{
    return const_cast<Graph*>(this)->node(value);
}

Value Graph::push(Node node)
{
    m_nodes.push_back(std::move(node));
    return {static_cast<int>(m_nodes.size()) - 1};
}

Value Graph::constant(Tensor tensor)
{
    Node node;
    node.value = std::move(tensor);
    return push(std::move(node));
}

Value Graph::variable(Tensor tensor)
{
    Node node;
    node.value = std::move(tensor);
    node.needsGradient = m_options.recordsGradients;
    return push(std::move(node));
}

Value Graph::parameter(const ParameterSet& set, int index)
{
    const Shape& shape = set[index].shape;
    return parameterRows(set, index, 0, shape.empty() ? 1 : shape[0]);
}

Value Graph::parameterRows(const ParameterSet& set, int index, Index first, Index count)
{
    const auto [place, isNew] = m_parameterNodes.try_emplace({&set, index, first, count}, -1);
    if (!isNew)
        return {place->second};
    const Parameter& parameter = set[index];
    const bool isWhole = parameter.shape.empty() || count == parameter.shape[0];
    const auto rows = [&](const Tensor& tensor) {
        return isWhole ? tensor : tensor.narrow(0, first, count);
    };
    Node node;
    node.value = rows(parameter.computed());
    node.isParameter = true;
    node.needsGradient = m_options.recordsGradients && !parameter.gradient.isEmpty();
    if (node.needsGradient)
        node.gradient = rows(parameter.gradient);
    const Value value = push(std::move(node));
    place->second = value.id;
    return value;
}

const Tensor& Graph::tensor(Value value) const
{
    return node(value).value;
}

bool Graph::needsGradient(Value value) const
{
    return value && node(value).needsGradient;
}

Tensor Graph::gradient(Value value) const
{
    return node(value).gradient;
}

void Graph::retainGradient(Value value)
{
    expects(!m_inSegment, "retainGradient: gradients within a segment are not kept");
    node(value).retains = true;
}

const Tensor& Graph::dense(Value value)
{
    Node& wanted = node(value);
    if (wanted.value.isContiguous())
        return wanted.value;
    if (wanted.denseCopy.isEmpty()) {
        // A value from outside a segment outlives the segment's arena.
        const bool isOfSegment =
            m_inSegment && static_cast<std::size_t>(value.id) >= m_segmentStart;
        wanted.denseCopy =
            contiguous(m_stream, isOfSegment ? m_segmentArena : m_arena, wanted.value);
    }
    return wanted.denseCopy;
}

bool Graph::records(std::initializer_list<Value> inputs) const
{
    for (const Value input : inputs) {
        if (m_keepsTape && needsGradient(input))
            return true;
    }
    return false;
}

Value Graph::record(Tensor y, std::initializer_list<Value> inputs, Backward backward)
{
    return record(std::move(y), std::vector<Value>(inputs), std::move(backward));
}

Value Graph::record(Tensor y, const std::vector<Value>& inputs, Backward backward)
{
    askStop();
    Node node;
    node.value = std::move(y);
    for (const Value input : inputs)
        node.needsGradient = node.needsGradient || needsGradient(input);
    if (node.needsGradient && m_keepsTape)
        node.backward = std::move(backward);
    return push(std::move(node));
}

void Graph::backward(Value loss, double scale)
{
    expects(m_options.recordsGradients, "backward: this tape records no gradients");
    Node& last = node(loss);
    expects(last.value.size() == 1, fmt::format("backward: the loss has the shape {}, not one "
                                                "element",
                                                toString(last.value.shape())));
    expects(last.needsGradient, "backward: the loss depends on nothing that takes a gradient");
    last.gradient = takeBuffer(last.value.shape(), last.value.dtype(), last.buffer);
    fill(m_stream, last.gradient, scale);
    walk(0);
}

void Graph::walk(std::size_t first)
{
    for (std::size_t i = m_nodes.size(); i-- > first;) {
        Node& current = m_nodes[i];
        if (!current.backward)
            continue;
        const Backward backward = std::exchange(current.backward, nullptr);
        if (current.gradient.isEmpty())
            continue;
        const int outer = std::exchange(m_activeBuffer, current.buffer);
        const std::size_t scratch = m_scratch.size();
        backward(*this, current.gradient);
        askStop();
        releaseScratch(scratch);
        m_activeBuffer = outer;
        if (!current.retains)
            release(current);
    }
}

RandomKey Graph::nextRandomKey()
{
    return {&m_seedAndStep, m_purpose++};
}

void Graph::setRandom(std::uint64_t seed, std::uint64_t step)
{
    const std::array<std::uint64_t, 2> values{seed, step};
    m_stream.copy(m_seedAndStep.data(), values.data(), sizeof(values));
}

} // namespace vergence
