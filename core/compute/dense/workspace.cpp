#include "core/compute/dense/workspace.h"

#include <algorithm>
#include <bit>

namespace vergence {

Workspace::~Workspace()
{
    for (const auto& [bytes, block] : m_free)
        m_device.deallocate(block, bytes);
}

std::shared_ptr<void> Workspace::take(std::size_t bytes)
{
    // Eighths of a power of two: few sizes, little waste.
    const std::size_t step = std::max<std::size_t>(4096, std::bit_ceil(bytes) / 8);
    std::size_t size = std::max<std::size_t>(1, (bytes + step - 1) / step) * step;
    void* block = nullptr;
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_free.lower_bound(size);
        if (found != m_free.end() && found->first <= 2 * size) {
            size = found->first;
            block = found->second;
            m_free.erase(found);
        }
    }
    if (!block)
        block = m_device.allocate(size);
    return {block, [this, size](void* pointer) { giveBack(pointer, size); }};
}

void Workspace::giveBack(void* block, std::size_t bytes)
{
    const std::lock_guard lock(m_mutex);
    m_free.emplace(bytes, block);
}

} // namespace vergence
