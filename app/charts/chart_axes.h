#pragma once

#include <vector>

#include <QFont>
#include <QPalette>

#include "app/charts/chart_ticks.h"
#include "app/charts/curve_source.h"

class QCategoryAxis;
class QChart;

namespace vergence {

/// From units of the axes (where Y is logarithmic: common logarithms) to pixels of the chart.
struct PlotScale {
    double x0 = 0, perX = 1, y0 = 0, perY = 1;

    double x(double value) const { return x0 + value * perX; }
    double y(double value) const { return y0 + value * perY; }
};

/// The two axes of a card with ticks of our own, so that a zoom shows exactly the range it was
/// given, also on a logarithmic axis. Qt's axes are linear; a logarithmic Y holds common
/// logarithms.
class ChartAxes {
public:
    explicit ChartAxes(QChart* chart);

    void setRanges(Range x, Range y, const ChartSettings& settings, bool hasSteps);
    void restyle(const QPalette& palette, const QFont& font);

    Range x() const { return m_x; } ///< data units
    Range y() const { return m_y; } ///< data units, also where the axis is logarithmic
    bool isLogY() const { return m_isLogY; }
    double toPlotY(double value) const; ///< data unit to unit of the axis

    PlotScale plotScale() const;
    QPointF pixelOf(double x, double y) const;
    double xAtPixel(double pixel) const;
    double yAtPixel(double pixel) const;

private:
    void putTicks(QCategoryAxis* axis, std::vector<Tick>& present, std::vector<Tick> ticks,
                  Range range);

    QChart* m_chart;
    QCategoryAxis* m_xAxis;
    QCategoryAxis* m_yAxis;
    std::vector<Tick> m_xTicks, m_yTicks;
    Range m_x, m_y;
    bool m_isLogY = false;
};

} // namespace vergence
