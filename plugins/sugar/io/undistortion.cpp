#include "plugins/sugar/io/undistortion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "plugins/sugar/io/distortion.h"

namespace vergence::sugar {

namespace {

/// Where the four edges of a picture lie without the lens, normalised coordinates.
class BorderBox {
public:
    explicit BorderBox(const SourceCamera& camera) : m_camera(camera), m_fold(camera.foldRadius())
    {
        for (int x = 0; x <= camera.width; ++x) {
            extend(m_top, x, 0, 1);
            extend(m_bottom, x, camera.height, 1);
        }
        for (int y = 0; y <= camera.height; ++y) {
            extend(m_left, 0, y, 0);
            extend(m_right, camera.width, y, 0);
        }
    }

    struct Span {
        double low, high;
    };
    Span across(bool isInner) const { return spanOf(m_left, m_right, isInner); }
    Span down(bool isInner) const { return spanOf(m_top, m_bottom, isInner); }

private:
    struct Edge {
        double low = std::numeric_limits<double>::infinity();
        double high = -std::numeric_limits<double>::infinity();
    };

    void extend(Edge& edge, double x, double y, std::size_t axis) const
    {
        const auto point = undistort(m_camera, (x - m_camera.cx()) / m_camera.fx(),
                                     (y - m_camera.cy()) / m_camera.fy(), m_fold);
        if (!point)
            return;
        edge.low = std::min(edge.low, (*point)[axis]);
        edge.high = std::max(edge.high, (*point)[axis]);
    }

    static Span spanOf(const Edge& first, const Edge& second, bool isInner)
    {
        return isInner ? Span{first.high, second.low} : Span{first.low, second.high};
    }

    const SourceCamera& m_camera;
    double m_fold;
    Edge m_left, m_right, m_top, m_bottom;
};

struct Axis {
    double focal, centre;
};

/// Focal length and principal point that show `span` on `size` pixels.
Axis axisFor(const BorderBox::Span& span, int size, double focal, double centre)
{
    if (!(span.high > span.low) || !std::isfinite(span.high - span.low))
        return {focal, centre}; // the lens folds within the picture
    const double wanted = std::clamp(size / (span.high - span.low), 0.5 * focal, 2 * focal);
    return {wanted, size / 2.0 - wanted * (span.low + span.high) / 2};
}

/// Bilinear sample of the pixel coordinates (x, y), border repeated, rounded.
void sample(const Image& image, double x, double y, std::uint8_t* out)
{
    const double px = std::clamp(x - 0.5, 0.0, image.width - 1.0);
    const double py = std::clamp(y - 0.5, 0.0, image.height - 1.0);
    const int x0 = static_cast<int>(px), y0 = static_cast<int>(py);
    const int x1 = std::min(x0 + 1, image.width - 1), y1 = std::min(y0 + 1, image.height - 1);
    const auto fx = static_cast<float>(px - x0), fy = static_cast<float>(py - y0);
    const std::uint8_t* top = image.row(y0);
    const std::uint8_t* bottom = image.row(y1);
    for (int c = 0; c < image.channels; ++c) {
        const auto at = [&](const std::uint8_t* row, int column) {
            return static_cast<float>(row[column * image.channels + c]);
        };
        const float above = at(top, x0) + fx * (at(top, x1) - at(top, x0));
        const float below = at(bottom, x0) + fx * (at(bottom, x1) - at(bottom, x0));
        out[c] = static_cast<std::uint8_t>(above + fy * (below - above) + 0.5F);
    }
}

} // namespace

std::optional<UndistortFit> undistortFit(const std::string& name)
{
    if (name == "inside")
        return UndistortFit::Inside;
    if (name == "all")
        return UndistortFit::All;
    if (name == "keepK")
        return UndistortFit::KeepK;
    return std::nullopt;
}

SourceCamera undistortedCamera(const SourceCamera& camera, UndistortFit fit)
{
    SourceCamera result = camera;
    result.model = CameraModel::Pinhole;
    result.parameters = {camera.fx(), camera.fy(), camera.cx(), camera.cy()};
    if (camera.isPinhole() || fit == UndistortFit::KeepK)
        return result;
    const BorderBox box(camera);
    const bool isInner = fit == UndistortFit::Inside;
    const Axis x = axisFor(box.across(isInner), camera.width, camera.fx(), camera.cx());
    const Axis y = axisFor(box.down(isInner), camera.height, camera.fy(), camera.cy());
    result.parameters = {x.focal, y.focal, x.centre, y.centre};
    return result;
}

UndistortedImage undistorted(const Image& image, const SourceCamera& from, const SourceCamera& to)
{
    expects(image.width == from.width && image.height == from.height && to.isPinhole(),
            "undistorted: the picture must have the size of its camera, and the target no lens");
    UndistortedImage result{makeImage(to.width, to.height, image.channels), {}};
    result.mask.assign(static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height), 1);
    const double fold = from.foldRadius(), fx = from.fx(), fy = from.fy(), cx = from.cx(),
                 cy = from.cy();
    bool isWhole = true;
    std::uint8_t* seen = result.mask.data();
    for (int row = 0; row < to.height; ++row) {
        const double v = (row + 0.5 - to.cy()) / to.fy();
        std::uint8_t* out = result.image.row(row);
        for (int column = 0; column < to.width; ++column, out += image.channels, ++seen) {
            const double u = (column + 0.5 - to.cx()) / to.fx();
            const auto [du, dv] = from.distort(u, v);
            const double x = fx * du + cx, y = fy * dv + cy;
            const bool isInside = x >= 0 && x <= image.width && y >= 0 && y <= image.height &&
                                  u * u + v * v <= fold * fold;
            if (isInside) {
                sample(image, x, y, out);
            } else {
                *seen = 0;
                isWhole = false;
            }
        }
    }
    if (isWhole)
        result.mask.clear();
    return result;
}

} // namespace vergence::sugar
