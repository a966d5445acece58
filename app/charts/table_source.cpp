#include "app/charts/table_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace vergence {

TableSource::TableSource(const ChartTable& table, std::size_t column)
{
    id = name = table.columns.value(static_cast<qsizetype>(column));
    for (std::size_t row = 0; row < table.rows.size(); ++row)
        if (column < table.rows[row].size() && std::isfinite(table.rows[row][0]))
            m_rows.push_back(row);
    std::stable_sort(m_rows.begin(), m_rows.end(), [&](std::size_t a, std::size_t b) {
        return table.rows[a][0] < table.rows[b][0];
    });
    for (const std::size_t row : m_rows)
        m_points.emplace_back(table.rows[row][0], table.rows[row][column]);
}

RawPoint TableSource::at(std::size_t index, double)
{
    const QPointF& point = m_points[index];
    return {point.x(), std::numeric_limits<double>::quiet_NaN(), point.y(), point.y()};
}

std::optional<Range> TableSource::extent(XAxis) const
{
    if (m_points.empty())
        return std::nullopt;
    return Range{m_points.front().x(), m_points.back().x()};
}

CurvePoints TableSource::sample(const ChartSettings&, Range, int)
{
    CurvePoints points; // tables are short; all of it, so that lines go on to the border
    std::copy_if(m_points.begin(), m_points.end(), std::back_inserter(points.line),
                 [](const QPointF& point) { return std::isfinite(point.y()); });
    return points;
}

std::vector<double> TableSource::marks(XAxis) const
{
    return {}; // no number in a table means that the row has none, not that something went wrong
}

std::optional<std::size_t> TableSource::nearest(XAxis, double x) const
{
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < m_points.size(); ++i)
        if (std::isfinite(m_points[i].y()) &&
            (!best || std::abs(m_points[i].x() - x) < std::abs(m_points[*best].x() - x)))
            best = i;
    return best;
}

std::optional<double> TableSource::last() const
{
    return m_points.empty() ? std::nullopt : std::optional(m_points.back().y());
}

bool hasCurve(const ChartTable& table, std::size_t column)
{
    return std::any_of(table.rows.begin(), table.rows.end(), [&](const std::vector<double>& row) {
        return column < row.size() && std::isfinite(row[0]) && std::isfinite(row[column]);
    });
}

bool hasAnyCurve(const ChartTable& table)
{
    for (qsizetype column = 1; column < table.columns.size(); ++column)
        if (hasCurve(table, static_cast<std::size_t>(column)))
            return true;
    return false;
}

} // namespace vergence
