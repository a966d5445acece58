#pragma once

#include <QMatrix4x4>
#include <QPointF>
#include <QSizeF>
#include <QVector3D>

namespace vergence {

/// Camera that circles a target. World: x right, y up, z away from the viewer of the first plane.
struct OrbitCamera {
    double yawDegrees = -38, pitchDegrees = 18; ///< 0, 0 looks along +z
    double distance = 3.4;
    QVector3D target{0, -0.1F, 0};
    bool isOrthographic = false;

    QMatrix4x4 worldToView() const;
    QMatrix4x4 viewToClip(QSizeF viewport) const;
    QMatrix4x4 worldToClip(QSizeF viewport) const { return viewToClip(viewport) * worldToView(); }
    /// Widget position (logical pixels) of a world point.
    QPointF project(const QVector3D& point, QSizeF viewport) const;

    void orbit(QPointF pixels);
    void pan(QPointF pixels, QSizeF viewport);
    void zoom(double factor); ///< above 1 comes nearer
    void lookFrom(double yaw, double pitch);
};

} // namespace vergence
