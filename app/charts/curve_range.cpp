#include "app/charts/curve_range.h"

#include <algorithm>
#include <cmath>

namespace vergence {
namespace {

constexpr double kMargin = 0.05;       // of the range, on each side
constexpr double kOutlierShare = 0.05; // on each side

/// Range of the values without the highest and the lowest 5 %.
Range trimmed(std::vector<double>& values)
{
    const auto cut =
        static_cast<std::ptrdiff_t>(kOutlierShare * static_cast<double>(values.size()));
    const auto low = values.begin() + cut, high = values.end() - 1 - cut;
    std::nth_element(values.begin(), low, values.end());
    const double from = *low;
    std::nth_element(values.begin(), high, values.end());
    return {from, *high};
}

} // namespace

Range widened(Range range)
{
    if (range.width() > 0)
        return range;
    const double room = range.from == 0 ? 1 : std::abs(range.from) * kMargin;
    return {range.from - room, range.to + room};
}

Range fittingY(const std::vector<CurvePoints>& curves, Range x, const ChartSettings& settings)
{
    std::vector<double> values;
    const auto add = [&](const std::vector<QPointF>& points) {
        for (const QPointF& point : points)
            if (point.x() >= x.from && point.x() <= x.to)
                values.push_back(point.y());
    };
    for (const CurvePoints& curve : curves) {
        add(curve.band);
        add(curve.line);
    }
    if (values.empty())
        return settings.isLogY ? Range{0.1, 10} : Range{0, 1};
    Range range;
    if (settings.ignoreOutliers) {
        range = trimmed(values);
    } else {
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        range = {*low, *high};
    }
    if (settings.isLogY) {
        const double ratio = range.to > range.from ? std::pow(range.to / range.from, kMargin) : 2;
        return {range.from / ratio, range.to * ratio};
    }
    const double room = range.width() * kMargin;
    return widened({range.from - room, range.to + room});
}

bool removeNotPositive(CurvePoints& points)
{
    const auto isUnfit = [](const QPointF& point) { return point.y() <= 0; };
    return std::erase_if(points.band, isUnfit) + std::erase_if(points.line, isUnfit) > 0;
}

Range scaledAround(Range range, double centre, double factor)
{
    return {centre + (range.from - centre) * factor, centre + (range.to - centre) * factor};
}

} // namespace vergence
