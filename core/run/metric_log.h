#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/metrics/metric_sink.h"
#include "core/metrics/metric_store.h"

namespace vergence {

/// The numbers of a run between the sink and its two readers, metrics.csv and the clients. Every
/// point has an index, its line in metrics.csv; a point stays here until the file has it.
/// Thread-safe.
class MetricLog {
public:
    struct Points {
        std::int64_t first = 0; ///< index of the first
        std::vector<MetricPoint> points;
    };

    /// Before anything is recorded: `lines` are in the file already, `earlier` is their content.
    void start(double alreadyElapsed, std::int64_t lines, const MetricStore& earlier);
    /// A cheap append; everything else happens when somebody collects.
    void record(const std::string& name, double value, std::int64_t step)
    {
        m_sink.record(name, value, step);
    }
    double wallSeconds() const;

    /// Takes what the file lacks; `written` or `returned` must follow before the next call.
    Points takeUnwritten();
    void written(const Points& points);
    void returned(Points points);

    /// Takes what clients have not been sent.
    Points takeUnsent();
    /// Copy of what was sent and is not in the file yet, with the number of lines that are.
    Points sentButUnwritten() const;
    std::int64_t lines() const;

    /// {"train/loss": {"last", "min", "max", "step_min", "step_max", "count", "not_finite"}}.
    nlohmann::json summary() const;

private:
    struct Summary {
        Series::Summary numbers;
        bool hasFinite = false;
    };
    void collect();
    void summarise(const MetricPoint& point);

    MetricSink m_sink;
    double m_start = 0, m_elapsedBefore = 0;
    mutable std::mutex m_mutex;
    std::int64_t m_lines = 0, m_collected = 0;
    std::vector<MetricPoint> m_unwritten, m_unsent;
    std::map<std::string, Summary> m_summaries;
};

} // namespace vergence
