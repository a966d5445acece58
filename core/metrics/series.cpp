#include "core/metrics/metric_store.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::size_t kFactor = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Maps the axis to columns; rises with x, so that the points of a column stand together in a
/// sorted series.
struct Columns {
    double from, to;
    int count;

    int of(double x) const
    {
        const double width = to - from;
        if (!(width > 0 && std::isfinite(width)))
            return 0;
        return std::min(count - 1, static_cast<int>((x - from) / width * count));
    }
};

} // namespace

/// Minimum and maximum of finite values; the first exceeds the second where there is none.
struct Series::Extremes {
    double minimum = kInfinity, maximum = -kInfinity;

    void add(double low, double high)
    {
        minimum = std::min(minimum, low);
        maximum = std::max(maximum, high);
    }
    void add(double value)
    {
        if (std::isfinite(value))
            add(value, value);
    }
    bool isEmpty() const { return minimum > maximum; }
};

void Series::append(const MetricPoint& point)
{
    if (!m_steps.empty()) {
        m_areStepsSorted = m_areStepsSorted && point.step >= m_steps.back();
        m_areWallsSorted = m_areWallsSorted && point.wallSeconds >= m_walls.back();
    }
    m_areWallsSorted = m_areWallsSorted && std::isfinite(point.wallSeconds);
    const bool isFinite = std::isfinite(point.value);
    if (m_summary.count == 0)
        m_summary.minimum = m_summary.maximum = std::numeric_limits<double>::quiet_NaN();
    if (isFinite && !(point.value >= m_summary.minimum)) {
        m_summary.minimum = point.value;
        m_summary.stepOfMinimum = point.step;
    }
    if (isFinite && !(point.value <= m_summary.maximum)) {
        m_summary.maximum = point.value;
        m_summary.stepOfMaximum = point.step;
    }
    if (!isFinite) {
        m_notFinite.push_back(m_values.size());
        ++m_summary.notFinite;
    }
    m_summary.last = point.value;
    ++m_summary.count;
    m_steps.push_back(point.step);
    m_walls.push_back(point.wallSeconds);
    m_values.push_back(point.value);
    foldIntoLevels();
}

void Series::foldIntoLevels()
{
    std::size_t count = m_values.size();
    for (std::size_t k = 0; count % kFactor == 0; ++k) {
        Extremes block;
        for (std::size_t i = count - kFactor; i < count; ++i) {
            if (k == 0)
                block.add(m_values[i]);
            else
                block.add(m_levels[k - 1].minimum[i], m_levels[k - 1].maximum[i]);
        }
        if (m_levels.size() == k)
            m_levels.emplace_back();
        m_levels[k].minimum.push_back(block.minimum);
        m_levels[k].maximum.push_back(block.maximum);
        count /= kFactor;
    }
}

/// Climbs the pyramid from both ends; every complete block inside [begin, end) exists, for it ends
/// before size().
Series::Extremes Series::extremes(std::size_t begin, std::size_t end) const
{
    Extremes found;
    for (std::size_t k = 0; begin < end; ++k) {
        const auto addAt = [&](std::size_t i) {
            if (k == 0)
                found.add(m_values[i]);
            else
                found.add(m_levels[k - 1].minimum[i], m_levels[k - 1].maximum[i]);
        };
        while (begin < end && begin % kFactor != 0)
            addAt(begin++);
        while (begin < end && end % kFactor != 0)
            addAt(--end);
        begin /= kFactor;
        end /= kFactor;
    }
    return found;
}

double Series::position(XAxis axis, std::size_t index) const
{
    return axis == XAxis::Step ? static_cast<double>(m_steps[index]) : m_walls[index];
}

std::vector<Series::Bucket> Series::decimate(XAxis axis, double from, double to, int columns) const
{
    expects(columns > 0, "metrics: decimate needs at least one column");
    if (m_values.empty() || !(from <= to))
        return {};
    return (axis == XAxis::Step ? m_areStepsSorted : m_areWallsSorted)
               ? decimateSorted(axis, from, to, columns)
               : decimateUnsorted(axis, from, to, columns);
}

std::vector<Series::Bucket> Series::decimateSorted(XAxis axis, double from, double to,
                                                   int columns) const
{
    // The first index in [low, high) whose point does not satisfy `isBefore`.
    const auto partition = [&](std::size_t low, std::size_t high, auto isBefore) {
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (isBefore(position(axis, middle)))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    };
    std::size_t begin = partition(0, size(), [&](double x) { return x < from; });
    const std::size_t end = partition(begin, size(), [&](double x) { return x <= to; });
    std::vector<Bucket> buckets;
    const auto push = [&](std::size_t first, std::size_t past) {
        const Extremes found = extremes(first, past);
        if (!found.isEmpty())
            buckets.push_back({0.5 * position(axis, first) + 0.5 * position(axis, past - 1),
                               found.minimum, found.maximum});
    };
    if (end - begin <= static_cast<std::size_t>(columns)) {
        for (; begin < end; ++begin)
            push(begin, begin + 1);
        return buckets;
    }
    const Columns grid{std::max(from, position(axis, 0)), std::min(to, position(axis, size() - 1)),
                       columns};
    while (begin < end) {
        const int column = grid.of(position(axis, begin));
        const std::size_t next =
            partition(begin + 1, end, [&](double x) { return grid.of(x) <= column; });
        push(begin, next);
        begin = next;
    }
    return buckets;
}

std::vector<Series::Bucket> Series::decimateUnsorted(XAxis axis, double from, double to,
                                                     int columns) const
{
    struct Cell {
        Extremes extremes;
        double firstX = kInfinity, lastX = -kInfinity;
    };
    double low = kInfinity, high = -kInfinity;
    for (std::size_t i = 0; i < size(); ++i) {
        if (const double x = position(axis, i); std::isfinite(x)) {
            low = std::min(low, x);
            high = std::max(high, x);
        }
    }
    const Columns grid{std::max(from, low), std::min(to, high), columns};
    std::vector<Cell> cells(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < size(); ++i) {
        const double x = position(axis, i);
        if (!std::isfinite(x) || x < from || x > to)
            continue;
        Cell& cell = cells[static_cast<std::size_t>(grid.of(x))];
        cell.extremes.add(m_values[i]);
        cell.firstX = std::min(cell.firstX, x);
        cell.lastX = std::max(cell.lastX, x);
    }
    std::vector<Bucket> buckets;
    for (const Cell& cell : cells) {
        if (!cell.extremes.isEmpty())
            buckets.push_back({0.5 * cell.firstX + 0.5 * cell.lastX, cell.extremes.minimum,
                               cell.extremes.maximum});
    }
    return buckets;
}

std::vector<double> Series::notFinite(XAxis axis) const
{
    std::vector<double> positions;
    positions.reserve(m_notFinite.size());
    for (const std::size_t index : m_notFinite)
        positions.push_back(position(axis, index));
    return positions;
}

} // namespace vergence
