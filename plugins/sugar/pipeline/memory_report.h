#pragma once

#include <vector>

#include "core/metrics/system_sampler.h"
#include "core/run/run_context.h"
#include "plugins/sugar/pipeline/forecast.h"

namespace vergence::sugar {

/// Forecasts of the stages beside the most that was held up to the end of each: the peak of the
/// process on the CPU, that of the device's allocations on a GPU, where the forecast is then
/// without the driver's share. A peak never falls, so that it is to be compared with the largest
/// forecast up to there.
class MemoryReport {
public:
    bool isStarted() const { return !m_rows.empty(); }
    void start(const std::vector<StageForecast>& forecasts);
    /// A table for people, and the bytes as the note "memory_stages".
    void measure(RunContext& context, const std::string& stage);

private:
    struct Row {
        StageForecast forecast;
        double peak = 0; ///< bytes; 0 where not measured
    };
    double peakOf(const Device& device);

    std::vector<Row> m_rows;
    SystemSampler m_sampler{0};
};

} // namespace vergence::sugar
