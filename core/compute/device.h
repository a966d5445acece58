#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vergence {

class DenseMath;
class Stream;

enum class DeviceKind { Cpu, Cuda };

/// What a user sees of a device.
struct DeviceInfo {
    DeviceKind kind = DeviceKind::Cpu;
    int index = 0;                 ///< among devices of its kind
    std::string name;              ///< "AMD EPYC 7B13 (2 threads)", "NVIDIA H200"
    std::string uuid;              ///< "cpu" or "GPU-…" as NVML and CUDA_VISIBLE_DEVICES spell it
    std::size_t totalBytes = 0;    ///< memory
    std::string computeCapability; ///< "9.0" for CUDA devices
    std::string driver;            ///< driver version for CUDA devices
};

/// Memory of one device in bytes.
struct DeviceMemory {
    std::size_t total = 0;
    std::size_t free = 0;
    std::size_t usedByUs = 0; ///< handed out by allocate() and not returned
    std::size_t peakUsedByUs = 0;
};

/// Where a frame lies in device memory that another process may open. The bytes are opaque to all
/// but the device's module.
struct SharedPixels {
    std::string deviceUuid;
    std::array<std::byte, 64> memoryHandle{}; ///< allocation that holds the slots
    std::array<std::byte, 64> eventHandle{};  ///< signalled when the slot has been written
    std::uint64_t offset = 0;                 ///< of the slot in the allocation, bytes
};

/// Three slots of device memory that a viewer in another process reads without a copy through the
/// host.
class SharedSlots {
public:
    virtual ~SharedSlots();
    virtual std::size_t slotBytes() const = 0;
    /// Queues a copy of `bytes` of device memory into the next slot and returns where a reader
    /// finds it.
    virtual SharedPixels write(Stream& stream, const void* pixels, std::size_t bytes) = 0;
};

/// One processor: memory and streams. The CPU device always exists and is first in every list.
/// Thread-safe; owns no stream it created.
class Device {
public:
    virtual ~Device();

    const DeviceInfo& info() const { return m_info; }
    bool isCpu() const { return m_info.kind == DeviceKind::Cpu; }

    /// Memory aligned to 256 bytes. Throws DeviceError with exit code 5 that names wanted and free
    /// bytes.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void deallocate(void* pointer, std::size_t bytes) noexcept = 0;
    virtual DeviceMemory memory() const = 0;
    virtual std::unique_ptr<Stream> createStream() = 0;

    /// Slots for previews by interop; null where the device cannot share memory (CPU).
    virtual std::unique_ptr<SharedSlots> createSharedSlots(std::size_t slotBytes);

    /// Matrix products and convolutions. Lives as long as the device. Throws ContractError where a
    /// device has none.
    virtual DenseMath& dense();

    /// Which body of a Kernel runs here, see core/compute/kernel.h.
    virtual int kernelVariant() const = 0;

protected:
    explicit Device(DeviceInfo info) : m_info(std::move(info)) {}
    DeviceInfo m_info;
};

/// The CPU of this computer. `threads` = 0 takes what the process may use. Kernels give the same
/// bits for every count; products may differ in the last ones (core/compute/dense.h).
std::shared_ptr<Device> makeCpuDevice(int threads = 0);

} // namespace vergence
