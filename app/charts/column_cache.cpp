#include "app/charts/column_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vergence {
namespace {

constexpr double kSteps = 16; // half as many widths between two powers of two

} // namespace

double ColumnCache::gridWidth(double atLeast)
{
    int exponent = 0;
    const double mantissa = std::frexp(atLeast, &exponent); // in [0.5, 1)
    return std::ldexp(std::ceil(mantissa * kSteps) / kSteps, exponent);
}

std::vector<Series::Bucket> ColumnCache::columns(const Series& series, XAxis axis, Range range,
                                                 int columns)
{
    const double width = gridWidth(range.width() / columns);
    const auto columnOf = [width](double x) {
        return static_cast<std::int64_t>(std::floor(x / width));
    };
    const std::int64_t first = columnOf(range.from), last = columnOf(range.to);
    const bool isUsable = axis == m_axis && width == m_width && !m_columns.empty() &&
                          m_columns.front().index <= first && m_open > first;
    if (!isUsable) {
        m_columns.clear();
        m_open = first;
    }
    m_axis = axis;
    m_width = width;
    std::erase_if(m_columns, [&](const Column& column) {
        return column.index < first || column.index > last || column.index >= m_open;
    });
    for (std::int64_t index = std::min(m_open, last + 1); index <= last; ++index) {
        const double from = static_cast<double>(index) * width;
        const double end = static_cast<double>(index + 1) * width;
        for (const Series::Bucket& bucket : series.decimate(
                 axis, from, std::nextafter(end, -std::numeric_limits<double>::infinity()), 1))
            m_columns.push_back({index, bucket});
    }
    const double newest =
        axis == XAxis::Step ? static_cast<double>(series.steps().back()) : series.walls().back();
    m_open = std::min(last + 1, columnOf(newest));
    std::vector<Series::Bucket> buckets;
    buckets.reserve(m_columns.size());
    for (const Column& column : m_columns)
        buckets.push_back(column.bucket);
    return buckets;
}

} // namespace vergence
