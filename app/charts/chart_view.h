#pragma once

#include <QChartView>

class QGraphicsRectItem;

namespace vergence {

/// A chart under the mouse: turns movements into what they mean. Positions are in pixels of the
/// chart.
class ChartView : public QChartView {
    Q_OBJECT
public:
    explicit ChartView(QChart* chart, QWidget* parent);

    void setBoxColour(const QColor& colour);
    /// Lays the chart out for the present size. A new size waits for this, or for being painted:
    /// docks that move give several sizes in a row, and laying out a chart takes a millisecond.
    void fit();

Q_SIGNALS:
    void hovered(const QPointF& position);
    void left();
    void boxDrawn(const QRectF& box);
    void clicked(const QPointF& position);
    void doubleClicked();
    /// One turn of the wheel: `factor` below 1 zooms in.
    void wheelTurned(const QPointF& position, double factor, bool isVertical);
    void panned(const QPointF& distance, bool isContinued);

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QGraphicsRectItem* m_box;
    QPointF m_pressed;
    QPointF m_panned;
    bool m_isDrawing = false, m_isPanning = false, m_hasPanned = false;
    bool m_isFitted = true;
};

} // namespace vergence
