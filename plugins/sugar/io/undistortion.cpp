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
template <int Channels>
void sample(const Image& image, double x, double y, std::uint8_t* out)
{
    const float px = std::clamp(static_cast<float>(x) - 0.5F, 0.0F, image.width - 1.0F);
    const float py = std::clamp(static_cast<float>(y) - 0.5F, 0.0F, image.height - 1.0F);
    const int x0 = static_cast<int>(px), y0 = static_cast<int>(py);
    const float fx = px - static_cast<float>(x0), fy = py - static_cast<float>(y0);
    const int right = x0 + 1 < image.width ? Channels : 0;
    const std::uint8_t* top = image.row(y0) + x0 * Channels;
    const std::uint8_t* bottom = y0 + 1 < image.height ? top + image.width * Channels : top;
    for (int c = 0; c < Channels; ++c) {
        const auto left = static_cast<float>(top[c]), low = static_cast<float>(bottom[c]);
        const float above = left + fx * (static_cast<float>(top[right + c]) - left);
        const float below = low + fx * (static_cast<float>(bottom[right + c]) - low);
        out[c] = static_cast<std::uint8_t>(above + fy * (below - above) + 0.5F);
    }
}

/// Fills picture and mask; whether the source covers all of it.
template <int Channels>
bool resample(const Image& image, const SourceCamera& from, const SourceCamera& to,
              UndistortedImage& result)
{
    const double fold = from.foldRadius(), fx = from.fx(), fy = from.fy(), cx = from.cx(),
                 cy = from.cy();
    bool isWhole = true;
    std::uint8_t* seen = result.mask.data();
    for (int row = 0; row < to.height; ++row) {
        const double v = (row + 0.5 - to.cy()) / to.fy();
        std::uint8_t* out = result.image.row(row);
        for (int column = 0; column < to.width; ++column, out += Channels, ++seen) {
            const double u = (column + 0.5 - to.cx()) / to.fx();
            const auto [du, dv] = from.distort(u, v);
            const double x = fx * du + cx, y = fy * dv + cy;
            const bool isInside = x >= 0 && x <= image.width && y >= 0 && y <= image.height &&
                                  u * u + v * v <= fold * fold;
            *seen = isInside ? 1 : 0;
            if (isInside)
                sample<Channels>(image, x, y, out);
            else
                isWhole = false;
        }
    }
    return isWhole;
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
    expects(image.channels == 1 || image.channels == 3, "undistorted: grey or RGB");
    UndistortedImage result{makeImage(to.width, to.height, image.channels), {}};
    result.mask.resize(static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height));
    const bool isWhole = image.channels == 1 ? resample<1>(image, from, to, result)
                                             : resample<3>(image, from, to, result);
    if (isWhole)
        result.mask.clear();
    return result;
}

} // namespace vergence::sugar
