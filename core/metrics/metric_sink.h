#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"

namespace vergence {

/// One reported number. `step` is the abscissa: the run's step, or what the plugin says for its own
/// series.
struct MetricPoint {
    std::int64_t step = 0;
    double wallSeconds = 0; ///< since the run started, pauses included
    std::string name;       ///< "group/name", for instance "train/loss"
    double value = 0;       ///< may be NaN or infinite
};

/// Where a run puts its numbers. Appending costs a swap of a buffer under a lock; the worker's main
/// thread drains it.
class MetricSink {
public:
    /// Names must not be empty nor contain line breaks. Safe from any thread.
    void record(const std::string& name, double value, std::int64_t step);
    std::vector<MetricPoint> drain();

    void setStart(double steadySeconds,
                  double alreadyElapsed); ///< for wallSeconds, also after a resume

private:
    std::mutex m_mutex;
    std::vector<MetricPoint> m_points;
    double m_start = steadySeconds(), m_elapsedBefore = 0;
};

} // namespace vergence
