#include "app/charts/chart_colours.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vergence {
namespace {

double luminance(const QColor& colour)
{
    const auto linear = [](double s) {
        return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b)
{
    const double first = luminance(a) + 0.05, second = luminance(b) + 0.05;
    return std::max(first, second) / std::min(first, second);
}

QColor mixed(const QColor& a, const QColor& b, float share)
{
    return QColor::fromRgbF(a.redF() + (b.redF() - a.redF()) * share,
                            a.greenF() + (b.greenF() - a.greenF()) * share,
                            a.blueF() + (b.blueF() - a.blueF()) * share);
}

} // namespace

QColor markColour(bool isDark)
{
    return isDark ? QColor(0xff, 0x6b, 0x60) : QColor(0xc6, 0x1a, 0x1a);
}

QColor gridColour(const QPalette& palette)
{
    return mixed(palette.color(QPalette::Base), palette.color(QPalette::Text), 0.15F);
}

QColor quietTextColour(const QPalette& palette)
{
    return mixed(palette.color(QPalette::Text), palette.color(QPalette::Base), 0.25F);
}

QColor readableColour(QColor colour, const QColor& background)
{
    const QColor goal = luminance(background) < 0.2 ? Qt::white : Qt::black;
    for (int i = 0; i < 10 && contrast(colour, background) < 3; ++i)
        colour = mixed(colour, goal, 0.15F);
    return colour;
}

QColor columnColour(int index)
{
    // The palette of Okabe and Ito, told apart also by people who see fewer colours.
    static const std::array kColours{QColor(0x00, 0x72, 0xb2), QColor(0xd5, 0x5e, 0x00),
                                     QColor(0x00, 0x9e, 0x73), QColor(0xcc, 0x79, 0xa7),
                                     QColor(0xe6, 0x9f, 0x00), QColor(0x56, 0xb4, 0xe9)};
    return kColours[static_cast<std::size_t>(index) % kColours.size()];
}

} // namespace vergence
