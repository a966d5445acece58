#pragma once

#include <memory>

#include "core/compute/device.h"
#include "core/compute/kernel.h"
#include "cuda/backend/memory_pool.h"

namespace vergence {

/// One NVIDIA GPU. `index` is CUDA's, after CUDA_VISIBLE_DEVICES.
class CudaDevice final : public Device {
public:
    explicit CudaDevice(int index);

    void* allocate(std::size_t bytes) override { return m_pool.allocate(bytes); }
    void deallocate(void* pointer, std::size_t bytes) noexcept override
    {
        m_pool.deallocate(pointer, bytes);
    }
    DeviceMemory memory() const override;
    std::unique_ptr<Stream> createStream() override;
    std::unique_ptr<SharedSlots> createSharedSlots(std::size_t slotBytes) override;
    int kernelVariant() const override { return kVariantCuda; }

private:
    MemoryPool m_pool;
};

} // namespace vergence
