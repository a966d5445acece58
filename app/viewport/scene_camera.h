#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <QPointF>

#include "core/view/frame.h"

namespace vergence {

/// x, y, z in the units of the scene.
using Point3 = std::array<double, 3>;

/// The camera of a rendered picture, as a frame of kind Splats says it in its meta:
/// {"camera": [16], "focal": [fx, fy], "up": [3], "target": [3], "extent": E, "isPreview": bool,
/// "jump": n}.
struct ScenePose {
    /// Column-major; camera axes x right, y down, z forward.
    std::array<double, 16> viewToWorld{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double focal = 1;       ///< vertical focal length in heights of the picture
    Point3 up{0, -1, 0};    ///< direction in the world, any length
    Point3 target{};        ///< what the viewer circles
    double extent = 1;      ///< size of the scene
    bool isPreview = false; ///< reduced while the viewer moves
    /// Another number than before: the run has moved the camera by itself.
    std::optional<std::int64_t> jump;
};

/// Nothing where the meta has no camera that can be used. Focal lengths stand in the meta in
/// heights of the picture, as in ScenePose, so that they do not depend on its size.
std::optional<ScenePose> readScenePose(const FrameInfo& info);

/// A pinhole camera that a viewer moves through a scene. A camera that was given is kept to the bit
/// until the viewer moves it; then it does not roll: the picture's x axis is perpendicular to the
/// world's up.
class SceneCamera {
public:
    explicit SceneCamera(const ScenePose& pose);

    std::array<double, 16> viewToWorld() const; ///< column-major, as in ScenePose
    Point3 eye() const;
    const Point3& target() const { return m_target; }
    double distance() const; ///< from the eye to the target
    double focal() const { return m_focal; }

    /// A drag of so many logical pixels about the target; what is seen follows the pointer.
    void orbit(QPointF pixels);
    /// Moves eye and target so that what is at the target's depth follows the pointer; `height` of
    /// the picture in logical pixels.
    void pan(QPointF pixels, double height);
    void dolly(double factor); ///< above 1 comes nearer to the target
    void zoom(double factor);  ///< of the focal length, above 1 sees less
    /// Moves eye and target along the camera's x and z and the world's up, in extents of the scene.
    void fly(const Point3& rightUpForward);

private:
    struct Axes {
        Point3 right, down, forward;
    };
    Axes axes() const;
    Point3 toWorld(const Point3& inView) const;

    Point3 m_up, m_east, m_north; ///< unit; yaw 0 looks north, growing yaw turns towards east
    Point3 m_target;
    Point3 m_targetInView;         ///< constant while the viewer circles
    double m_yaw = 0, m_pitch = 0; ///< radians; positive pitch looks upwards
    double m_focal, m_extent;
    std::optional<std::array<double, 16>> m_given; ///< until the viewer moves
};

} // namespace vergence
