#include "cuda/backend/device_blocks.h"

#include <fmt/format.h>

#include "cuda/backend/check.h"

namespace vergence {

namespace {

/// Allocating is harmless to a launch graph that this thread records, but must be said to be meant.
class AllowWhileRecording {
public:
    AllowWhileRecording() { cudaThreadExchangeStreamCaptureMode(&m_mode); }
    ~AllowWhileRecording() { cudaThreadExchangeStreamCaptureMode(&m_mode); }
    AllowWhileRecording(const AllowWhileRecording&) = delete;
    AllowWhileRecording& operator=(const AllowWhileRecording&) = delete;

private:
    cudaStreamCaptureMode m_mode = cudaStreamCaptureModeRelaxed;
};

} // namespace

void* DeviceBlocks::take(std::size_t bytes)
{
    const CurrentDevice current(m_device);
    const AllowWhileRecording allowed;
    void* block = nullptr;
    const cudaError_t error = cudaMalloc(&block, bytes);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return nullptr;
    }
    checkCuda(error, "Allocating GPU memory"); // an earlier fault of the device shows up here too
    return block;
}

void DeviceBlocks::giveBack(void* block) noexcept
{
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(m_device);
    cudaFree(block);
    cudaSetDevice(before);
    cudaGetLastError(); // at the end of the process the driver may be gone already
}

void DeviceBlocks::settle()
{
    const CurrentDevice current(m_device);
    checkCuda(cudaDeviceSynchronize(), "Waiting for the GPU");
}

std::string DeviceBlocks::room() const
{
    std::size_t free = 0, total = 0;
    const CurrentDevice current(m_device);
    cudaMemGetInfo(&free, &total);
    cudaGetLastError();
    constexpr double kGiB = 1 << 30;
    return fmt::format("{:.1f} of {:.1f} GiB are free", static_cast<double>(free) / kGiB,
                       static_cast<double>(total) / kGiB);
}

} // namespace vergence
