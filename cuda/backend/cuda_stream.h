#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <cuda_runtime.h>

#include "core/compute/stream.h"
#include "cuda/backend/memory_pool.h"

namespace vergence {

class CudaDevice;

/// A CUDA stream. It makes its device current on whatever thread uses it, and does what that thread
/// gives it after what the thread gave to others (StreamOrder).
class CudaStream final : public Stream {
public:
    explicit CudaStream(CudaDevice& device);
    ~CudaStream() override;
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;

    void copy(void* target, const void* source, std::size_t bytes) override;
    void fillBytes(void* target, int value, std::size_t bytes) override;
    void synchronize() override;
    void parallelFor(Index n, Index grain, RangeBody body, const void* context) override;
    void* scratch(std::size_t bytes) override;
    void* native() const override;
    bool beginCapture() override;
    /// The graph that is being recorded, if one is, holds it as long as it lives.
    void keepForGraph(std::shared_ptr<const void> part);
    /// What the graph needs besides the tensors that it was recorded with stays reserved for it:
    /// temporaries returned meanwhile, host values copied to the device, scratch memory.
    std::unique_ptr<LaunchGraph> endCapture() override;

    /// Of all streams that ever were.
    std::uint64_t serial() const { return m_serial; }

private:
    friend class StreamOrder;
    void makeCurrent() const;
    void takeWork() const;
    void waitFor(const CudaStream& other) const;

    using HostCopy = std::unique_ptr<std::byte[]>;
    struct Scratch {
        void* memory = nullptr;
        std::size_t bytes = 0;
    };
    const void* keepForGraph(const void* source, std::size_t bytes);

    CudaDevice& m_device;
    cudaStream_t m_stream = nullptr;
    cudaEvent_t m_mark = nullptr; ///< in its work, for others that wait; before what is recorded
    std::uint64_t m_serial;
    MemoryPool::Thread m_recorder = 0;
    Scratch m_scratch;
    std::vector<Scratch> m_retired; ///< earlier scratch memory that recorded graphs still use
    std::vector<HostCopy> m_hostCopies;
    std::vector<std::shared_ptr<const void>> m_graphParts;
    bool m_isCapturing = false; ///< changes under the lock of the device's StreamOrder
    bool m_hasRecorded = false;
};

} // namespace vergence
