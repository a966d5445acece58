#include "app/viewport/scene_camera.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace vergence {
namespace {

constexpr double kRadiansPerPixel = 0.4 * std::numbers::pi / 180;
constexpr double kShortestFocal = 0.2, kLongestFocal = 20; ///< heights of the picture
constexpr double kNearest = 1e-3, kFarthest = 100;         ///< distance in extents of the scene

Point3 operator+(const Point3& a, const Point3& b)
{
    return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

Point3 operator*(const Point3& a, double factor)
{
    return {a[0] * factor, a[1] * factor, a[2] * factor};
}

Point3 operator-(const Point3& a, const Point3& b)
{
    return a + b * -1;
}

double dot(const Point3& a, const Point3& b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Point3 cross(const Point3& a, const Point3& b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double length(const Point3& a)
{
    return std::sqrt(dot(a, a));
}

Point3 unit(const Point3& a)
{
    return a * (1 / length(a));
}

/// Some direction perpendicular to `up`.
Point3 perpendicular(const Point3& up)
{
    Point3 axis{};
    axis[std::ranges::min_element(up, {}, [](double x) { return std::abs(x); }) - up.begin()] = 1;
    return unit(axis - up * dot(axis, up));
}

Point3 column(const std::array<double, 16>& matrix, int index)
{
    const double* at = matrix.data() + 4 * index;
    return {at[0], at[1], at[2]};
}

/// Exactly `Count` finite numbers, or nothing.
template <std::size_t Count>
std::optional<std::array<double, Count>> numbers(const QJsonObject& meta, const char* name)
{
    const QJsonArray list = meta.value(QLatin1String(name)).toArray();
    if (list.size() != static_cast<qsizetype>(Count))
        return std::nullopt;
    std::array<double, Count> result;
    for (std::size_t i = 0; i < Count; ++i) {
        result[i] = list[static_cast<qsizetype>(i)].toDouble(std::nan(""));
        if (!std::isfinite(result[i]))
            return std::nullopt;
    }
    return result;
}

bool isRotation(const std::array<double, 16>& viewToWorld)
{
    constexpr double kTolerance = 1e-3; // of numbers written in short
    const Point3 x = column(viewToWorld, 0), y = column(viewToWorld, 1), z = column(viewToWorld, 2);
    const auto isNear = [](const Point3& a, const Point3& b) { return length(a - b) < kTolerance; };
    return std::abs(length(x) - 1) < kTolerance && std::abs(length(y) - 1) < kTolerance &&
           isNear(cross(x, y), z);
}

} // namespace

std::optional<ScenePose> readScenePose(const FrameInfo& info)
{
    const auto meta = QJsonDocument::fromJson(QByteArray::fromStdString(info.meta)).object();
    const auto camera = numbers<16>(meta, "camera");
    const auto focal = numbers<2>(meta, "focal");
    if (!camera || !focal || !isRotation(*camera) || !((*focal)[1] > 0))
        return std::nullopt;
    ScenePose pose;
    pose.viewToWorld = *camera;
    pose.focal = (*focal)[1];
    if (const auto up = numbers<3>(meta, "up"); up && length(*up) > 0)
        pose.up = *up;
    const double extent = meta.value(QLatin1String("extent")).toDouble();
    pose.extent = std::isfinite(extent) && extent > 0 ? extent : 1;
    pose.target =
        numbers<3>(meta, "target").value_or(column(*camera, 3) + column(*camera, 2) * pose.extent);
    pose.isPreview = meta.value(QLatin1String("isPreview")).toBool();
    if (const QJsonValue jump = meta.value(QLatin1String("jump")); jump.isDouble())
        pose.jump = static_cast<std::int64_t>(jump.toDouble());
    return pose;
}

SceneCamera::SceneCamera(const ScenePose& pose)
    : m_up(unit(pose.up)),
      m_north(perpendicular(m_up)),
      m_target(pose.target),
      m_focal(std::clamp(pose.focal, kShortestFocal, kLongestFocal)),
      m_extent(pose.extent),
      m_given(pose.viewToWorld)
{
    m_east = cross(m_north, m_up);
    const Point3 forward = column(pose.viewToWorld, 2), eye = column(pose.viewToWorld, 3);
    m_pitch = std::asin(std::clamp(dot(forward, m_up), -1.0, 1.0));
    const bool looksAlongUp = std::cos(m_pitch) < 1e-6;
    const Point3 right = column(pose.viewToWorld, 0);
    m_yaw = looksAlongUp ? std::atan2(-dot(right, m_north), dot(right, m_east))
                         : std::atan2(dot(forward, m_east), dot(forward, m_north));
    const auto [x, y, z] = axes();
    const Point3 offset = m_target - eye;
    m_targetInView = {dot(offset, x), dot(offset, y), dot(offset, z)};
    if (m_targetInView[2] < kNearest * m_extent) { // at the eye or behind it
        m_targetInView = {0, 0, m_extent};
        m_target = eye + z * m_extent;
    }
}

SceneCamera::Axes SceneCamera::axes() const
{
    const Point3 ahead = m_north * std::cos(m_yaw) + m_east * std::sin(m_yaw);
    const Point3 right = m_east * std::cos(m_yaw) - m_north * std::sin(m_yaw);
    const Point3 forward = ahead * std::cos(m_pitch) + m_up * std::sin(m_pitch);
    return {right, cross(forward, right), forward};
}

Point3 SceneCamera::toWorld(const Point3& inView) const
{
    const auto [x, y, z] = axes();
    return x * inView[0] + y * inView[1] + z * inView[2];
}

Point3 SceneCamera::eye() const
{
    return m_target - toWorld(m_targetInView);
}

double SceneCamera::distance() const
{
    return length(m_targetInView);
}

std::array<double, 16> SceneCamera::viewToWorld() const
{
    if (m_given)
        return *m_given;
    const auto [x, y, z] = axes();
    const Point3 at = eye();
    return {x[0], x[1], x[2], 0, y[0], y[1], y[2], 0, z[0], z[1], z[2], 0, at[0], at[1], at[2], 1};
}

void SceneCamera::orbit(QPointF pixels)
{
    m_given.reset();
    constexpr double kSteepest = std::numbers::pi / 2;
    m_yaw = std::remainder(m_yaw + pixels.x() * kRadiansPerPixel, 2 * std::numbers::pi);
    m_pitch = std::clamp(m_pitch - pixels.y() * kRadiansPerPixel, -kSteepest, kSteepest);
}

void SceneCamera::pan(QPointF pixels, double height)
{
    m_given.reset();
    const double scale = m_targetInView[2] / (m_focal * std::max(1.0, height));
    m_target = m_target - toWorld({pixels.x() * scale, pixels.y() * scale, 0});
}

void SceneCamera::dolly(double factor)
{
    m_given.reset();
    const double wanted =
        std::clamp(distance() / factor, kNearest * m_extent, kFarthest * m_extent);
    m_targetInView = m_targetInView * (wanted / distance());
}

void SceneCamera::zoom(double factor)
{
    m_focal = std::clamp(m_focal * factor, kShortestFocal, kLongestFocal);
}

void SceneCamera::fly(const Point3& rightUpForward)
{
    m_given.reset();
    const auto [right, up, forward] = rightUpForward;
    m_target = m_target + (toWorld({right, 0, forward}) + m_up * up) * m_extent;
}

} // namespace vergence
