#include "plugins/mc_embedding/study/forecast.h"

#include <algorithm>

#include <fmt/format.h>

namespace vergence::mc_embedding {

std::vector<Workload> workloadsOf(const StudyPlan& plan)
{
    std::vector<Workload> workloads;
    for (const ModelPlan& model : plan.models) {
        for (const MeasurementPlan& measurement : model.measurements) {
            if (measurement.kind != MeasurementPlan::Kind::Texts)
                workloads.push_back({*towerShape(model.model), double(measurement.images),
                                     double(measurement.trials),
                                     double(measurement.passes.back())});
        }
    }
    return workloads;
}

double totalFlop(const std::vector<Workload>& workloads)
{
    double sum = 0;
    for (const Workload& work : workloads)
        sum += work.flop();
    return sum;
}

const std::vector<DeviceProfile>& deviceProfiles()
{
    static const std::vector<DeviceProfile> profiles = {
        {"RTX 5000 Ada, 16 GB", 170e12, 0.53, 16'000'000'000},
        {"RTX 5000 Ada, 32 GB", 261e12, 0.55, 32'000'000'000},
        {"H200", 989e12, 0.57, 141'000'000'000},
        {"2 CPU cores", 0.1e12, 1},
    };
    return profiles;
}

double expectedShare(const TowerShape& tower, const DeviceProfile& device)
{
    if (device.share >= 1) // the peak is what was measured
        return 1;
    if (tower.tokens() < 64) // products too short to fill the card
        return std::min(device.share, 0.30);
    return tower.width <= 768 ? std::min(device.share, 0.40) : device.share;
}

double boundSeconds(const std::vector<Workload>& workloads, const DeviceProfile& device)
{
    return totalFlop(workloads) / device.peak;
}

double expectedSeconds(const std::vector<Workload>& workloads, const DeviceProfile& device)
{
    double sum = 0;
    for (const Workload& work : workloads)
        sum += work.flop() / (device.peak * expectedShare(work.tower, device));
    return sum;
}

namespace {

std::string duration(double seconds)
{
    if (seconds < 100)
        return fmt::format("{:.3g} s", seconds);
    if (seconds < 100 * 60)
        return fmt::format("{:.3g} min", seconds / 60);
    return seconds < 48 * 3600 ? fmt::format("{:.3g} h", seconds / 3600)
                               : fmt::format("{:.3g} days", seconds / 86400);
}

} // namespace

std::string forecastSentence(const std::vector<Workload>& workloads)
{
    double forwards = 0;
    for (const Workload& work : workloads)
        forwards += work.forwards();
    std::string text = fmt::format(
        "{:.3g} FLOP in {:.0f} whole forwards, less where passes share blocks; expected (at the "
        "peak):",
        totalFlop(workloads), forwards);
    const char* separator = " ";
    for (const DeviceProfile& device : deviceProfiles()) {
        text += fmt::format("{}{} {}", separator, device.name,
                            duration(expectedSeconds(workloads, device)));
        if (device.memory > 0)
            text += fmt::format(" ({})", duration(boundSeconds(workloads, device)));
        separator = ", ";
    }
    return text;
}

} // namespace vergence::mc_embedding
