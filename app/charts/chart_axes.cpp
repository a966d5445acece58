#include "app/charts/chart_axes.h"

#include <cmath>

#include <QCategoryAxis>
#include <QChart>
#include <QGraphicsLayout>

#include "app/charts/chart_colours.h"

namespace vergence {
namespace {

constexpr double kPixelsPerTickX = 55, kPixelsPerTickY = 24;

Range logarithms(Range range)
{
    return {std::log10(range.from), std::log10(range.to)};
}

} // namespace

ChartAxes::ChartAxes(QChart* chart)
    : m_chart(chart),
      m_xAxis(new QCategoryAxis(chart)),
      m_yAxis(new QCategoryAxis(chart))
{
    for (QCategoryAxis* axis : {m_xAxis, m_yAxis}) {
        axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
        axis->setTruncateLabels(false);
    }
    chart->addAxis(m_xAxis, Qt::AlignBottom);
    chart->addAxis(m_yAxis, Qt::AlignLeft);
}

void ChartAxes::setRanges(Range x, Range y, const ChartSettings& settings, bool hasSteps)
{
    m_x = x;
    m_y = y;
    m_isLogY = settings.isLogY;
    const QRectF plot = m_chart->plotArea();
    const int wantedX = std::max(2, static_cast<int>(plot.width() / kPixelsPerTickX));
    const int wantedY = std::max(2, static_cast<int>(plot.height() / kPixelsPerTickY));
    const bool isTime = hasSteps && settings.axis == XAxis::Wall;
    putTicks(m_xAxis, m_xTicks, isTime ? timeTicks(x, wantedX) : linearTicks(x, wantedX), x);
    if (m_isLogY)
        putTicks(m_yAxis, m_yTicks, logTicks(logarithms(y), wantedY), logarithms(y));
    else
        putTicks(m_yAxis, m_yTicks, linearTicks(y, wantedY), y);
}

void ChartAxes::putTicks(QCategoryAxis* axis, std::vector<Tick>& present, std::vector<Tick> ticks,
                         Range range)
{
    if (ticks == present) {
        axis->setRange(range.from, range.to);
        return;
    }
    for (const QString& label : axis->categoriesLabels())
        axis->remove(label);
    axis->setStartValue(range.from);
    for (const Tick& tick : ticks)
        axis->append(tick.label, tick.position);
    axis->setRange(range.from, range.to);
    m_chart->layout()->invalidate(); // the new labels may be wider
    present = std::move(ticks);
}

void ChartAxes::restyle(const QPalette& palette, const QFont& font)
{
    for (QCategoryAxis* axis : {m_xAxis, m_yAxis}) {
        axis->setLabelsFont(font);
        axis->setLabelsColor(quietTextColour(palette));
        axis->setLinePen(QPen(gridColour(palette), 1));
        axis->setGridLinePen(QPen(gridColour(palette), 1));
        axis->setShadesVisible(false);
    }
}

double ChartAxes::toPlotY(double value) const
{
    return m_isLogY ? std::log10(value) : value;
}

PlotScale ChartAxes::plotScale() const
{
    const QRectF plot = m_chart->plotArea();
    const Range range = m_isLogY ? logarithms(m_y) : m_y;
    const double perX = plot.width() / m_x.width(), perY = -plot.height() / range.width();
    return {plot.left() - m_x.from * perX, perX, plot.bottom() - range.from * perY, perY};
}

QPointF ChartAxes::pixelOf(double x, double y) const
{
    const PlotScale scale = plotScale();
    return {scale.x(x), scale.y(toPlotY(y))};
}

double ChartAxes::xAtPixel(double pixel) const
{
    const QRectF plot = m_chart->plotArea();
    return m_x.from + (pixel - plot.left()) / plot.width() * m_x.width();
}

double ChartAxes::yAtPixel(double pixel) const
{
    const QRectF plot = m_chart->plotArea();
    const Range range = m_isLogY ? logarithms(m_y) : m_y;
    const double value = range.from + (plot.bottom() - pixel) / plot.height() * range.width();
    return m_isLogY ? std::pow(10.0, value) : value;
}

} // namespace vergence
