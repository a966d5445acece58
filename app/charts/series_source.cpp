#include "app/charts/series_source.h"

#include <algorithm>
#include <cmath>

namespace vergence {
namespace {

void widen(Range& range, double x, bool isFirst)
{
    range = isFirst ? Range{x, x} : Range{std::min(range.from, x), std::max(range.to, x)};
}

/// Value of a series with rising steps at `step`; nothing outside of them.
std::optional<double> valueAt(const Series& series, std::int64_t step)
{
    const auto& steps = series.steps();
    const auto at = std::lower_bound(steps.begin(), steps.end(), step);
    if (at == steps.end() || (at == steps.begin() && *at != step))
        return std::nullopt;
    const auto above = static_cast<std::size_t>(at - steps.begin());
    const auto& values = series.values();
    if (*at == step)
        return values[above];
    const double share = static_cast<double>(step - steps[above - 1]) /
                         static_cast<double>(steps[above] - steps[above - 1]);
    return values[above - 1] + share * (values[above] - values[above - 1]);
}

} // namespace

bool SeriesSource::setReference(const MetricStore* reference)
{
    if (reference == m_reference)
        return false;
    m_reference = reference;
    m_difference = {};
    m_compared = 0;
    forget();
    update();
    return true;
}

void SeriesSource::forget()
{
    m_size = 0;
    m_notFinite.clear();
    m_smooth.clear();
    m_columns.clear();
    m_areStepsRising = m_areWallsRising = true;
}

void SeriesSource::extendDifference(const Series& own, const Series& reference)
{
    if (m_compared > own.size()) { // the store was read anew
        m_difference = {};
        m_compared = 0;
    }
    for (; m_compared < own.size(); ++m_compared) {
        const std::int64_t step = own.steps()[m_compared];
        if (reference.size() == 0 || step > reference.steps().back())
            return; // the reference may get there yet
        if (const auto value = valueAt(reference, step))
            m_difference.append(
                {step, own.walls()[m_compared], {}, own.values()[m_compared] - *value});
    }
}

/// Finds what is shown now.
void SeriesSource::takeOver()
{
    m_series = m_store->find(m_name);
    if (m_reference == nullptr)
        return;
    const Series* reference = m_reference->find(m_name);
    if (m_series != nullptr && reference != nullptr)
        extendDifference(*m_series, *reference);
    m_series = &m_difference;
}

bool SeriesSource::update()
{
    takeOver();
    const std::size_t size = m_series == nullptr ? 0 : m_series->size();
    if (size == m_size)
        return false;
    if (size < m_size)
        forget();
    for (; m_size < size; ++m_size) {
        const auto isRising = [this](XAxis axis) {
            return m_size == 0 || x(axis, m_size) >= x(axis, m_size - 1);
        };
        m_areStepsRising = m_areStepsRising && isRising(XAxis::Step);
        m_areWallsRising = m_areWallsRising && isRising(XAxis::Wall);
        widen(m_stepExtent, x(XAxis::Step, m_size), m_size == 0);
        widen(m_wallExtent, x(XAxis::Wall, m_size), m_size == 0);
        if (!std::isfinite(m_series->values()[m_size]))
            m_notFinite.push_back(m_size);
    }
    return true;
}

double SeriesSource::x(XAxis axis, std::size_t index) const
{
    return axis == XAxis::Step ? static_cast<double>(m_series->steps()[index])
                               : m_series->walls()[index];
}

std::size_t SeriesSource::lowerIndex(XAxis axis, double value) const
{
    if (axis == XAxis::Step) {
        const auto& steps = m_series->steps();
        const auto before = [](std::int64_t step, double x) {
            return static_cast<double>(step) < x;
        };
        return std::lower_bound(steps.begin(), steps.end(), value, before) - steps.begin();
    }
    const auto& walls = m_series->walls();
    return std::lower_bound(walls.begin(), walls.end(), value) - walls.begin();
}

RawPoint SeriesSource::at(std::size_t index, double smoothing)
{
    const double value = m_series->values()[index];
    const double smoothed =
        smoothing > 0 ? m_smooth.update(m_series->values(), smoothing)[index] : value;
    return {x(XAxis::Step, index), m_series->walls()[index], value, smoothed};
}

std::optional<Range> SeriesSource::extent(XAxis axis) const
{
    if (m_size == 0)
        return std::nullopt;
    return axis == XAxis::Step ? m_stepExtent : m_wallExtent;
}

std::vector<Series::Bucket> SeriesSource::bucketsOf(XAxis axis, std::size_t first, std::size_t end,
                                                    int columns)
{
    const Range range{x(axis, first), x(axis, end - 1)};
    const bool isRising = axis == XAxis::Step ? m_areStepsRising : m_areWallsRising;
    const bool isDense = end - first > static_cast<std::size_t>(columns) && range.width() > 0;
    if (!isRising || !isDense)
        return m_series->decimate(axis, range.from, range.to, columns);
    return m_columns.columns(*m_series, axis, range, columns);
}

CurvePoints SeriesSource::sample(const ChartSettings& settings, Range range, int columns)
{
    CurvePoints points;
    if (m_size == 0)
        return points;
    // The points just outside keep the line going to the border of the plot.
    std::size_t first = lowerIndex(settings.axis, range.from);
    std::size_t end = lowerIndex(settings.axis, std::nextafter(range.to, HUGE_VAL));
    first = first > 0 ? first - 1 : 0;
    end = std::min(end + 1, m_size);
    if (end <= first)
        return points;
    auto& raw = settings.smoothing > 0 ? points.band : points.line;
    for (const Series::Bucket& bucket : bucketsOf(settings.axis, first, end, columns)) {
        raw.emplace_back(bucket.x, bucket.minimum);
        if (bucket.maximum != bucket.minimum)
            raw.emplace_back(bucket.x, bucket.maximum);
    }
    if (settings.smoothing == 0)
        return points;

    // A smoothed value stands for its neighbours already: one per column is enough.
    const std::vector<double>& smoothed = m_smooth.update(m_series->values(), settings.smoothing);
    const std::size_t stride = std::max<std::size_t>(1, (end - first + columns - 1) / columns);
    for (std::size_t i = first; i < end; i += stride)
        if (std::isfinite(smoothed[i]))
            points.line.emplace_back(x(settings.axis, i), smoothed[i]);
    if (std::isfinite(smoothed[end - 1]) && (end - 1 - first) % stride != 0)
        points.line.emplace_back(x(settings.axis, end - 1), smoothed[end - 1]);
    return points;
}

std::vector<double> SeriesSource::marks(XAxis axis) const
{
    std::vector<double> positions;
    positions.reserve(m_notFinite.size());
    for (const std::size_t index : m_notFinite)
        positions.push_back(x(axis, index));
    return positions;
}

std::optional<std::size_t> SeriesSource::nearest(XAxis axis, double value) const
{
    if (m_size == 0)
        return std::nullopt;
    const std::size_t above = std::min(lowerIndex(axis, value), m_size - 1);
    if (above == 0)
        return above;
    return value - x(axis, above - 1) < x(axis, above) - value ? above - 1 : above;
}

std::optional<double> SeriesSource::last() const
{
    return m_size == 0 ? std::nullopt : std::optional(m_series->values()[m_size - 1]);
}

} // namespace vergence
