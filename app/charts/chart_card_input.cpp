// Keys, cross-hair and clicks of a card.

#include <algorithm>
#include <cmath>

#include <QChart>
#include <QKeyEvent>
#include <QStyleOptionFocusRect>
#include <QStylePainter>

#include "app/charts/chart_card.h"
#include "app/charts/chart_colours.h"
#include "app/charts/chart_overlay.h"
#include "app/charts/curve_range.h"

namespace vergence {
namespace {

constexpr int kNamesInLabel = 6;
constexpr double kClickRadius = 12; // pixels
constexpr double kKeyZoom = 1.5;

} // namespace

void ChartCard::showCross(std::optional<double> x)
{
    m_cross = x;
    if (!x || *x < xRange().from || *x > xRange().to) {
        m_overlay->hideCross();
        return;
    }
    m_overlay->showCross(m_axes->pixelOf(*x, 1).x(), m_chart->plotArea(), crossHtml(*x));
}

QString ChartCard::crossText() const
{
    return m_overlay->isCrossShown() ? m_overlay->crossText() : QString();
}

QString ChartCard::crossHtml(double x) const
{
    QStringList lines;
    for (const auto& source : m_sources) {
        const auto index = source->nearest(m_settings.axis, x);
        if (!index)
            continue;
        const RawPoint point = source->at(*index, m_settings.smoothing);
        if (lines.isEmpty()) {
            const bool isWall = m_settings.axis == XAxis::Wall && source->hasSteps();
            lines.append(!source->hasSteps() ? shortNumber(point.x)
                         : isWall            ? tr("%1 s").arg(shortNumber(point.wall))
                                             : tr("step %1").arg(point.x, 0, 'f', 0));
        }
        if (lines.size() > kNamesInLabel)
            break;
        const QColor colour = readableColour(source->colour, palette().color(QPalette::Base));
        QString value = valueText(point.value);
        if (m_settings.smoothing > 0 && m_sources.size() == 1)
            value += tr(" (smoothed %1)").arg(valueText(point.smoothed));
        const QString name = m_sources.size() > 1 ? source->name.toHtmlEscaped() + u' ' : QString();
        lines.append(QStringLiteral("<span style='color:%1'>■</span> %2<b>%3</b>")
                         .arg(colour.name(), name, value));
    }
    const auto more = static_cast<qsizetype>(m_sources.size()) - (lines.size() - 1);
    if (more > 0 && lines.size() > kNamesInLabel)
        lines.append(tr("+%1 more").arg(more));
    return lines.join(QStringLiteral("<br>"));
}

void ChartCard::keyPressEvent(QKeyEvent* event)
{
    if (event->modifiers() & (Qt::AltModifier | Qt::ControlModifier))
        return QFrame::keyPressEvent(event);
    const Range x = xRange();
    const double middle = m_cross.value_or((x.from + x.to) / 2), page = x.width() * 0.1;
    switch (event->key()) {
    case Qt::Key_T:
        return Q_EMIT tableRequested();
    case Qt::Key_Home:
        return Q_EMIT fitRequested();
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomAround(middle, 1 / kKeyZoom);
    case Qt::Key_Minus:
        return zoomAround(middle, kKeyZoom);
    case Qt::Key_Left:
        return moveCross(-1);
    case Qt::Key_Right:
        return moveCross(1);
    case Qt::Key_PageUp:
        return Q_EMIT crossMoved(std::max(x.from, middle - page));
    case Qt::Key_PageDown:
        return Q_EMIT crossMoved(std::min(x.to, middle + page));
    default:
        QFrame::keyPressEvent(event);
    }
}

void ChartCard::zoomAround(double x, double factor)
{
    Q_EMIT zoomRequested(scaledAround(xRange(), x, factor), std::nullopt, true);
}

void ChartCard::moveCross(int points)
{
    if (m_sources.empty())
        return;
    CurveSource& source = *m_sources.front();
    const auto at = source.nearest(m_settings.axis, m_cross.value_or(xRange().from));
    if (!at)
        return;
    const auto last = static_cast<std::ptrdiff_t>(source.size()) - 1;
    const auto next = std::clamp<std::ptrdiff_t>(
        static_cast<std::ptrdiff_t>(*at) + (m_cross ? points : 0), 0, last);
    const RawPoint point = source.at(static_cast<std::size_t>(next), 0);
    Q_EMIT crossMoved(m_settings.axis == XAxis::Wall && source.hasSteps() ? point.wall : point.x);
}

void ChartCard::clickNear(const QPointF& pixel)
{
    double best = kClickRadius;
    int curve = -1, index = -1;
    for (std::size_t i = 0; i < m_sources.size(); ++i) {
        if (m_sources[i]->hasSteps())
            continue;
        for (std::size_t k = 0; k < m_sources[i]->size(); ++k) {
            const RawPoint point = m_sources[i]->at(k, 0);
            const QPointF away = m_axes->pixelOf(point.x, point.value) - pixel;
            if (const double distance = std::hypot(away.x(), away.y()); distance < best) {
                best = distance;
                curve = static_cast<int>(i);
                index = static_cast<int>(k);
            }
        }
    }
    if (curve >= 0)
        Q_EMIT pointClicked(curve, index);
}

void ChartCard::focusInEvent(QFocusEvent* event)
{
    QFrame::focusInEvent(event);
    Q_EMIT becameCurrent();
    update();
}

void ChartCard::focusOutEvent(QFocusEvent* event)
{
    QFrame::focusOutEvent(event);
    update();
}

void ChartCard::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        restyle();
    QFrame::changeEvent(event);
}

void ChartCard::paintEvent(QPaintEvent* event)
{
    QFrame::paintEvent(event);
    if (!hasFocus())
        return;
    QStylePainter painter(this);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
}

} // namespace vergence
