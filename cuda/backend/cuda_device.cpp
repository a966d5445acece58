#include "cuda/backend/cuda_device.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "core/base/log.h"
#include "cuda/backend/check.h"
#include "cuda/backend/cuda_dense.h"
#include "cuda/backend/cuda_stream.h"
#include "cuda/backend/device_blocks.h"
#include "cuda/backend/probe.h"
#include "cuda/backend/shared_slots.h"

namespace vergence {

namespace {

/// "GPU-1b3e…" or "MIG-1b3e…" as NVML and CUDA_VISIBLE_DEVICES spell it. Of an instance of a
/// divided GPU the runtime says so in the name alone.
std::string uuidText(const cudaUUID_t& uuid, std::string_view name)
{
    std::string text = name.find(" MIG ") == name.npos ? "GPU-" : "MIG-";
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

DeviceInfo describe(int index)
{
    cudaDeviceProp properties{};
    checkCuda(cudaGetDeviceProperties(&properties, index), "Reading the properties of a GPU");
    int driver = 0;
    checkCuda(cudaDriverGetVersion(&driver), "Asking for the driver version");
    DeviceInfo info;
    info.kind = DeviceKind::Cuda;
    info.index = index;
    info.name = properties.name;
    info.uuid = uuidText(properties.uuid, info.name);
    info.totalBytes = properties.totalGlobalMem;
    info.computeCapability = fmt::format("{}.{}", properties.major, properties.minor);
    info.driver = cudaVersionText(driver);
    return info;
}

} // namespace

std::string cudaVersionText(int version)
{
    return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

CudaDevice::CudaDevice(int index)
    : Device(describe(index)),
      m_pool(std::make_unique<DeviceBlocks>(index)),
      m_exported(index)
{
    int readsHost = 0;
    checkCuda(cudaDeviceGetAttribute(&readsHost, cudaDevAttrPageableMemoryAccess, index),
              "Reading the properties of a GPU");
    m_readsHostMemory = readsHost != 0;
}

CudaDevice::~CudaDevice() = default;

/// Not before: a process that lists the devices must not take memory of those that it leaves alone,
/// nor keep others from one that serves a single process.
void CudaDevice::open() const
{
    std::call_once(m_opened, [this] {
        const std::string refusal = probeDevice(m_info.index);
        if (refusal.empty())
            return;
        cudaGetLastError(); // nobody else is to be blamed for it
        throw DeviceError(refusal, ExitCode::NoDevice);
    });
}

DeviceMemory CudaDevice::memory() const
{
    open();
    const CurrentDevice current(m_info.index);
    DeviceMemory memory;
    checkCuda(cudaMemGetInfo(&memory.free, &memory.total), "Asking for the GPU's free memory");
    memory.usedByUs = m_pool.used();
    memory.peakUsedByUs = m_pool.peak();
    return memory;
}

DenseMath& CudaDevice::dense()
{
    open();
    const std::lock_guard lock(m_denseMutex);
    if (!m_dense) {
        const CurrentDevice current(m_info.index);
        m_dense = std::make_unique<CudaDenseMath>(*this);
    }
    return *m_dense;
}

void CudaDevice::forgetStream(void* stream) noexcept
{
    const std::lock_guard lock(m_denseMutex);
    if (m_dense)
        m_dense->forget(stream);
}

std::unique_ptr<Stream> CudaDevice::createStream()
{
    open();
    return std::make_unique<CudaStream>(*this);
}

std::unique_ptr<SharedSlots> CudaDevice::createSharedSlots(std::size_t slotBytes)
{
    open();
    try {
        return std::make_unique<CudaSharedSlots>(*this, m_exported, slotBytes);
    } catch (const DeviceError& error) { // a run must not fail for want of previews
        if (!m_saidWhyNotShared.exchange(true))
            log("cuda").warn("Pictures go through host memory: {}", error.what());
        return nullptr;
    }
}

} // namespace vergence
