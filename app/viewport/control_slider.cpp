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
constexpr double kMarkRadius = 2;
constexpr double kSweepSeconds = 4; ///< from one end to the other

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

int ControlSlider::stepOf(double value) const
{
    return static_cast<int>(std::lround((value - m_low) / (m_high - m_low) * kSteps));
}

double ControlSlider::realValue() const
{
    if (value() == stepOf(m_default))
        return m_default; // which may lie between two steps
    return m_low + (m_high - m_low) * value() / kSteps;
}

void ControlSlider::setRealValue(double value)
{
    setValue(stepOf(value));
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
    const int marks = m_control.marks.empty() ? 0 : static_cast<int>(2 * kMarkRadius);
    return {std::max(160, base.width()), base.height() + marks};
}

QSize ControlSlider::minimumSizeHint() const
{
    return {80, sizeHint().height()};
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
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::WindowText), 1));
    for (const ViewControl::Mark& mark : m_control.marks) {
        // Held-out marks are hollow, as on the pad; the tooltip says so.
        const bool isHollow = mark.label != m_control.marks.front().label;
        painter.setBrush(isHollow ? QBrush(Qt::NoBrush) : palette().brush(QPalette::WindowText));
        painter.drawEllipse(QPointF(xOf(entry(mark.at, m_low)), height() - kMarkRadius - 1),
                            kMarkRadius, kMarkRadius);
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
