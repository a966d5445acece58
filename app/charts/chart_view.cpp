#include "app/charts/chart_view.h"

#include <cmath>
#include <utility>

#include <QChart>
#include <QGraphicsRectItem>
#include <QMouseEvent>
#include <QPen>
#include <QResizeEvent>
#include <QWheelEvent>

namespace vergence {
namespace {

constexpr double kSmallestBox = 4;  // pixels; less is a click
constexpr double kWheelStep = 1.25; // per notch

} // namespace

ChartView::ChartView(QChart* chart, QWidget* parent)
    : QChartView(chart, parent),
      m_box(new QGraphicsRectItem(chart))
{
    setFocusPolicy(Qt::NoFocus); // the card around it takes the keys
    setMouseTracking(true);
    setFrameShape(QFrame::NoFrame);
    setViewportUpdateMode(QGraphicsView::MinimalViewportUpdate);
    m_box->setZValue(30);
    m_box->hide();
}

void ChartView::setBoxColour(const QColor& colour)
{
    QColor fill = colour;
    fill.setAlphaF(0.15F);
    m_box->setPen(QPen(colour, 1));
    m_box->setBrush(fill);
}

void ChartView::mousePressEvent(QMouseEvent* event)
{
    if (parentWidget() != nullptr)
        parentWidget()->setFocus(Qt::MouseFocusReason);
    m_pressed = m_panned = event->position();
    m_isDrawing = event->button() == Qt::LeftButton && chart()->plotArea().contains(m_pressed);
    m_isPanning = event->button() == Qt::RightButton;
    m_hasPanned = false;
    event->accept();
}

void ChartView::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_isDrawing) {
        m_box->setRect(QRectF(m_pressed, at).normalized() & chart()->plotArea());
        m_box->show();
    } else if (m_isPanning) {
        Q_EMIT panned(at - m_panned, m_hasPanned);
        m_hasPanned = true;
        m_panned = at;
    }
    Q_EMIT hovered(at);
}

void ChartView::mouseReleaseEvent(QMouseEvent* event)
{
    if (m_isDrawing && event->button() == Qt::LeftButton) {
        const QRectF box = QRectF(m_pressed, event->position()).normalized() & chart()->plotArea();
        m_box->hide();
        if (box.width() >= kSmallestBox && box.height() >= kSmallestBox)
            Q_EMIT boxDrawn(box);
        else
            Q_EMIT clicked(m_pressed);
    }
    m_isDrawing = m_isPanning = false;
}

void ChartView::mouseDoubleClickEvent(QMouseEvent* event)
{
    m_isDrawing = false;
    m_box->hide();
    if (event->button() == Qt::LeftButton)
        Q_EMIT doubleClicked();
}

void ChartView::wheelEvent(QWheelEvent* event)
{
    const QPoint angle = event->angleDelta();
    const int turned =
        angle.y() != 0 ? angle.y() : angle.x(); // some systems turn Shift+wheel sideways
    if (turned == 0 || !chart()->plotArea().contains(event->position())) {
        event->ignore(); // beside the plot the wheel scrolls the grid
        return;
    }
    const bool isVertical = event->modifiers().testFlag(Qt::ShiftModifier);
    Q_EMIT wheelTurned(event->position(), std::pow(kWheelStep, -turned / 120.0), isVertical);
    event->accept();
}

void ChartView::leaveEvent(QEvent* event)
{
    Q_EMIT left();
    QChartView::leaveEvent(event);
}

void ChartView::resizeEvent(QResizeEvent* event)
{
    QGraphicsView::resizeEvent(event);
    m_isFitted = false;
}

void ChartView::paintEvent(QPaintEvent* event)
{
    fit();
    QChartView::paintEvent(event);
}

void ChartView::fit()
{
    if (std::exchange(m_isFitted, true))
        return;
    QResizeEvent same(size(), size());
    QChartView::resizeEvent(&same);
}

} // namespace vergence
