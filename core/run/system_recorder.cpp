#include "core/run/system_recorder.h"

#include <algorithm>

namespace vergence {

namespace {

double mebibytes(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / (1 << 20);
}

} // namespace

SystemRecorder::SystemRecorder(RunController& controller, std::string deviceUuid)
    : m_controller(controller),
      m_deviceUuid(std::move(deviceUuid))
{
    m_sampler.sample(); // percentages count from here
}

void SystemRecorder::sample()
{
    const SystemReading reading = m_sampler.sample();
    const double resident = mebibytes(reading.processResidentBytes);
    m_controller.record("system/cpu_percent", reading.processCpuPercent);
    m_controller.record("system/cpu_total_percent", reading.systemCpuPercent);
    m_controller.record("system/ram_mib", resident);
    nlohmann::json peaks{{"peak_rss_mib", std::max(resident, mebibytes(reading.processPeakBytes))}};
    for (const GpuReading& gpu : reading.gpus) {
        if (gpu.uuid != m_deviceUuid)
            continue;
        const auto record = [&](const char* name, const std::optional<double>& value) {
            if (value)
                m_controller.record(name, *value);
        };
        record("system/gpu_percent", gpu.utilisationPercent);
        record("system/gpu_celsius", gpu.temperatureCelsius);
        record("system/gpu_watts", gpu.powerWatts);
        record("system/gpu_mhz", gpu.clockMHz);
        m_controller.record("system/vram_mib", mebibytes(gpu.usedBytes));
        peaks["peak_vram_card_mib"] = mebibytes(gpu.usedBytes);
        if (gpu.usedByProcessBytes) {
            m_controller.record("system/vram_process_mib", mebibytes(*gpu.usedByProcessBytes));
            peaks["peak_vram_mib"] = mebibytes(*gpu.usedByProcessBytes);
        }
    }
    m_controller.addResources(peaks);
}

} // namespace vergence
