#pragma once

#include <array>
#include <optional>

#include <QMatrix4x4>
#include <QPointF>
#include <QSizeF>
#include <QVector3D>

#include "app/viewport/mesh/prepared_mesh.h"
#include "app/viewport/scene_camera.h"

namespace vergence {

/// Where a mesh is looked at from: the pinhole camera of the scene navigation.
struct MeshCamera {
    std::array<double, 16> viewToWorld{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double focal = 1.2; ///< heights of the picture
    bool operator==(const MeshCamera&) const = default;

    QVector3D eye() const;
    QVector3D axis(int index) const; ///< 0 right, 1 down, 2 forward
    QMatrix4x4 worldToView() const;  ///< x right, y up, z towards the viewer, as OpenGL has it
    /// Near and far plane enclose the sphere around the mesh.
    QMatrix4x4 worldToClip(QSizeF viewport, const PreparedMesh& mesh) const;
    /// Direction of the ray through a point of the view, any length.
    QVector3D rayAt(QPointF point, QSizeF viewport) const;
    /// Place in the view; nothing behind the camera.
    std::optional<QPointF> project(const QVector3D& point, QSizeF viewport) const;
};

/// The whole mesh in view, looking along `forward`, circling its centre.
ScenePose poseAround(const PreparedMesh& mesh, const QVector3D& up, const QVector3D& forward,
                     QSizeF viewport);
/// The same from a corner in front, above the horizon.
ScenePose homePose(const PreparedMesh& mesh, const QVector3D& up, QSizeF viewport);
/// `index` 0 front, 1 right, 2 top; `isOpposite` the other end of that axis.
ScenePose axisPose(const PreparedMesh& mesh, const QVector3D& up, int index, bool isOpposite,
                   QSizeF viewport);
/// As `camera`, with `target` in the middle of the view at the distance that it has.
ScenePose poseTowards(const MeshCamera& camera, const PreparedMesh& mesh, const QVector3D& up,
                      const QVector3D& target);

} // namespace vergence
