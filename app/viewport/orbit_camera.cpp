#include "app/viewport/orbit_camera.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vergence {
namespace {

constexpr double kFieldOfViewDegrees = 35;

/// Height of the visible world at the target.
double heightAtTarget(const OrbitCamera& camera)
{
    return 2 * camera.distance * std::tan(kFieldOfViewDegrees / 2 * std::numbers::pi / 180);
}

} // namespace

QMatrix4x4 OrbitCamera::worldToView() const
{
    QMatrix4x4 matrix;
    matrix.translate(0, 0, static_cast<float>(-distance));
    matrix.rotate(static_cast<float>(pitchDegrees), 1, 0, 0);
    matrix.rotate(static_cast<float>(yawDegrees), 0, 1, 0);
    matrix.scale(1, 1, -1); // the world's z points away, the view's towards the viewer
    matrix.translate(-target);
    return matrix;
}

QMatrix4x4 OrbitCamera::viewToClip(QSizeF viewport) const
{
    const auto aspect = static_cast<float>(viewport.width() / std::max(1.0, viewport.height()));
    const auto far = static_cast<float>(distance + 50);
    QMatrix4x4 matrix;
    if (isOrthographic) {
        const auto half = static_cast<float>(heightAtTarget(*this) / 2);
        matrix.ortho(-half * aspect, half * aspect, -half, half, -50.0F, far);
    } else {
        matrix.perspective(kFieldOfViewDegrees, aspect, 0.01F, far);
    }
    return matrix;
}

QPointF OrbitCamera::project(const QVector3D& point, QSizeF viewport) const
{
    const QVector3D clip = worldToClip(viewport).map(point);
    return {(clip.x() + 1) / 2 * viewport.width(), (1 - clip.y()) / 2 * viewport.height()};
}

void OrbitCamera::orbit(QPointF pixels)
{
    yawDegrees = std::remainder(yawDegrees + pixels.x() * 0.4, 360.0);
    pitchDegrees = std::clamp(pitchDegrees + pixels.y() * 0.4, -90.0, 90.0);
}

void OrbitCamera::pan(QPointF pixels, QSizeF viewport)
{
    const double scale = heightAtTarget(*this) / std::max(1.0, viewport.height());
    const QMatrix4x4 viewToWorld = worldToView().inverted();
    target += viewToWorld.mapVector(QVector3D(static_cast<float>(-pixels.x() * scale),
                                              static_cast<float>(pixels.y() * scale), 0));
}

void OrbitCamera::zoom(double factor)
{
    distance = std::clamp(distance / factor, 0.1, 40.0);
}

void OrbitCamera::lookFrom(double yaw, double pitch)
{
    yawDegrees = yaw;
    pitchDegrees = pitch;
}

} // namespace vergence
