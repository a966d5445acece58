#include "app/charts/chart_curves.h"

#include <algorithm>

#include <QChart>
#include <QPainter>

#include "app/charts/chart_axes.h"

namespace vergence {
namespace {

constexpr float kBandOpacity = 0.35F;
constexpr double kDotRadius = 2;    // pixels
constexpr double kFarAway = 32'000; // pixels; beyond it a painter loses precision
constexpr double kZ = 5;            // over Qt's grid, below the overlay

} // namespace

ChartCurves::ChartCurves(QChart* chart, const ChartAxes& axes)
    : QGraphicsItem(chart),
      m_chart(*chart),
      m_axes(axes)
{
    setZValue(kZ);
    setAcceptedMouseButtons(Qt::NoButton);
}

void ChartCurves::setColours(std::vector<QColor> colours)
{
    m_colours = std::move(colours);
    update();
}

void ChartCurves::setCurves(std::vector<Curve> curves)
{
    m_curves = std::move(curves);
    update();
}

void ChartCurves::plotAreaMoved()
{
    prepareGeometryChange();
    m_area = m_chart.plotArea().adjusted(-1, -1, 1, 1);
}

int ChartCurves::pointCount() const
{
    int count = 0;
    for (const Curve& curve : m_curves)
        count += static_cast<int>(curve.band.size() + curve.line.size());
    return count;
}

QRectF ChartCurves::boundingRect() const
{
    return m_area;
}

QPolygonF ChartCurves::toPixels(const QPolygonF& points) const
{
    const PlotScale scale = m_axes.plotScale();
    QPolygonF pixels;
    pixels.reserve(points.size());
    for (const QPointF& point : points)
        pixels.append({std::clamp(scale.x(point.x()), -kFarAway, kFarAway),
                       std::clamp(scale.y(point.y()), -kFarAway, kFarAway)});
    return pixels;
}

void ChartCurves::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*)
{
    painter->setClipRect(m_area);
    for (std::size_t i = 0; i < m_curves.size() && i < m_colours.size(); ++i) {
        QColor pale = m_colours[i];
        pale.setAlphaF(kBandOpacity);
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(pale, 1));
        painter->drawPolyline(toPixels(m_curves[i].band));
        const QPolygonF line = toPixels(m_curves[i].line);
        painter->setPen(QPen(m_colours[i], 1));
        painter->drawPolyline(line);
        if (!m_curves[i].hasDots)
            continue;
        painter->setBrush(m_colours[i]);
        for (const QPointF& at : line)
            painter->drawEllipse(at, kDotRadius, kDotRadius);
    }
}

} // namespace vergence
