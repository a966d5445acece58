#include "app/viewport/control_pad.h"

#include <algorithm>

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "core/base/error.h"

namespace vergence {
namespace {

constexpr int kSide = 74;

QPointF point(const std::vector<double>& values)
{
    return values.size() < 2 ? QPointF() : QPointF(values[0], values[1]);
}

} // namespace

ControlPad::ControlPad(const ViewControl& control, QWidget* parent)
    : QWidget(parent),
      m_control(control),
      m_range(point(control.minimum), point(control.maximum)),
      m_default(point(control.value))
{
    expects(control.minimum.size() == 2 && control.maximum.size() == 2 && m_range.width() > 0 &&
                m_range.height() > 0,
            "the pad '" + control.id + "' has two ranges that are not empty");
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::CrossCursor);
    m_value = m_default;
}

void ControlPad::setValue(QPointF value)
{
    value.setX(std::clamp(value.x(), m_range.left(), m_range.right()));
    value.setY(std::clamp(value.y(), m_range.top(), m_range.bottom()));
    if (value == m_value)
        return;
    m_value = value;
    update();
    Q_EMIT valueChanged(value);
}

QSize ControlPad::sizeHint() const
{
    return {kSide, kSide};
}

QRectF ControlPad::field() const
{
    return QRectF(rect()).adjusted(5, 5, -5, -5);
}

QPointF ControlPad::toWidget(QPointF value) const
{
    const QRectF area = field();
    return {area.left() + (value.x() - m_range.left()) / m_range.width() * area.width(),
            area.bottom() - (value.y() - m_range.top()) / m_range.height() * area.height()};
}

QPointF ControlPad::toValue(QPointF position) const
{
    const QRectF area = field();
    return {m_range.left() + (position.x() - area.left()) / area.width() * m_range.width(),
            m_range.top() + (area.bottom() - position.y()) / area.height() * m_range.height()};
}

void ControlPad::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor line = palette().color(hasFocus() ? QPalette::Highlight : QPalette::Mid);
    painter.setPen(QPen(line, hasFocus() ? 2 : 1));
    painter.setBrush(palette().color(QPalette::Base));
    painter.drawRoundedRect(field().adjusted(-4, -4, 4, 4), 4, 4);
    painter.setPen(QPen(palette().color(QPalette::Mid), 1, Qt::DotLine));
    const QPointF origin = toWidget(m_default);
    painter.drawLine(QPointF(field().left(), origin.y()), QPointF(field().right(), origin.y()));
    painter.drawLine(QPointF(origin.x(), field().top()), QPointF(origin.x(), field().bottom()));
    for (const ViewControl::Mark& mark : m_control.marks) {
        // Held-out marks are hollow; the legend beside the pad says so.
        const bool isHollow = mark.label != m_control.marks.front().label;
        painter.setPen(QPen(palette().color(QPalette::Text), 1));
        painter.setBrush(isHollow ? QBrush(Qt::NoBrush) : palette().brush(QPalette::Text));
        painter.drawEllipse(toWidget(point(mark.at)), 2.5, 2.5);
    }
    painter.setPen(QPen(palette().color(QPalette::HighlightedText), 1));
    painter.setBrush(palette().color(QPalette::Highlight));
    painter.drawEllipse(toWidget(m_value), 5, 5);
}

void ControlPad::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        setValue(toValue(event->position()));
}

void ControlPad::mouseMoveEvent(QMouseEvent* event)
{
    if (event->buttons() & Qt::LeftButton)
        setValue(toValue(event->position()));
}

void ControlPad::mouseDoubleClickEvent(QMouseEvent*)
{
    reset();
}

void ControlPad::keyPressEvent(QKeyEvent* event)
{
    const double share = event->modifiers() & Qt::ShiftModifier ? 0.1 : 0.02;
    const QPointF step(m_range.width() * share, m_range.height() * share);
    switch (event->key()) {
    case Qt::Key_Left:
        return setValue(m_value - QPointF(step.x(), 0));
    case Qt::Key_Right:
        return setValue(m_value + QPointF(step.x(), 0));
    case Qt::Key_Up:
        return setValue(m_value + QPointF(0, step.y()));
    case Qt::Key_Down:
        return setValue(m_value - QPointF(0, step.y()));
    case Qt::Key_Home:
        return reset();
    default:
        QWidget::keyPressEvent(event);
    }
}

} // namespace vergence
