#pragma once

#include <memory>

#include "core/compute/device.h"
#include "cuda/backend/exported_blocks.h"

namespace vergence {

/// Slots exported through CUDA IPC, written in turn.
class CudaSharedSlots final : public SharedSlots {
public:
    /// Throws DeviceError where the device exports no memory, or has none left.
    CudaSharedSlots(Device& device, ExportedBlocks& blocks, std::size_t slotBytes);
    ~CudaSharedSlots() override;
    CudaSharedSlots(const CudaSharedSlots&) = delete;
    CudaSharedSlots& operator=(const CudaSharedSlots&) = delete;

    std::size_t slotBytes() const override { return m_block->slotBytes(); }
    SharedPixels write(Stream& stream, const void* pixels, std::size_t bytes) override;

private:
    Device& m_device;
    ExportedBlocks& m_blocks;
    std::unique_ptr<ExportedBlock> m_block;
};

} // namespace vergence
