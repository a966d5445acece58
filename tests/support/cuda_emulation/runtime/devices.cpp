#include <algorithm>
#include <array>
#include <cstring>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/shared_memory.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/engine/visible_devices.h"
#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/copies.h"

namespace vergence::emulation {

namespace {

constexpr int kMultiprocessors = 2, kThreadsPerBlock = 1024, kWarp = 32;
constexpr std::array kMostThreads = {1024, 1024, 64}, kMostBlocks = {0x7fffffff, 65535, 65535};
constexpr int kSharedPerBlock = 48 * 1024, kSharedReserved = 1024;

bool isDevice(int device)
{
    return device >= 0 && device < deviceCount();
}

cudaDeviceProp propertiesOf(int device)
{
    const int capability = settings().capability;
    cudaDeviceProp properties{};
    std::strcpy(properties.name, settings().isMig ? "Emulated GPU MIG 1g.10gb" : "Emulated GPU");
    const Uuid uuid = uuidOf(visibleDevices().at(static_cast<std::size_t>(device)));
    std::memcpy(properties.uuid.bytes, uuid.data(), uuid.size());
    properties.totalGlobalMem = settings().bytesPerDevice;
    properties.major = capability / 10;
    properties.minor = capability % 10;
    properties.multiProcessorCount = kMultiprocessors;
    properties.warpSize = kWarp;
    properties.maxThreadsPerBlock = kThreadsPerBlock;
    std::copy(kMostThreads.begin(), kMostThreads.end(), properties.maxThreadsDim);
    std::copy(kMostBlocks.begin(), kMostBlocks.end(), properties.maxGridSize);
    properties.sharedMemPerBlock = kSharedPerBlock;
    properties.reservedSharedMemPerBlock = kSharedReserved;
    properties.sharedMemPerBlockOptin = sharedBytesLimit();
    properties.sharedMemPerMultiprocessor = properties.sharedMemPerBlockOptin + kSharedReserved;
    properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
    properties.pciBusID = device + 1;
    properties.asyncEngineCount = 2;
    properties.unifiedAddressing = properties.canMapHostMemory = properties.concurrentKernels = 1;
    properties.hostRegisterSupported = properties.ipcEventSupported = 1;
    properties.canUseHostPointerForRegisteredMem = 1;
    properties.pageableMemoryAccess = readsPageableMemory() ? 1 : 0;
    return properties;
}

int attributeOf(const cudaDeviceProp& properties, cudaDeviceAttr attribute)
{
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        return properties.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ:
        return properties.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
        return properties.maxGridSize[attribute - cudaDevAttrMaxGridDimX];
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return static_cast<int>(properties.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return static_cast<int>(properties.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return static_cast<int>(properties.sharedMemPerMultiprocessor);
    case cudaDevAttrWarpSize:
        return properties.warpSize;
    case cudaDevAttrMultiProcessorCount:
        return properties.multiProcessorCount;
    case cudaDevAttrComputeCapabilityMajor:
        return properties.major;
    case cudaDevAttrComputeCapabilityMinor:
        return properties.minor;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrIpcEventSupport:
        return 1;
    case cudaDevAttrPageableMemoryAccess:
        return properties.pageableMemoryAccess;
    default: // what the emulated device does not have
        return 0;
    }
}

int driverVersion()
{
    return settings().driver.value_or(CUDART_VERSION);
}

/// Answered without a device, too.
cudaError_t versionInto(int* version, int value, const char* function)
{
    if (const auto failure = injectedFailure(function))
        return ended(static_cast<cudaError_t>(*failure));
    if (!version)
        return ended(cudaErrorInvalidValue);
    *version = value;
    return cudaSuccess;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count)
{
    return question("cudaGetDeviceCount", [&]() -> cudaError_t {
        if (!count)
            return cudaErrorInvalidValue;
        if (driverVersion() / 1000 < CUDART_VERSION / 1000)
            return cudaErrorInsufficientDriver;
        *count = deviceCount();
        return cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device)
{
    return question("cudaSetDevice", [&]() -> cudaError_t {
        if (!isDevice(device))
            return cudaErrorInvalidDevice;
        setCurrentDevice(device);
        openContext(device); // since CUDA 12
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int* device)
{
    return question("cudaGetDevice", [&]() -> cudaError_t {
        if (!device)
            return cudaErrorInvalidValue;
        *device = currentDevice();
        return cudaSuccess;
    });
}

cudaError_t cudaDriverGetVersion(int* version)
{
    return versionInto(version, driverVersion(), "cudaDriverGetVersion");
}

cudaError_t cudaRuntimeGetVersion(int* version)
{
    return versionInto(version, CUDART_VERSION, "cudaRuntimeGetVersion");
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
{
    return question("cudaGetDeviceProperties", [&]() -> cudaError_t {
        if (!properties)
            return cudaErrorInvalidValue;
        if (!isDevice(device))
            return cudaErrorInvalidDevice;
        *properties = propertiesOf(device);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
{
    return question("cudaDeviceGetAttribute", [&]() -> cudaError_t {
        if (!value || attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax)
            return cudaErrorInvalidValue;
        if (!isDevice(device))
            return cudaErrorInvalidDevice;
        *value = attributeOf(propertiesOf(device), attribute);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize()
{
    return unsafeCall("cudaDeviceSynchronize", []() -> cudaError_t {
        finishDevice(currentDevice());
        return cudaSuccess;
    });
}

} // extern "C"
