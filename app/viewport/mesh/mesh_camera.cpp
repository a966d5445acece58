#include "app/viewport/mesh/mesh_camera.h"

#include <algorithm>
#include <cmath>

namespace vergence {
namespace {

constexpr double kFocal = 1.2;   ///< 45° from the lower to the upper edge
constexpr float kMargin = 1.05F; ///< around the mesh
constexpr double kShare = 0.46;  ///< of height and width, from the middle, that the mesh takes

Point3 toPoint(const QVector3D& v)
{
    return {v.x(), v.y(), v.z()};
}

/// Horizontal axis that is called the front, `known` where it is not upright, and the one to its
/// right.
std::pair<QVector3D, QVector3D> horizon(const QVector3D& up, const QVector3D& known = {})
{
    const QVector3D level = known - QVector3D::dotProduct(known, up) * up;
    if (level.length() > 0.3F) // of a unit vector
        return {level.normalized(), QVector3D::crossProduct(up, level).normalized()};
    const bool isY = std::abs(up.y()) > 0.5F;
    const QVector3D front = isY ? QVector3D(0, 0, 1) : QVector3D(0, -1, 0);
    const QVector3D usable =
        std::abs(QVector3D::dotProduct(front, up)) < 0.9F ? front : QVector3D(1, 0, 0);
    return {usable, QVector3D::crossProduct(up, usable).normalized()};
}

std::array<double, 16> lookAt(const QVector3D& eye, const QVector3D& forward, const QVector3D& up)
{
    QVector3D right = QVector3D::crossProduct(forward, up);
    if (right.length() < 1e-3F) // along up
        right = horizon(up).second;
    right.normalize();
    const QVector3D down = QVector3D::crossProduct(forward, right);
    return {right.x(),   right.y(),   right.z(),   0, down.x(), down.y(), down.z(), 0,
            forward.x(), forward.y(), forward.z(), 0, eye.x(),  eye.y(),  eye.z(),  1};
}

} // namespace

QVector3D MeshCamera::axis(int index) const
{
    const double* at = viewToWorld.data() + 4 * index;
    return {static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(at[2])};
}

QVector3D MeshCamera::eye() const
{
    return axis(3);
}

QMatrix4x4 MeshCamera::worldToView() const
{
    const QVector3D x = axis(0), y = -axis(1), z = -axis(2), at = eye();
    const auto along = [&at](const QVector3D& direction) {
        return -QVector3D::dotProduct(direction, at);
    };
    return QMatrix4x4(x.x(), x.y(), x.z(), along(x), y.x(), y.y(), y.z(), along(y), z.x(), z.y(),
                      z.z(), along(z), 0, 0, 0, 1);
}

QMatrix4x4 MeshCamera::worldToClip(QSizeF viewport, const PreparedMesh& mesh) const
{
    const float radius = mesh.radius() * kMargin;
    const float depth = QVector3D::dotProduct(axis(2), mesh.centre() - eye());
    const float near = std::max(depth - radius, radius * 1e-3F);
    const float far = std::max(depth + radius, 2 * near);
    const auto scale = static_cast<float>(2 * focal);
    const auto aspect = static_cast<float>(viewport.width() / std::max(1.0, viewport.height()));
    const QMatrix4x4 viewToClip(scale / aspect, 0, 0, 0, 0, scale, 0, 0, 0, 0,
                                -(far + near) / (far - near), -2 * far * near / (far - near), 0, 0,
                                -1, 0);
    return viewToClip * worldToView();
}

QVector3D MeshCamera::rayAt(QPointF point, QSizeF viewport) const
{
    const double height = std::max(1.0, viewport.height());
    const auto x = static_cast<float>((point.x() - viewport.width() / 2) / height / focal);
    const auto y = static_cast<float>((point.y() - viewport.height() / 2) / height / focal);
    return axis(2) + x * axis(0) + y * axis(1);
}

std::optional<QPointF> MeshCamera::project(const QVector3D& point, QSizeF viewport) const
{
    const QVector3D offset = point - eye();
    const double z = QVector3D::dotProduct(offset, axis(2));
    if (z <= 0)
        return std::nullopt;
    const double scale = focal * viewport.height() / z;
    return QPointF(viewport.width() / 2 + scale * QVector3D::dotProduct(offset, axis(0)),
                   viewport.height() / 2 + scale * QVector3D::dotProduct(offset, axis(1)));
}

ScenePose poseAround(const PreparedMesh& mesh, const QVector3D& up, const QVector3D& forward,
                     QSizeF viewport)
{
    const double aspect = viewport.width() / std::max(1.0, viewport.height());
    const QVector3D ahead = forward.normalized(), centre = mesh.centre();
    const MeshCamera turned{lookAt({}, ahead, up), kFocal};
    double distance = 1e-3 * mesh.radius();
    const bool isLarge = !mesh.coarse.corners.empty();
    for (const MeshCorner& corner : isLarge ? mesh.coarse.corners : mesh.surface.corners) {
        const auto& at = corner.position;
        const QVector3D offset = QVector3D(at[0], at[1], at[2]) - centre;
        const double x = std::abs(QVector3D::dotProduct(offset, turned.axis(0))) / aspect;
        const double y = std::abs(QVector3D::dotProduct(offset, turned.axis(1)));
        const double z = QVector3D::dotProduct(offset, ahead);
        distance = std::max(distance, std::max(x, y) * kFocal / kShare - z);
    }
    ScenePose pose;
    pose.viewToWorld = lookAt(centre - ahead * static_cast<float>(distance), ahead, up);
    pose.focal = kFocal;
    pose.up = toPoint(up);
    pose.target = toPoint(centre);
    pose.extent = mesh.radius();
    return pose;
}

ScenePose homePose(const PreparedMesh& mesh, const QVector3D& up, QSizeF viewport)
{
    const auto [front, right] = horizon(up, mesh.front);
    return poseAround(mesh, up, -(front + 0.55F * right + 0.45F * up), viewport);
}

ScenePose axisPose(const PreparedMesh& mesh, const QVector3D& up, int index, bool isOpposite,
                   QSizeF viewport)
{
    const auto [front, right] = horizon(up, mesh.front);
    const QVector3D from = index == 0 ? front : index == 1 ? right : up;
    return poseAround(mesh, up, isOpposite ? from : -from, viewport);
}

ScenePose poseTowards(const MeshCamera& camera, const PreparedMesh& mesh, const QVector3D& up,
                      const QVector3D& target)
{
    const QVector3D forward = camera.axis(2);
    const float depth = QVector3D::dotProduct(forward, target - camera.eye());
    ScenePose pose;
    pose.viewToWorld = camera.viewToWorld;
    const QVector3D eye = target - forward * depth;
    for (int k = 0; k < 3; ++k)
        pose.viewToWorld[static_cast<std::size_t>(12 + k)] = eye[k];
    pose.focal = camera.focal;
    pose.up = toPoint(up);
    pose.target = toPoint(target);
    pose.extent = mesh.radius();
    return pose;
}

} // namespace vergence
