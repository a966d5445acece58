#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vergence {

/// One reading of a GPU through NVML; values that the driver does not give are empty.
struct GpuReading {
    std::string uuid, name, driver;
    std::optional<double> utilisationPercent, temperatureCelsius, powerWatts, clockMHz;
    std::uint64_t totalBytes = 0, usedBytes = 0;
    std::optional<std::uint64_t> usedByProcessBytes; ///< of the process asked for
};

/// One reading of a process and its computer through /proc.
struct SystemReading {
    double processCpuPercent = 0; ///< 100 per core
    std::uint64_t processResidentBytes = 0;
    std::uint64_t processPeakBytes = 0; ///< most that was ever resident; 0 where unknown
    double systemCpuPercent = 0;        ///< 0–100 over all cores
    std::uint64_t memoryTotalBytes = 0, memoryAvailableBytes = 0;
    std::vector<GpuReading> gpus;
};

/// Reads /proc and, where `libnvidia-ml.so.1` opens, NVML. Percentages are over the time since the
/// previous sample.
class SystemSampler {
public:
    explicit SystemSampler(int pid); ///< the process to watch; 0 for this one
    ~SystemSampler();
    SystemReading sample();
    bool hasNvml() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
