#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace vergence::live {

/// One look at the computer while something was measured.
struct WatchSample {
    double seconds = 0; ///< since the watch began
    std::optional<double> clockMHz, temperatureCelsius, powerWatts, busyPercent;
    std::optional<double> deviceUsedBytes; ///< as the driver counts, all processes
    double residentBytes = 0;              ///< of this process
    double otherCpuPercent = 0;            ///< of all cores, by other processes; 0 … 100
};

/// What was going on beside the measurement, and whether it was disturbed.
struct WatchReport {
    std::vector<WatchSample> samples;

    /// Sentences: the clock fell by more than 5 % under its median, others kept more than a tenth
    /// of the processors busy. None: undisturbed.
    std::vector<std::string> disturbances() const;
    std::optional<double> meanPowerWatts() const;
    /// {clock_mhz{min, median, max}, temperature_c{…}, power_w{…}, gpu_busy_percent{…},
    /// other_cpu_percent{…}, samples}; what was never read is left out.
    nlohmann::json toJson() const;
};

/// Looks at the system ten times a second from a thread of its own, so that no frame waits for it.
class SystemWatch {
public:
    /// `deviceUuid`: the card to watch; "cpu" for none.
    explicit SystemWatch(std::string deviceUuid, double interval = 0.1);
    ~SystemWatch();
    SystemWatch(const SystemWatch&) = delete;
    SystemWatch& operator=(const SystemWatch&) = delete;

    WatchReport stop(); ///< once

private:
    void watch(const std::stop_token& token);

    std::string m_uuid;
    double m_interval;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    WatchReport m_report;  ///< of the thread until it is joined
    std::jthread m_thread; ///< last, so that it ends first
};

} // namespace vergence::live
