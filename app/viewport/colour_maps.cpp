#include "app/viewport/colour_maps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/view/frame_publisher.h"

namespace vergence {
namespace {

struct Oklch {
    double lightness, chroma, hueDegrees;
};

std::array<double, 3> linearRgb(const Oklch& colour)
{
    const double hue = colour.hueDegrees * std::numbers::pi / 180;
    const double a = colour.chroma * std::cos(hue), b = colour.chroma * std::sin(hue);
    const double l = std::pow(colour.lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = std::pow(colour.lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = std::pow(colour.lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool isInGamut(const std::array<double, 3>& rgb)
{
    return std::ranges::all_of(rgb, [](double c) { return c >= -1e-4 && c <= 1 + 1e-4; });
}

/// Lowers the chroma until sRGB can show the colour; lightness and hue stay.
QRgb shown(Oklch colour)
{
    auto rgb = linearRgb(colour);
    while (!isInGamut(rgb) && colour.chroma > 1e-3) {
        colour.chroma *= 0.97;
        rgb = linearRgb(colour);
    }
    const auto encoded = [](double c) { return encodeSrgb8(static_cast<float>(c)); };
    return qRgb(encoded(rgb[0]), encoded(rgb[1]), encoded(rgb[2]));
}

} // namespace

QRgb mapColour(FalseColour map, double t)
{
    t = std::clamp(t, 0.0, 1.0);
    switch (map) {
    case FalseColour::Diverging: {
        const double distance = std::abs(2 * t - 1);
        return shown({0.95 - 0.50 * distance, 0.19 * distance, t < 0.5 ? 258.0 : 27.0});
    }
    case FalseColour::Magnitude:
        return shown({0.16 + 0.78 * t, 0.06 + 0.12 * std::sin(std::numbers::pi * (0.15 + 0.7 * t)),
                      285 - 180 * t});
    case FalseColour::Grey:
        break;
    }
    const int grey = static_cast<int>(std::lround(255 * t));
    return qRgb(grey, grey, grey);
}

QImage colourMapTable()
{
    QImage table(256, kFalseColourCount, QImage::Format_RGBA8888);
    for (int row = 0; row < kFalseColourCount; ++row)
        for (int x = 0; x < 256; ++x)
            table.setPixel(x, row, mapColour(static_cast<FalseColour>(row), x / 255.0));
    return table;
}

} // namespace vergence
