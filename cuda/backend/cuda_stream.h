#pragma once

#include <memory>

#include <cuda_runtime.h>

#include "core/compute/stream.h"

namespace vergence {

/// A CUDA stream. The device is current on the thread that uses it.
class CudaStream final : public Stream {
public:
    explicit CudaStream(Device& device);
    ~CudaStream() override;
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;

    void copy(void* target, const void* source, std::size_t bytes) override;
    void fillBytes(void* target, int value, std::size_t bytes) override;
    void synchronize() override;
    void parallelFor(Index n, Index grain, RangeBody body, const void* context) override;
    void* scratch(std::size_t bytes) override;
    void* native() const override { return m_stream; }
    bool beginCapture() override;
    std::unique_ptr<LaunchGraph> endCapture() override;

private:
    cudaStream_t m_stream = nullptr;
    void* m_scratch = nullptr;
    std::size_t m_scratchBytes = 0;
    bool m_capturing = false;
};

} // namespace vergence
