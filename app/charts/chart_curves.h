#pragma once

#include <vector>

#include <QColor>
#include <QGraphicsItem>
#include <QPolygonF>

class QChart;

namespace vergence {

class ChartAxes;

/// The curves of a card, over the grid and below cross-hair and marks. An item of its own because
/// a QLineSeries computes the outline of its curve for every change, which took four fifths of the
/// time of a refresh and serves clicks that the card finds itself.
class ChartCurves : public QGraphicsItem {
public:
    /// Points in units of the axes.
    struct Curve {
        QPolygonF band; ///< minimum and maximum of each column, drawn pale; empty for none
        QPolygonF line;
        bool hasDots = false; ///< each point of the line is marked as well
    };

    ChartCurves(QChart* chart, const ChartAxes& axes);

    /// One colour for each curve that is to come.
    void setColours(std::vector<QColor> colours);
    void setCurves(std::vector<Curve> curves);
    /// To be called where the plot area has moved.
    void plotAreaMoved();
    int pointCount() const;

    QRectF boundingRect() const override;
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

private:
    QPolygonF toPixels(const QPolygonF& points) const;

    const QChart& m_chart;
    const ChartAxes& m_axes;
    std::vector<Curve> m_curves;
    std::vector<QColor> m_colours;
    QRectF m_area; // of the plot; kept, for items are asked for it while their chart goes away
};

} // namespace vergence
