#include "plugins/sugar/view/line_drawing.h"

#include <algorithm>
#include <cmath>

namespace vergence::sugar {

namespace {

using Point = std::array<double, 3>;

constexpr double kNear = 1e-3; ///< of the frustum's size, in front of the viewer
constexpr double kRoom = 2.5;  ///< sizes from the viewer within which frusta would hide the scene

Point toView(const Camera& camera, const Point& p)
{
    Point t{};
    for (std::size_t row = 0; row < 3; ++row) {
        t[row] = camera.translation[row];
        for (std::size_t i = 0; i < 3; ++i)
            t[row] += camera.rotation[3 * row + i] * p[i];
    }
    return t;
}

double distanceBetween(const Point& a, const Point& b)
{
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/// World point at camera coordinates t.
Point toWorld(const Camera& camera, const Point& t)
{
    Point p{};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t row = 0; row < 3; ++row)
            p[i] += camera.rotation[3 * row + i] * (t[row] - camera.translation[row]);
    }
    return p;
}

/// World position of the picture's point at fractions (x, y) of its sides, `size` ahead.
Point onPicture(const Camera& camera, double x, double y, double size)
{
    const double u = x * camera.width, v = y * camera.height;
    return toWorld(camera,
                   {size * (u - camera.cx) / camera.fx, size * (v - camera.cy) / camera.fy, size});
}

void blend(const Canvas& canvas, int x, int y, const Rgb& colour, double share)
{
    if (x < 0 || y < 0 || x >= canvas.width || y >= canvas.height || share <= 0)
        return;
    auto* pixel = &canvas.pixels[4 * (static_cast<std::size_t>(y) * canvas.width + x)];
    for (std::size_t c = 0; c < 3; ++c)
        pixel[c] = static_cast<std::uint8_t>(pixel[c] + (colour[c] - pixel[c]) * share + 0.5);
}

/// Cuts the line off at the viewer's near plane. False where nothing is left.
bool clipNear(Point& a, Point& b, double near)
{
    if (a[2] < near && b[2] < near)
        return false;
    if (a[2] >= near && b[2] >= near)
        return true;
    Point& behind = a[2] < near ? a : b;
    const Point& front = a[2] < near ? b : a;
    const double share = (near - behind[2]) / (front[2] - behind[2]);
    for (std::size_t i = 0; i < 3; ++i)
        behind[i] += share * (front[i] - behind[i]);
    return true;
}

void drawWorldLine(const Canvas& canvas, const Camera& viewer, const Point& from, const Point& to,
                   const Rgb& colour, double width, double near)
{
    Point a = toView(viewer, from), b = toView(viewer, to);
    if (!clipNear(a, b, near))
        return;
    drawLine(canvas, viewer.fx * a[0] / a[2] + viewer.cx, viewer.fy * a[1] / a[2] + viewer.cy,
             viewer.fx * b[0] / b[2] + viewer.cx, viewer.fy * b[1] / b[2] + viewer.cy, colour,
             width);
}

/// The picture on the frustum's far side, one dot per pixel of the canvas.
void drawThumbnail(const Canvas& canvas, const Camera& viewer, const Frustum& frustum, double size)
{
    if (frustum.thumbnail.empty())
        return;
    std::array<std::array<double, 2>, 4> corners{};
    for (std::size_t i = 0; i < 4; ++i) {
        const Point t = toView(viewer, onPicture(frustum.camera, i % 2, i / 2, size));
        if (t[2] < kNear * size)
            return;
        corners[i] = {viewer.fx * t[0] / t[2] + viewer.cx, viewer.fy * t[1] / t[2] + viewer.cy};
    }
    double area = 0;
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 3}, {3, 2}, {2, 0}})
        area += corners[static_cast<std::size_t>(i)][0] * corners[static_cast<std::size_t>(j)][1] -
                corners[static_cast<std::size_t>(j)][0] * corners[static_cast<std::size_t>(i)][1];
    const double pixels = std::min(4e5, std::abs(area) / 2);
    const int steps = static_cast<int>(std::clamp(1.5 * std::sqrt(pixels), 2.0, 600.0));
    for (int y = 0; y < steps; ++y) {
        for (int x = 0; x < steps; ++x) {
            const double fx = (x + 0.5) / steps, fy = (y + 0.5) / steps;
            const Point t = toView(viewer, onPicture(frustum.camera, fx, fy, size));
            const int tx = static_cast<int>(fx * frustum.thumbnailWidth);
            const int ty = static_cast<int>(fy * frustum.thumbnailHeight);
            const auto* colour =
                &frustum.thumbnail[3 * (static_cast<std::size_t>(ty) * frustum.thumbnailWidth +
                                        static_cast<std::size_t>(tx))];
            blend(canvas, static_cast<int>(std::floor(viewer.fx * t[0] / t[2] + viewer.cx)),
                  static_cast<int>(std::floor(viewer.fy * t[1] / t[2] + viewer.cy)),
                  {colour[0], colour[1], colour[2]}, 0.85);
        }
    }
}

} // namespace

void drawLine(const Canvas& canvas, double x0, double y0, double x1, double y1, const Rgb& colour,
              double width)
{
    const double dx = x1 - x0, dy = y1 - y0, length = std::hypot(dx, dy);
    if (!(length > 0) || !std::isfinite(length))
        return;
    // Cut to the canvas first: projected lines may be very long.
    double first = 0, last = 1;
    const auto cut = [&](double start, double change, double limit) {
        if (change == 0) {
            if (start < -width || start > limit + width)
                last = -1;
            return;
        }
        const double a = (-width - start) / change, b = (limit + width - start) / change;
        first = std::max(first, std::min(a, b));
        last = std::min(last, std::max(a, b));
    };
    cut(x0, dx, canvas.width);
    cut(y0, dy, canvas.height);
    const bool isFlat = std::abs(dx) >= std::abs(dy);
    const double span = isFlat ? std::abs(dx) : std::abs(dy);
    const double reach = width / 2 * length / span; // half the width, measured along one axis
    for (double at = std::ceil(first * span); at <= last * span; ++at) {
        const double x = x0 + dx * at / span, y = y0 + dy * at / span;
        const double across = isFlat ? y : x;
        const int low = static_cast<int>(std::floor(across - reach - 0.5));
        const int high = static_cast<int>(std::ceil(across + reach + 0.5));
        for (int i = low; i <= high; ++i) {
            const double share = std::clamp(reach + 0.5 - std::abs(i + 0.5 - across), 0.0, 1.0);
            const int other = static_cast<int>(std::floor(isFlat ? x : y));
            blend(canvas, isFlat ? other : i, isFlat ? i : other, colour, share);
        }
    }
}

void drawFrusta(const Canvas& canvas, const Camera& viewer, const std::vector<Frustum>& frusta,
                double size)
{
    for (const Frustum& frustum : frusta) {
        if (distanceBetween(frustum.camera.centre(), viewer.centre()) < kRoom * size)
            continue;
        const double near = kNear * size, width = frustum.isActive ? 2.2 : 1.2;
        drawThumbnail(canvas, viewer, frustum, size);
        const Point centre = frustum.camera.centre();
        const std::array<Point, 4> corners{
            onPicture(frustum.camera, 0, 0, size), onPicture(frustum.camera, 1, 0, size),
            onPicture(frustum.camera, 1, 1, size), onPicture(frustum.camera, 0, 1, size)};
        for (std::size_t i = 0; i < 4; ++i) {
            drawWorldLine(canvas, viewer, centre, corners[i], frustum.colour, width, near);
            drawWorldLine(canvas, viewer, corners[i], corners[(i + 1) % 4], frustum.colour, width,
                          near);
        }
    }
}

std::optional<std::size_t> frustumAt(const Camera& viewer, const std::vector<Frustum>& frusta,
                                     double size, double x, double y, double reach)
{
    std::optional<std::size_t> nearest;
    double best = reach;
    for (std::size_t i = 0; i < frusta.size(); ++i) {
        for (const Point& point :
             {frusta[i].camera.centre(), onPicture(frusta[i].camera, 0.5, 0.5, size)}) {
            const Point t = toView(viewer, point);
            if (t[2] < kNear * size)
                continue;
            const double distance = std::hypot(viewer.fx * t[0] / t[2] + viewer.cx - x,
                                               viewer.fy * t[1] / t[2] + viewer.cy - y);
            if (distance < best) {
                best = distance;
                nearest = i;
            }
        }
    }
    return nearest;
}

} // namespace vergence::sugar
