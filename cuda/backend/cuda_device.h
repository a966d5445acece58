#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "core/compute/dense.h"
#include "core/compute/device.h"
#include "core/compute/kernel.h"
#include "cuda/backend/exported_blocks.h"
#include "cuda/backend/memory_pool.h"
#include "cuda/backend/stream_order.h"

namespace vergence {

class CudaDenseMath;

/// "CUDA 13.0" for 13000.
std::string cudaVersionText(int version);

/// One NVIDIA GPU. `index` is CUDA's, after CUDA_VISIBLE_DEVICES. Has a context on it from its
/// first use on, which throws DeviceError (exit code 7) where the GPU runs no kernel.
class CudaDevice final : public Device {
public:
    explicit CudaDevice(int index);
    ~CudaDevice() override;

    void* allocate(std::size_t bytes) override
    {
        open();
        return m_pool.allocate(bytes);
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept override
    {
        m_pool.deallocate(pointer, bytes);
    }
    DeviceMemory memory() const override;
    std::unique_ptr<Stream> createStream() override;
    std::unique_ptr<SharedSlots> createSharedSlots(std::size_t slotBytes) override;
    DenseMath& dense() override;
    int kernelVariant() const override { return kVariantCuda; }

    MemoryPool& pool() { return m_pool; }
    StreamOrder& order() { return m_order; }
    /// What was kept for a stream of CUDA that ends returns to the pool; all its work is done.
    void forgetStream(void* stream) noexcept;
    /// The device reads pageable host memory by itself, see isReadLater().
    bool readsHostMemory() const { return m_readsHostMemory; }

private:
    void open() const;

    mutable std::once_flag m_opened;
    MemoryPool m_pool;
    StreamOrder m_order;
    ExportedBlocks m_exported;
    bool m_readsHostMemory = false;
    std::atomic<bool> m_saidWhyNotShared{false};
    std::mutex m_denseMutex;
    std::unique_ptr<CudaDenseMath> m_dense; ///< made when first asked for; returns its memory first
};

} // namespace vergence
