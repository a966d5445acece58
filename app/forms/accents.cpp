#include "app/forms/accents.h"

#include <algorithm>
#include <cmath>

#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

namespace vergence {
namespace {

constexpr int kSide = 32; // drawn large, shown at 16 pixels, sharp on dense displays

double luminance(const QColor& colour)
{
    const auto linear = [](double s) {
        return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

void drawLock(QPainter& painter)
{
    painter.setBrush(Qt::NoBrush);
    painter.drawArc(QRectF(10, 5, 12, 16), 0, 180 * 16);
    painter.setBrush(painter.pen().color());
    painter.drawRoundedRect(QRectF(7, 14, 18, 13), 2, 2);
}

void drawDice(QPainter& painter)
{
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(5, 5, 22, 22), 4, 4);
    painter.setBrush(painter.pen().color());
    painter.setPen(Qt::NoPen);
    for (const QPointF& pip :
         {QPointF(11, 11), QPointF(21, 11), QPointF(16, 16), QPointF(11, 21), QPointF(21, 21)})
        painter.drawEllipse(pip, 2.2, 2.2);
}

void drawLines(QPainter& painter, const QPolygonF& a, const QPolygonF& b)
{
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(a);
    painter.drawPolyline(b);
}

} // namespace

QColor accentColour(Accent accent, const QPalette& palette)
{
    const bool isDark = luminance(palette.color(QPalette::Window)) < 0.2;
    switch (accent) {
    case Accent::Error:
        return isDark ? QColor(0xff, 0x8f, 0x85) : QColor(0xb0, 0x1a, 0x1a);
    case Accent::Warning:
        return isDark ? QColor(0xf2, 0xc0, 0x55) : QColor(0x7a, 0x4d, 0x00);
    case Accent::Changed:
        break;
    }
    return isDark ? QColor(0x7c, 0xc4, 0xff) : QColor(0x0b, 0x5c, 0xad);
}

QIcon signIcon(Sign sign, const QColor& colour)
{
    QPixmap pixmap(kSide, kSide);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour, 2.5));
    painter.setBrush(colour);
    switch (sign) {
    case Sign::Dot:
        painter.setPen(Qt::NoPen);
        painter.drawEllipse(QPointF(16, 16), 7, 7);
        break;
    case Sign::Lock:
        drawLock(painter);
        break;
    case Sign::Dice:
        drawDice(painter);
        break;
    case Sign::Exists:
        drawLines(painter, {{6, 17}, {13, 24}}, {{13, 24}, {26, 9}});
        break;
    case Sign::Missing:
        drawLines(painter, {{8, 8}, {24, 24}}, {{24, 8}, {8, 24}});
        break;
    }
    painter.end();
    return QIcon(pixmap);
}

double contrast(const QColor& a, const QColor& b)
{
    const double first = luminance(a) + 0.05, second = luminance(b) + 0.05;
    return std::max(first, second) / std::min(first, second);
}

} // namespace vergence
