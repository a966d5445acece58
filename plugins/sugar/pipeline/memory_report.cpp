#include "plugins/sugar/pipeline/memory_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vergence::sugar {

void MemoryReport::start(const std::vector<StageForecast>& forecasts)
{
    m_rows.clear();
    for (const StageForecast& forecast : forecasts)
        m_rows.push_back({forecast});
}

double MemoryReport::peakOf(const Device& device)
{
    return device.isCpu() ? static_cast<double>(m_sampler.sample().processPeakBytes)
                          : static_cast<double>(device.memory().peakUsedByUs);
}

void MemoryReport::measure(RunContext& context, const std::string& stage)
{
    const Device& device = *context.device();
    nlohmann::json rows = nlohmann::json::array(), note = nlohmann::json::array();
    const auto text = [](double bytes) {
        return bytes > 0 ? fmt::format("{:.1f}", bytes / 1e6) : std::string();
    };
    double soFar = 0;
    for (Row& row : m_rows) {
        if (row.forecast.stage == stage)
            row.peak = peakOf(device);
        const MemoryForecast& memory = row.forecast.memory;
        const double forecast = memory.total() - (device.isCpu() ? 0 : memory.bytesOf("Runtime"));
        soFar = std::max(soFar, forecast);
        rows.push_back({row.forecast.stage, text(forecast), text(soFar), text(row.peak)});
        if (row.peak > 0)
            note.push_back({{"stage", row.forecast.stage},
                            {"forecast_bytes", forecast},
                            {"forecast_so_far_bytes", soFar},
                            {"peak_so_far_bytes", row.peak}});
    }
    context.note("memory_stages", note);
    context.table({{"id", "memory_stages"},
                   {"title", "Memory, forecast and measured"},
                   {"columns", {"stage", "forecast, MB", "largest so far", "measured peak"}},
                   {"rows", rows}});
}

} // namespace vergence::sugar
