#include "core/metrics/nvml.h"

#include <array>
#include <limits>

#include <dlfcn.h>

namespace vergence::detail {

namespace {

// Declarations of the few functions in use, after the NVML API Reference (version 12); the
// library's binary interface is stable.
using Result = int;
using DeviceHandle = void*;
constexpr Result kSuccess = 0;
constexpr Result kInsufficientSize = 7;
constexpr unsigned kTemperatureGpu = 0;
constexpr unsigned kClockSm = 1;
constexpr unsigned long long kNotAvailable = std::numeric_limits<unsigned long long>::max();

struct Memory {
    unsigned long long total, free, used; // bytes
};
struct Utilization {
    unsigned gpu, memory; // percent
};
struct ProcessInfo {
    unsigned pid;
    unsigned long long usedGpuMemory; // bytes
    unsigned gpuInstanceId, computeInstanceId;
};

template <class Function>
void load(void* library, const char* name, Function*& function)
{
    function = reinterpret_cast<Function*>(dlsym(library, name));
}

} // namespace

struct Nvml::Functions {
    Result (*initialise)() = nullptr;
    Result (*shutdown)() = nullptr;
    Result (*driverVersion)(char*, unsigned) = nullptr;
    Result (*deviceCount)(unsigned*) = nullptr;
    Result (*deviceByIndex)(unsigned, DeviceHandle*) = nullptr;
    Result (*name)(DeviceHandle, char*, unsigned) = nullptr;
    Result (*uuid)(DeviceHandle, char*, unsigned) = nullptr;
    Result (*memory)(DeviceHandle, Memory*) = nullptr;
    Result (*utilization)(DeviceHandle, Utilization*) = nullptr;
    Result (*temperature)(DeviceHandle, unsigned, unsigned*) = nullptr;
    Result (*powerUsage)(DeviceHandle, unsigned*) = nullptr;
    Result (*clock)(DeviceHandle, unsigned, unsigned*) = nullptr;
    Result (*processes)(DeviceHandle, unsigned*, ProcessInfo*) = nullptr;
    Result (*mostInstances)(DeviceHandle, unsigned*) = nullptr;
    Result (*instanceByIndex)(DeviceHandle, unsigned, DeviceHandle*) = nullptr;

    explicit Functions(void* library)
    {
        load(library, "nvmlInit_v2", initialise);
        load(library, "nvmlShutdown", shutdown);
        load(library, "nvmlSystemGetDriverVersion", driverVersion);
        load(library, "nvmlDeviceGetCount_v2", deviceCount);
        load(library, "nvmlDeviceGetHandleByIndex_v2", deviceByIndex);
        load(library, "nvmlDeviceGetName", name);
        load(library, "nvmlDeviceGetUUID", uuid);
        load(library, "nvmlDeviceGetMemoryInfo", memory);
        load(library, "nvmlDeviceGetUtilizationRates", utilization);
        load(library, "nvmlDeviceGetTemperature", temperature);
        load(library, "nvmlDeviceGetPowerUsage", powerUsage);
        load(library, "nvmlDeviceGetClockInfo", clock);
        load(library, "nvmlDeviceGetComputeRunningProcesses_v3", processes);
        load(library, "nvmlDeviceGetMaxMigDeviceCount", mostInstances);
        load(library, "nvmlDeviceGetMigDeviceHandleByIndex", instanceByIndex);
    }

    bool isUsable() const { return initialise && shutdown && deviceCount && deviceByIndex; }

    std::string text(Result (*function)(DeviceHandle, char*, unsigned), DeviceHandle device) const
    {
        std::array<char, 96> buffer{};
        const bool isRead = function && function(device, buffer.data(), buffer.size()) == kSuccess;
        return isRead ? buffer.data() : "";
    }

    std::optional<std::uint64_t> memoryOf(int pid, DeviceHandle device) const
    {
        if (!processes)
            return std::nullopt;
        unsigned count = 64;
        std::vector<ProcessInfo> infos(count);
        Result result = processes(device, &count, infos.data());
        if (result == kInsufficientSize) {
            count += 16; // some may have started meanwhile
            infos.resize(count);
            result = processes(device, &count, infos.data());
        }
        if (result != kSuccess)
            return std::nullopt;
        for (unsigned i = 0; i < count && i < infos.size(); ++i) {
            if (infos[i].pid == static_cast<unsigned>(pid) &&
                infos[i].usedGpuMemory != kNotAvailable)
                return infos[i].usedGpuMemory;
        }
        return std::nullopt;
    }

    /// Those of a divided GPU (MIG), on which programs run instead.
    std::vector<DeviceHandle> instances(DeviceHandle device) const
    {
        std::vector<DeviceHandle> found;
        unsigned most = 0;
        if (!mostInstances || !instanceByIndex || mostInstances(device, &most) != kSuccess)
            return found;
        for (unsigned i = 0; i < most; ++i) {
            DeviceHandle instance = nullptr;
            if (instanceByIndex(device, i, &instance) == kSuccess)
                found.push_back(instance);
        }
        return found;
    }

    GpuReading read(DeviceHandle device, int pid) const
    {
        GpuReading reading;
        reading.name = text(name, device);
        reading.uuid = text(uuid, device);
        if (Memory bytes{}; memory && memory(device, &bytes) == kSuccess) {
            reading.totalBytes = bytes.total;
            reading.usedBytes = bytes.used;
        }
        if (Utilization rates{}; utilization && utilization(device, &rates) == kSuccess)
            reading.utilisationPercent = rates.gpu;
        unsigned number = 0;
        if (temperature && temperature(device, kTemperatureGpu, &number) == kSuccess)
            reading.temperatureCelsius = number;
        if (powerUsage && powerUsage(device, &number) == kSuccess)
            reading.powerWatts = number / 1000.0;
        if (clock && clock(device, kClockSm, &number) == kSuccess)
            reading.clockMHz = number;
        reading.usedByProcessBytes = memoryOf(pid, device);
        return reading;
    }
};

std::unique_ptr<Nvml> Nvml::open()
{
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return nullptr;
    auto functions = std::make_unique<Functions>(library);
    if (!functions->isUsable() || functions->initialise() != kSuccess) {
        dlclose(library);
        return nullptr;
    }
    return std::unique_ptr<Nvml>(new Nvml(library, std::move(functions)));
}

Nvml::Nvml(void* library, std::unique_ptr<Functions> functions)
    : m_library(library),
      m_functions(std::move(functions))
{
}

Nvml::~Nvml()
{
    m_functions->shutdown();
    dlclose(m_library);
}

std::vector<GpuReading> Nvml::read(int pid) const
{
    std::array<char, 96> driver{};
    if (m_functions->driverVersion)
        m_functions->driverVersion(driver.data(), driver.size());
    std::vector<GpuReading> readings;
    unsigned count = 0;
    if (m_functions->deviceCount(&count) != kSuccess)
        return readings;
    for (unsigned i = 0; i < count; ++i) {
        DeviceHandle device = nullptr;
        if (m_functions->deviceByIndex(i, &device) != kSuccess)
            continue;
        readings.push_back(m_functions->read(device, pid));
        for (DeviceHandle instance : m_functions->instances(device))
            readings.push_back(m_functions->read(instance, pid));
    }
    for (GpuReading& reading : readings)
        reading.driver = driver.data();
    return readings;
}

} // namespace vergence::detail
