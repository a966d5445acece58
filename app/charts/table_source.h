#pragma once

#include "app/charts/charts_panel.h"
#include "app/charts/curve_source.h"

namespace vergence {

/// One column of a table over its first column. Rows are drawn by rising abscissa; indices are
/// those of the table's rows in that order.
class TableSource : public CurveSource {
public:
    TableSource(const ChartTable& table, std::size_t column);

    std::size_t rowOf(std::size_t index) const
    {
        return m_rows[index];
    } ///< row of the table as it was given

    bool update() override { return false; }
    std::size_t size() const override { return m_points.size(); }
    RawPoint at(std::size_t index, double smoothing) override;
    std::optional<Range> extent(XAxis axis) const override;
    CurvePoints sample(const ChartSettings& settings, Range range, int columns) override;
    std::vector<double> marks(XAxis axis) const override;
    std::optional<std::size_t> nearest(XAxis axis, double x) const override;
    std::optional<double> last() const override;
    bool hasSteps() const override { return false; }

private:
    std::vector<QPointF> m_points;
    std::vector<std::size_t> m_rows;
};

/// Whether a column has a number in a row whose abscissa is a number too.
bool hasCurve(const ChartTable& table, std::size_t column);

/// False for tables of text (a list of figures), which are no charts.
bool hasAnyCurve(const ChartTable& table);

} // namespace vergence
