#include "app/shell/sparkline.h"

#include <algorithm>

#include <QPainter>

namespace vergence {

namespace {

constexpr std::size_t kSeconds = 300;

} // namespace

Sparkline::Sparkline(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void Sparkline::append(std::optional<double> value, double maximum)
{
    m_values.push_back(value);
    m_maximum = std::max(maximum, 1e-9);
    if (m_values.size() > kSeconds)
        m_values.pop_front();
    update();
}

void Sparkline::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.fillRect(frame, palette().base());
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(frame);
    painter.setPen(QPen(palette().color(QPalette::Link), 1));
    const double stepX = frame.width() / static_cast<double>(kSeconds - 1);
    double x = frame.right() - stepX * static_cast<double>(m_values.size() - 1);
    std::optional<QPointF> previous;
    for (const std::optional<double>& value : m_values) {
        std::optional<QPointF> point;
        if (value)
            point = QPointF(x, frame.bottom() - 1 -
                                   std::clamp(*value / m_maximum, 0.0, 1.0) * (frame.height() - 2));
        if (point && previous)
            painter.drawLine(*previous, *point);
        previous = point;
        x += stepX;
    }
}

} // namespace vergence
