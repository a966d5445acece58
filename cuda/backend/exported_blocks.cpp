#include "cuda/backend/exported_blocks.h"

#include <algorithm>
#include <utility>

#include "cuda/backend/check.h"

namespace vergence {

namespace {

constexpr std::size_t kAlignment = 512; ///< of slots
constexpr std::size_t kWorthKeeping = std::size_t{1}
                                      << 20; ///< smaller blocks suit any smaller wish

} // namespace

ExportedBlock::ExportedBlock(std::size_t slotBytes)
    : m_slotBytes((slotBytes + kAlignment - 1) / kAlignment * kAlignment)
{
    try {
        // Not from the pool: the whole allocation is opened by the other process.
        checkCuda(cudaMalloc(reinterpret_cast<void**>(&m_memory), kSlots * m_slotBytes),
                  "Allocating preview slots");
        checkCuda(cudaIpcGetMemHandle(&m_memoryHandle, m_memory), "Exporting preview slots");
        for (int i = 0; i < kSlots; ++i) {
            checkCuda(cudaEventCreateWithFlags(&m_events[i],
                                               cudaEventInterprocess | cudaEventDisableTiming),
                      "Creating a preview event");
            checkCuda(cudaIpcGetEventHandle(&m_eventHandles[i], m_events[i]),
                      "Exporting a preview event");
        }
    } catch (const DeviceError&) {
        free();
        throw;
    }
}

void ExportedBlock::free() noexcept
{
    for (cudaEvent_t event : m_events) {
        if (event)
            cudaEventDestroy(event);
    }
    if (m_memory)
        cudaFree(m_memory);
    cudaGetLastError();
}

int ExportedBlock::nextSlot()
{
    return std::exchange(m_next, (m_next + 1) % kSlots);
}

std::unique_ptr<ExportedBlock> ExportedBlocks::take(std::size_t slotBytes)
{
    {
        const std::lock_guard lock(m_mutex);
        const auto suits = [&](const auto& block) {
            return block->slotBytes() >= slotBytes &&
                   block->slotBytes() <= std::max(2 * slotBytes, kWorthKeeping);
        };
        const auto found = std::find_if(m_kept.begin(), m_kept.end(), suits);
        if (found != m_kept.end()) {
            std::unique_ptr<ExportedBlock> block = std::move(*found);
            m_kept.erase(found);
            return block;
        }
    }
    const CurrentDevice current(m_device);
    return std::make_unique<ExportedBlock>(std::max(slotBytes, kAlignment));
}

void ExportedBlocks::giveBack(std::unique_ptr<ExportedBlock> block)
{
    const std::lock_guard lock(m_mutex);
    m_kept.push_back(std::move(block));
}

} // namespace vergence
