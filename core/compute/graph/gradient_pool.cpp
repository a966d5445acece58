// Where gradients lie: buffers that nodes share and hand back as the tape is walked.

#include "core/compute/graph/graph.h"
#include "core/compute/ops/pointwise.h"

namespace vergence {

namespace {
constexpr std::size_t kAlignment = 256;

std::size_t roundedUp(std::size_t bytes)
{
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
} // namespace

Tensor Graph::takeBuffer(const Shape& shape, DType type, int& buffer)
{
    const std::size_t bytes =
        roundedUp(static_cast<std::size_t>(elementCount(shape)) * sizeOf(type));
    // The one given back last is the one most likely still in a cache.
    if (const auto after = m_freeBuffers.upper_bound(bytes);
        after != m_freeBuffers.begin() && std::prev(after)->first == bytes) {
        buffer = std::prev(after)->second;
        m_freeBuffers.erase(std::prev(after));
    } else {
        buffer = static_cast<int>(m_buffers.size());
        m_buffers.push_back({m_arena.take({static_cast<Index>(bytes)}, DType::U8), 0});
    }
    Buffer& taken = m_buffers[static_cast<std::size_t>(buffer)];
    taken.users = 1;
    return Tensor::wrap(m_device, taken.memory.data(), shape, type, taken.memory.storage());
}

void Graph::release(int buffer)
{
    if (buffer < 0)
        return;
    Buffer& released = m_buffers[static_cast<std::size_t>(buffer)];
    if (--released.users == 0)
        m_freeBuffers.emplace(released.memory.bytes(), buffer);
}

void Graph::release(Node& node)
{
    if (node.isParameter)
        return;
    release(std::exchange(node.buffer, -1));
    node.gradient = {};
}

void Graph::releaseScratch(std::size_t first)
{
    while (m_scratch.size() > first) {
        release(m_scratch.back());
        m_scratch.pop_back();
    }
}

Tensor Graph::scratch(Shape shape, DType type)
{
    int buffer = -1;
    const Tensor tensor = takeBuffer(shape, type, buffer);
    m_scratch.push_back(buffer);
    return tensor;
}

Graph::GradientTarget Graph::gradientTarget(Value input)
{
    Node& target = node(input);
    expects(target.needsGradient, "gradientTarget: the input takes no gradient");
    if (target.isParameter)
        return {target.gradient, true};
    if (target.gradient.isEmpty()) {
        target.gradient = takeBuffer(target.value.shape(), target.value.dtype(), target.buffer);
        return {target.gradient, false};
    }
    if (m_buffers[static_cast<std::size_t>(target.buffer)].users > 1) {
        int own = -1;
        const Tensor copy = takeBuffer(target.value.shape(), target.value.dtype(), own);
        m_stream.copy(copy.data(), target.gradient.data(), copy.bytes());
        release(target.buffer);
        target.buffer = own;
        target.gradient = copy;
    }
    return {target.gradient, true};
}

Tensor Graph::addedGradient(Value input)
{
    const GradientTarget target = gradientTarget(input);
    if (!target.accumulate)
        m_stream.fillBytes(target.tensor.data(), 0, target.tensor.bytes());
    return target.tensor;
}

void Graph::passGradient(Value input, const Tensor& gradient)
{
    if (!needsGradient(input))
        return;
    Node& target = node(input);
    if (!target.gradient.isEmpty() || target.isParameter) {
        add(input, gradient);
        return;
    }
    target.gradient = gradient;
    target.buffer = m_activeBuffer;
    ++m_buffers[static_cast<std::size_t>(m_activeBuffer)].users;
}

/// To a gradient that is there already; 16-bit numbers are widened for parameters.
void Graph::add(Value input, const Tensor& gradient)
{
    const Tensor target = gradientTarget(input).tensor;
    if (target.dtype() == gradient.dtype()) {
        addScaled(m_stream, 1, target, 1, gradient, target);
        return;
    }
    const Tensor wide = scratch(target.shape(), target.dtype());
    cast(m_stream, gradient, wide);
    addScaled(m_stream, 1, target, 1, wide, target);
}

} // namespace vergence
