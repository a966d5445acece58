#include "plugins/live_diffusion/bench/system_watch.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <unistd.h>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/metrics/system_sampler.h"
#include "plugins/live_diffusion/bench/summary.h"

namespace vergence::live {

namespace {

constexpr double kClockDrop = 0.05;
constexpr double kOthersBusy = 10; // percent of all processors

WatchSample sampleOf(const SystemReading& reading, const std::string& uuid)
{
    WatchSample sample;
    sample.residentBytes = static_cast<double>(reading.processResidentBytes);
    const double processors = std::max(1.0, static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)));
    sample.otherCpuPercent =
        std::max(0.0, reading.systemCpuPercent - reading.processCpuPercent / processors);
    for (const GpuReading& gpu : reading.gpus) {
        if (gpu.uuid != uuid)
            continue;
        sample.clockMHz = gpu.clockMHz;
        sample.temperatureCelsius = gpu.temperatureCelsius;
        sample.powerWatts = gpu.powerWatts;
        sample.busyPercent = gpu.utilisationPercent;
        sample.deviceUsedBytes = static_cast<double>(gpu.usedBytes);
    }
    return sample;
}

using Field = std::function<std::optional<double>(const WatchSample&)>;

std::vector<double> valuesOf(const std::vector<WatchSample>& samples, const Field& field)
{
    std::vector<double> values;
    for (const WatchSample& sample : samples) {
        if (const auto value = field(sample))
            values.push_back(*value);
    }
    return values;
}

const auto kClock = [](const WatchSample& sample) { return sample.clockMHz; };
const auto kPower = [](const WatchSample& sample) { return sample.powerWatts; };
const auto kOthers = [](const WatchSample& sample) {
    return std::optional<double>(sample.otherCpuPercent);
};

} // namespace

std::vector<std::string> WatchReport::disturbances() const
{
    std::vector<std::string> sentences;
    if (const auto clocks = valuesOf(samples, kClock); !clocks.empty()) {
        const Summary clock = summarise(clocks);
        if (clock.min < clock.median * (1 - kClockDrop))
            sentences.push_back(
                fmt::format("The clock fell from {:.0f} to {:.0f} MHz.", clock.median, clock.min));
    }
    if (const auto others = valuesOf(samples, kOthers); !others.empty()) {
        if (const Summary load = summarise(others); load.median > kOthersBusy)
            sentences.push_back(
                fmt::format("Other processes kept {:.0f} % of the processors busy.", load.median));
    }
    return sentences;
}

std::optional<double> WatchReport::meanPowerWatts() const
{
    const auto watts = valuesOf(samples, kPower);
    if (watts.empty())
        return std::nullopt;
    return summarise(watts).mean;
}

nlohmann::json WatchReport::toJson() const
{
    nlohmann::json json = nlohmann::json::object();
    const auto add = [&](const char* key, const Field& field) {
        const auto values = valuesOf(samples, field);
        if (values.empty())
            return;
        const Summary summary = summarise(values);
        json[key] = {{"min", summary.min}, {"median", summary.median}, {"max", summary.max}};
    };
    add("clock_mhz", kClock);
    add("temperature_c", [](const WatchSample& sample) { return sample.temperatureCelsius; });
    add("power_w", kPower);
    add("gpu_busy_percent", [](const WatchSample& sample) { return sample.busyPercent; });
    add("device_used_bytes", [](const WatchSample& sample) { return sample.deviceUsedBytes; });
    add("resident_bytes",
        [](const WatchSample& sample) { return std::optional<double>(sample.residentBytes); });
    add("other_cpu_percent", kOthers);
    json["samples"] = samples.size();
    return json;
}

SystemWatch::SystemWatch(std::string deviceUuid, double interval)
    : m_uuid(std::move(deviceUuid)),
      m_interval(interval),
      m_thread([this](const std::stop_token& token) { watch(token); })
{
    expects(interval > 0, "SystemWatch: a positive interval");
}

SystemWatch::~SystemWatch() = default;

WatchReport SystemWatch::stop()
{
    m_thread.request_stop();
    if (m_thread.joinable())
        m_thread.join();
    return std::move(m_report);
}

void SystemWatch::watch(const std::stop_token& token)
{
    SystemSampler sampler(0);
    sampler.sample(); // percentages count from here
    const double start = steadySeconds();
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_wake.wait_for(lock, token, std::chrono::duration<double>(m_interval),
                        [] { return false; });
        if (token.stop_requested())
            return;
        WatchSample sample = sampleOf(sampler.sample(), m_uuid);
        sample.seconds = steadySeconds() - start;
        m_report.samples.push_back(sample);
    }
}

} // namespace vergence::live
