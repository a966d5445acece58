#include "core/metrics/system_sampler.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/metrics/nvml.h"

namespace vergence {

namespace {

struct SystemTicks {
    std::uint64_t busy = 0, total = 0;
};

/// User and system time of the process in clock ticks (proc(5), fields 14 and 15); 0 where it is
/// gone.
std::uint64_t processTicks(int pid)
{
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    std::getline(file, line);
    const std::size_t afterName = line.rfind(')'); // names may contain spaces and parentheses
    if (afterName == std::string::npos)
        return 0;
    std::istringstream fields(line.substr(afterName + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field)
        fields >> skipped;
    std::uint64_t user = 0, system = 0;
    fields >> user >> system;
    return user + system;
}

std::uint64_t residentBytes(int pid)
{
    std::ifstream file(fmt::format("/proc/{}/statm", pid));
    std::uint64_t pages = 0, residentPages = 0;
    file >> pages >> residentPages;
    return residentPages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// The high-water mark of proc(5), which samples in between would miss.
std::uint64_t peakBytes(int pid)
{
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    std::uint64_t kibibytes = 0;
    for (std::string label; file >> label; file.ignore(1'000, '\n')) {
        if (label == "VmHWM:" && file >> kibibytes)
            return kibibytes * 1024;
    }
    return 0;
}

/// user nice system idle iowait irq softirq steal; the guest times after them are part of user and
/// nice.
SystemTicks systemTicks()
{
    std::ifstream file("/proc/stat");
    std::string label;
    file >> label;
    SystemTicks ticks;
    std::uint64_t value = 0;
    for (int column = 0; column < 8 && file >> value; ++column) {
        const bool isIdle = column == 3 || column == 4;
        ticks.total += value;
        ticks.busy += isIdle ? 0 : value;
    }
    return ticks;
}

void readMemory(SystemReading& reading)
{
    std::ifstream file("/proc/meminfo");
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string label;
        std::uint64_t kibibytes = 0;
        fields >> label >> kibibytes;
        if (label == "MemTotal:")
            reading.memoryTotalBytes = kibibytes * 1024;
        else if (label == "MemAvailable:")
            reading.memoryAvailableBytes = kibibytes * 1024;
    }
}

} // namespace

struct SystemSampler::Impl {
    int pid;
    std::unique_ptr<detail::Nvml> nvml = detail::Nvml::open();
    double time = steadySeconds();
    std::uint64_t process;
    SystemTicks system = systemTicks();
    double processPercent = 0, systemPercent = 0;

    explicit Impl(int watched) : pid(watched), process(processTicks(watched)) {}

    /// The kernel counts in ticks (10 ms); shorter intervals keep the last percentages.
    void updatePercentages()
    {
        constexpr double kShortestInterval = 0.02;
        const double now = steadySeconds();
        const double elapsed = now - time;
        if (elapsed < kShortestInterval)
            return;
        const std::uint64_t processNow = processTicks(pid);
        const SystemTicks systemNow = systemTicks();
        const double ticksPerSecond = static_cast<double>(sysconf(_SC_CLK_TCK));
        const double used = processNow > process ? static_cast<double>(processNow - process) : 0;
        processPercent = 100 * used / ticksPerSecond / elapsed;
        if (systemNow.total > system.total) {
            const double busy =
                static_cast<double>(systemNow.busy) - static_cast<double>(system.busy);
            const double total = static_cast<double>(systemNow.total - system.total);
            systemPercent = std::clamp(100 * busy / total, 0.0, 100.0);
        }
        time = now;
        process = processNow;
        system = systemNow;
    }
};

SystemSampler::SystemSampler(int pid)
{
    expects(pid >= 0, "system sampler: a process id is not negative");
    m_impl = std::make_unique<Impl>(pid == 0 ? static_cast<int>(getpid()) : pid);
}

SystemSampler::~SystemSampler() = default;

SystemReading SystemSampler::sample()
{
    m_impl->updatePercentages();
    SystemReading reading;
    reading.processCpuPercent = m_impl->processPercent;
    reading.systemCpuPercent = m_impl->systemPercent;
    reading.processResidentBytes = residentBytes(m_impl->pid);
    reading.processPeakBytes = peakBytes(m_impl->pid);
    readMemory(reading);
    if (m_impl->nvml)
        reading.gpus = m_impl->nvml->read(m_impl->pid);
    return reading;
}

bool SystemSampler::hasNvml() const
{
    return m_impl->nvml != nullptr;
}

} // namespace vergence
