#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/metrics/metric_sink.h"

namespace vergence {

enum class XAxis { Step, Wall };

/// Full history of one series, with a pyramid of minima and maxima (factor 8) for drawing.
/// Appending is amortised O(1).
class Series {
public:
    void append(const MetricPoint& point);
    std::size_t size() const { return m_steps.size(); }
    const std::vector<std::int64_t>& steps() const { return m_steps; }
    const std::vector<double>& walls() const { return m_walls; }
    const std::vector<double>& values() const { return m_values; }

    struct Summary {
        double last = 0, minimum = 0, maximum = 0;
        std::int64_t stepOfMinimum = 0, stepOfMaximum = 0;
        std::size_t count = 0, notFinite = 0;
    };
    /// Extremes over finite values only, NaN where there is none; `last` as reported, even if it is
    /// not finite. O(1).
    Summary summary() const { return m_summary; }

    /// `x` is halfway between the first and the last point of the bucket, so exact where it holds
    /// one point.
    struct Bucket {
        double x = 0, minimum = 0, maximum = 0;
    };
    /// At most `columns` (at least 1) buckets over [from, to] on the axis, in rising x; columns
    /// without a finite value give none. Where the range holds no more points than columns, each
    /// point is a bucket. O(columns * log n), O(n) for series whose abscissa runs backwards
    /// somewhere.
    std::vector<Bucket> decimate(XAxis axis, double from, double to, int columns) const;
    /// Indices into values() of those that are NaN or infinite, rising.
    const std::vector<std::size_t>& notFiniteIndices() const { return m_notFinite; }
    /// Positions on the axis of values that are NaN or infinite.
    std::vector<double> notFinite(XAxis axis) const;

private:
    struct Extremes;
    double position(XAxis axis, std::size_t index) const;
    Extremes extremes(std::size_t begin, std::size_t end) const;
    void foldIntoLevels();
    std::vector<Bucket> decimateSorted(XAxis axis, double from, double to, int columns) const;
    std::vector<Bucket> decimateUnsorted(XAxis axis, double from, double to, int columns) const;

    std::vector<std::int64_t> m_steps;
    std::vector<double> m_walls, m_values;
    struct Level {
        std::vector<double> minimum, maximum;
    };
    std::vector<Level> m_levels; // level k holds the complete blocks of 8^(k+1) points
    std::vector<std::size_t> m_notFinite;
    Summary m_summary;
    bool m_areStepsSorted = true, m_areWallsSorted = true;
};

/// Debiased exponential average as TensorBoard draws it; weight in [0, 1). NaN passes through and
/// is not averaged.
std::vector<double> smooth(const std::vector<double>& values, double weight);

/// All series of one run, by name.
class MetricStore {
public:
    void append(const std::vector<MetricPoint>& points);
    std::vector<std::string> names() const;
    const Series* find(const std::string& name) const;
    std::uint64_t revision() const { return m_revision; } ///< grows with every append

    /// Reads `metrics.csv` (header step,wall_s,name,value); a torn last line is ignored. Throws
    /// InputError with line number.
    static MetricStore fromCsv(const std::string& text, const std::string& source);
    /// CSV lines of the points, without header.
    static std::string toCsv(const std::vector<MetricPoint>& points);
    static const char* csvHeader(); ///< "step,wall_s,name,value\n"

private:
    std::map<std::string, Series, std::less<>> m_series;
    std::uint64_t m_revision = 0;
};

} // namespace vergence
