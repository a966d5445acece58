#include "core/compute/arena.h"

#include <algorithm>

namespace vergence {

namespace {
constexpr std::size_t kArenaAlignment = 256;
constexpr std::size_t kSmallestChunk = std::size_t{1} << 20;

std::size_t roundedUp(std::size_t bytes)
{
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}
} // namespace

Arena::Arena(std::shared_ptr<Device> device) : m_device(std::move(device))
{
    expects(m_device != nullptr, "Arena: no device");
}

void Arena::addChunk(std::size_t bytes)
{
    const std::size_t wanted = std::max(
        {bytes, kSmallestChunk, m_chunks.empty() ? 0 : 2 * m_chunks.back().memory.bytes()});
    m_chunks.push_back({Tensor::empty(m_device, {static_cast<Index>(wanted)}, DType::U8), 0});
    ++m_allocations;
}

Tensor Arena::take(Shape shape, DType type)
{
    const std::size_t bytes =
        roundedUp(static_cast<std::size_t>(elementCount(shape)) * sizeOf(type));
    while (m_current < m_chunks.size() &&
           m_chunks[m_current].used + bytes > m_chunks[m_current].memory.bytes()) {
        if (m_current + 1 == m_chunks.size())
            break;
        m_chunks[++m_current].used = 0;
    }
    if (m_chunks.empty() || m_chunks[m_current].used + bytes > m_chunks[m_current].memory.bytes()) {
        addChunk(bytes);
        m_current = m_chunks.size() - 1;
    }
    Chunk& chunk = m_chunks[m_current];
    void* data = static_cast<std::byte*>(chunk.memory.data()) + chunk.used;
    chunk.used += bytes;
    m_peak = std::max(m_peak, usedBytes());
    return Tensor::wrap(m_device, data, std::move(shape), type, chunk.memory.storage());
}

Arena::Mark Arena::mark() const
{
    return {m_current, m_chunks.empty() ? 0 : m_chunks[m_current].used};
}

void Arena::rewind(Mark mark)
{
    if (m_chunks.empty())
        return;
    for (std::size_t i = mark.chunk + 1; i < m_chunks.size(); ++i)
        m_chunks[i].used = 0;
    m_current = mark.chunk;
    m_chunks[m_current].used = mark.used;
}

void Arena::reset()
{
    if (m_chunks.size() > 1) {
        m_chunks.clear();
        addChunk(roundedUp(m_peak));
    }
    m_current = 0;
    if (!m_chunks.empty())
        m_chunks[0].used = 0;
}

std::size_t Arena::usedBytes() const
{
    std::size_t used = 0;
    for (std::size_t i = 0; i < m_chunks.size() && i <= m_current; ++i)
        used += m_chunks[i].used;
    return used;
}

} // namespace vergence
