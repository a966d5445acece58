#include "plugins/light_field/loss_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace vergence::light_field {

namespace {

struct Colour {
    std::uint8_t red, green, blue;
};
constexpr Colour kText{40, 40, 40}, kGrid{225, 225, 225}, kTraining{31, 119, 180},
    kHeldOut{214, 80, 20};
constexpr int kWidth = 640, kHeight = 400, kLeft = 70, kRight = 20, kTop = 34, kBottom = 44;

void putPixel(Image& image, int x, int y, Colour colour)
{
    if (x < 0 || y < 0 || x >= image.width || y >= image.height)
        return;
    std::uint8_t* pixel = image.row(y) + static_cast<std::ptrdiff_t>(x) * 3;
    pixel[0] = colour.red;
    pixel[1] = colour.green;
    pixel[2] = colour.blue;
}

void drawLine(Image& image, double x0, double y0, double x1, double y1, Colour colour)
{
    const int steps =
        std::max(1, static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)))));
    for (int i = 0; i <= steps; ++i) {
        const double t = static_cast<double>(i) / steps;
        putPixel(image, static_cast<int>(std::lround(x0 + t * (x1 - x0))),
                 static_cast<int>(std::lround(y0 + t * (y1 - y0))), colour);
    }
}

/// Data to picture, x linear, y logarithmic.
struct Axes {
    double lastIteration, lowest, highest; // lowest and highest are powers of ten as exponents

    double x(double iteration) const
    {
        return kLeft +
               (kWidth - kLeft - kRight) * (iteration - 1) / std::max(1.0, lastIteration - 1);
    }
    double y(double value) const
    {
        return kTop +
               (kHeight - kTop - kBottom) * (highest - std::log10(value)) / (highest - lowest);
    }
};

using Points = std::vector<std::pair<double, double>>;

void drawCurve(Image& image, const Axes& axes, const Points& points, Colour colour)
{
    for (std::size_t i = 1; i < points.size(); ++i) {
        const double x0 = axes.x(points[i - 1].first), y0 = axes.y(points[i - 1].second);
        const double x1 = axes.x(points[i].first), y1 = axes.y(points[i].second);
        drawLine(image, x0, y0, x1, y1, colour);
        drawLine(image, x0, y0 + 1, x1, y1 + 1, colour);
    }
}

void drawAxes(Image& image, const Axes& axes)
{
    for (int exponent = static_cast<int>(axes.lowest); exponent <= static_cast<int>(axes.highest);
         ++exponent) {
        const double y = axes.y(std::pow(10.0, exponent));
        drawLine(image, kLeft, y, kWidth - kRight, y, kGrid);
        const std::string label = fmt::format("1e{}", exponent);
        drawText(image, kLeft - 8 - textWidth(label), static_cast<int>(y) - 3, label, kText.red,
                 kText.green, kText.blue);
    }
    for (int tick = 0; tick <= 4; ++tick) {
        const double iteration = 1 + (axes.lastIteration - 1) * tick / 4;
        const std::string label = fmt::format("{:.0f}", iteration);
        drawText(image, static_cast<int>(axes.x(iteration)) - textWidth(label) / 2,
                 kHeight - kBottom + 8, label, kText.red, kText.green, kText.blue);
    }
    drawLine(image, kLeft, kTop, kLeft, kHeight - kBottom, kText);
    drawLine(image, kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, kText);
    const std::string title = "iteration";
    drawText(image, (kWidth - textWidth(title)) / 2, kHeight - 18, title, kText.red, kText.green,
             kText.blue);
}

bool isPlottable(double value)
{
    return std::isfinite(value) && value > 0;
}

} // namespace

Image plotLoss(const ItemResult& result, const std::string& title)
{
    Points training, heldOut;
    for (const HistoryPoint& point : result.history) {
        if (isPlottable(point.record.mse))
            training.emplace_back(point.record.iteration, point.record.mse);
        const double mse = std::pow(10.0, -point.heldOutPsnr / 10);
        if (isPlottable(mse))
            heldOut.emplace_back(point.record.iteration, mse);
    }
    Image image = makeImage(kWidth, kHeight, 3, 255);
    drawText(image, kLeft, 10, title, kText.red, kText.green, kText.blue, 2);
    if (training.empty())
        return image;

    double lowest = 1e300, highest = 0;
    for (const Points* points : {&training, &heldOut}) {
        for (const auto& [iteration, value] : *points) {
            lowest = std::min(lowest, value);
            highest = std::max(highest, value);
        }
    }
    Axes axes{static_cast<double>(std::max(2, result.history.back().record.iteration)),
              std::floor(std::log10(lowest)), std::ceil(std::log10(highest))};
    if (axes.lowest == axes.highest)
        axes.highest += 1;
    drawAxes(image, axes);
    drawCurve(image, axes, training, kTraining);
    drawCurve(image, axes, heldOut, kHeldOut);
    drawText(image, kWidth - 190, kTop + 6, "training mse", kTraining.red, kTraining.green,
             kTraining.blue);
    drawText(image, kWidth - 190, kTop + 20, "held-out mse in the ROI", kHeldOut.red,
             kHeldOut.green, kHeldOut.blue);
    return image;
}

} // namespace vergence::light_field
