#include "plugins/sugar/io/distortion.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vergence::sugar {

namespace {

using Point = std::array<double, 2>;

/// Radial factor − 1 and tangential terms of the Brown model.
/// Source: Close-range camera calibration (1971); OpenCV documentation, "Camera calibration".
Point withTangential(double u, double v, double radial, double p1, double p2)
{
    const double r2 = u * u + v * v;
    return {u + u * radial + 2 * p1 * u * v + p2 * (r2 + 2 * u * u),
            v + v * radial + 2 * p2 * u * v + p1 * (r2 + 2 * v * v)};
}

/// (u, v) at the angle of its ray instead of the tangent: equidistant fisheye.
double angleOverRadius(double u, double v)
{
    const double r = std::hypot(u, v);
    return r < 1e-8 ? 1 : std::atan(r) / r;
}

/// Source: A generic camera model and calibration method (2006), equation 6.
Point fisheye(double u, double v, std::span<const double> k)
{
    const double scale = angleOverRadius(u, v);
    const double theta = scale * std::hypot(u, v), t2 = theta * theta;
    double factor = 1, power = 1;
    for (const double coefficient : k)
        factor += coefficient * (power *= t2);
    return {u * scale * factor, v * scale * factor};
}

Point thinPrismFisheye(double u, double v, std::span<const double> k)
{
    const double scale = angleOverRadius(u, v);
    u *= scale;
    v *= scale;
    const double r2 = u * u + v * v;
    const double radial = r2 * (k[0] + r2 * (k[1] + r2 * (k[4] + r2 * k[5])));
    const Point brown = withTangential(u, v, radial, k[2], k[3]);
    return {brown[0] + k[6] * r2, brown[1] + k[7] * r2};
}

/// Source: Straight lines have to be straight (2001), equation 13.
Point fieldOfView(double u, double v, double omega)
{
    const double r = std::hypot(u, v);
    double factor = 0;
    if (omega * omega < 1e-4)
        factor = 1 + omega * omega * (1.0 / 12 - r * r / 3);
    else if (r < 1e-8)
        factor = 2 * std::tan(omega / 2) / omega;
    else
        factor = std::atan(2 * r * std::tan(omega / 2)) / (omega * r);
    return {u * factor, v * factor};
}

Point fullOpenCv(double u, double v, std::span<const double> k)
{
    const double r2 = u * u + v * v;
    const double above = 1 + r2 * (k[0] + r2 * (k[1] + r2 * k[4]));
    const double below = 1 + r2 * (k[5] + r2 * (k[6] + r2 * k[7]));
    return withTangential(u, v, above / below - 1, k[2], k[3]);
}

double distance(const Point& a, const Point& b)
{
    return std::hypot(a[0] - b[0], a[1] - b[1]);
}

/// Newton step towards distort(q) = target; central differences.
Point newtonStep(const SourceCamera& camera, const Point& q, const Point& residual)
{
    const double h = 1e-6 * std::max(1.0, std::hypot(q[0], q[1]));
    const Point u1 = camera.distort(q[0] + h, q[1]), u0 = camera.distort(q[0] - h, q[1]);
    const Point v1 = camera.distort(q[0], q[1] + h), v0 = camera.distort(q[0], q[1] - h);
    const double a = (u1[0] - u0[0]) / (2 * h), b = (v1[0] - v0[0]) / (2 * h);
    const double c = (u1[1] - u0[1]) / (2 * h), d = (v1[1] - v0[1]) / (2 * h);
    const double determinant = a * d - b * c;
    return {(d * residual[0] - b * residual[1]) / determinant,
            (a * residual[1] - c * residual[0]) / determinant};
}

/// Growth of the distorted radius at r, along the u axis: tangential terms are small beside it.
double radialSlope(const SourceCamera& camera, double r)
{
    const double h = 1e-5 * std::max(1.0, r);
    const Point outer = camera.distort(r + h, 0), inner = camera.distort(std::max(r - h, 0.0), 0);
    return outer[0] - inner[0];
}

} // namespace

std::array<double, 2> SourceCamera::distort(double u, double v) const
{
    const auto k = lens();
    const double r2 = u * u + v * v;
    switch (model) {
    case CameraModel::SimplePinhole:
    case CameraModel::Pinhole:
        return {u, v};
    case CameraModel::SimpleRadial:
        return withTangential(u, v, k[0] * r2, 0, 0);
    case CameraModel::Radial:
        return withTangential(u, v, r2 * (k[0] + r2 * k[1]), 0, 0);
    case CameraModel::OpenCv:
        return withTangential(u, v, r2 * (k[0] + r2 * k[1]), k[2], k[3]);
    case CameraModel::FullOpenCv:
        return fullOpenCv(u, v, k);
    case CameraModel::Fov:
        return fieldOfView(u, v, k[0]);
    case CameraModel::OpenCvFisheye:
    case CameraModel::SimpleRadialFisheye:
    case CameraModel::RadialFisheye:
        return fisheye(u, v, k);
    case CameraModel::ThinPrismFisheye:
        return thinPrismFisheye(u, v, k);
    }
    return {u, v};
}

double SourceCamera::foldRadius() const
{
    constexpr double kFarthest = 20; // a ray at 87° to the axis
    if (isPinhole())
        return std::numeric_limits<double>::infinity();
    for (double r = 0.01; r < kFarthest; r = std::max(r + 0.01, r * 1.01)) {
        if (radialSlope(*this, r) > 0)
            continue;
        double low = r / 1.01 - 0.01, high = r;
        for (int i = 0; i < 40; ++i) {
            const double middle = (low + high) / 2;
            (radialSlope(*this, middle) > 0 ? low : high) = middle;
        }
        return std::max(low, 0.0);
    }
    return std::numeric_limits<double>::infinity();
}

std::optional<std::array<double, 2>> SourceCamera::undistort(double u, double v) const
{
    return sugar::undistort(*this, u, v, foldRadius());
}

std::optional<Point> undistort(const SourceCamera& camera, double u, double v, double foldRadius)
{
    constexpr int kIterations = 100;
    constexpr double kTolerance = 1e-10;
    const Point target{u, v};
    Point q = target;
    double error = distance(camera.distort(u, v), target);
    for (int i = 0; i < kIterations && error > 0; ++i) {
        const Point at = camera.distort(q[0], q[1]);
        const Point step = newtonStep(camera, q, {target[0] - at[0], target[1] - at[1]});
        double share = 1;
        Point next{q[0] + step[0], q[1] + step[1]};
        double nextError = distance(camera.distort(next[0], next[1]), target);
        while (!(nextError <= error) && share > 1e-6) {
            share /= 2;
            next = {q[0] + share * step[0], q[1] + share * step[1]};
            nextError = distance(camera.distort(next[0], next[1]), target);
        }
        if (!(nextError <= error))
            break;
        q = next;
        error = nextError;
        if (std::hypot(step[0], step[1]) < kTolerance)
            break;
    }
    if (!(error < 1e-9) || std::hypot(q[0], q[1]) > foldRadius)
        return std::nullopt;
    return q;
}

} // namespace vergence::sugar
