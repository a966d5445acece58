#include "app/viewport/control_slider.h"

#include <algorithm>
#include <cmath>

#include <QMouseEvent>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionSlider>

#include "core/base/error.h"

namespace vergence {
namespace {

constexpr int kSteps = 1000;
constexpr int kFrameMilliseconds = 33; ///< 30 Hz
constexpr double kSweepSeconds = 4;    ///< from one end to the other

double entry(const std::vector<double>& values, double otherwise)
{
    return values.empty() ? otherwise : values.front();
}

} // namespace

ControlSlider::ControlSlider(const ViewControl& control, QWidget* parent)
    : QSlider(Qt::Horizontal, parent),
      m_control(control),
      m_low(entry(control.minimum, 0)),
      m_high(entry(control.maximum, 1)),
      m_default(entry(control.value, m_low))
{
    expects(m_high > m_low, "the slider '" + control.id + "' has a maximum above its minimum");
    setRange(0, kSteps);
    setSingleStep(kSteps / 100);
    setPageStep(kSteps / 10);
    setFocusPolicy(Qt::StrongFocus);
    setRealValue(m_default);
    m_timer.setInterval(kFrameMilliseconds);
    connect(&m_timer, &QTimer::timeout, this, &ControlSlider::advance);
    connect(this, &QSlider::valueChanged, this, [this] { Q_EMIT realValueChanged(realValue()); });
}

double ControlSlider::realValue() const
{
    return m_low + (m_high - m_low) * value() / kSteps;
}

void ControlSlider::setRealValue(double value)
{
    setValue(static_cast<int>(std::lround((value - m_low) / (m_high - m_low) * kSteps)));
}

void ControlSlider::reset()
{
    setPlaying(false);
    setRealValue(m_default);
}

void ControlSlider::setPlaying(bool playing)
{
    if (playing == m_timer.isActive())
        return;
    if (playing) {
        m_phase = static_cast<double>(value()) / kSteps;
        m_clock.start();
        m_timer.start();
    } else {
        m_timer.stop();
    }
    Q_EMIT playingChanged(playing);
}

void ControlSlider::advance()
{
    m_phase = std::fmod(m_phase + m_clock.restart() / (1000 * kSweepSeconds), 2.0);
    const double fraction = m_phase <= 1 ? m_phase : 2 - m_phase;
    setValue(static_cast<int>(std::lround(fraction * kSteps)));
}

QSize ControlSlider::sizeHint() const
{
    const QSize base = QSlider::sizeHint();
    const int marks = m_control.marks.empty() ? 0 : fontMetrics().height() + 8;
    return {std::max(180, base.width()), base.height() + marks};
}

QSize ControlSlider::minimumSizeHint() const
{
    return {120, sizeHint().height()};
}

double ControlSlider::xOf(double value) const
{
    QStyleOptionSlider option;
    initStyleOption(&option);
    const int handle = style()->pixelMetric(QStyle::PM_SliderLength, &option, this);
    return handle / 2.0 + (value - m_low) / (m_high - m_low) * (width() - handle);
}

void ControlSlider::paintEvent(QPaintEvent* event)
{
    QSlider::paintEvent(event);
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::WindowText));
    QFont small = font();
    small.setPointSizeF(std::max(7.0, small.pointSizeF() * 0.85));
    painter.setFont(small);
    const QFontMetrics metrics(small);
    double freeFrom = 0;
    QString previous;
    for (const ViewControl::Mark& mark : m_control.marks) {
        const double x = xOf(entry(mark.at, m_low));
        const int tickTop = height() - metrics.height() - 5;
        painter.drawLine(QPointF(x, tickTop), QPointF(x, tickTop + 4));
        const QString label = QString::fromStdString(mark.label);
        const double textWidth = metrics.horizontalAdvance(label);
        const double left = std::clamp(x - textWidth / 2, 0.0, std::max(0.0, width() - textWidth));
        // Neighbouring marks of one kind share a label; labels never overlap.
        if (left < freeFrom || label == previous)
            continue;
        painter.drawText(QPointF(left, height() - metrics.descent()), label);
        freeFrom = left + textWidth + 6;
        previous = label;
    }
}

void ControlSlider::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return QSlider::mousePressEvent(event);
    setPlaying(false);
    QStyleOptionSlider option;
    initStyleOption(&option);
    const QRect handle =
        style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this);
    if (!handle.contains(event->position().toPoint())) {
        const int length = style()->pixelMetric(QStyle::PM_SliderLength, &option, this);
        setValue(QStyle::sliderValueFromPosition(
            0, kSteps, static_cast<int>(event->position().x()) - length / 2, width() - length));
    }
    QSlider::mousePressEvent(event);
}

void ControlSlider::mouseDoubleClickEvent(QMouseEvent* event)
{
    reset();
    event->accept();
}

} // namespace vergence
