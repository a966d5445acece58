#pragma once

#include <array>
#include <vector>

#include "plugins/sugar/compute/camera.h"

namespace vergence::sugar {

/// The window's camera: 16 numbers, column-major view to world (x right, y down, z forward).
std::vector<double> viewToWorld(const Camera& camera);
/// Throws ContractError for fewer than 16 numbers, or where the axes are not a rotation.
Camera cameraFrom(const std::vector<double>& viewToWorld, double focal, int width, int height);

/// Where cameras stand and look: for the first view, orbiting and turntables.
struct SceneFrame {
    std::array<double, 3> target{}; ///< the point nearest to all lines of sight
    std::array<double, 3> up{0, 0, 1};
    double radius = 1;    ///< median distance of the cameras from the target
    double elevation = 0; ///< mean angle of the cameras above the plane of `up`, radians
};
SceneFrame sceneFrame(const std::vector<Camera>& cameras);

/// Camera `frame` of `frames` on a circle about the target, as the cameras of the scene stand.
Camera turntableCamera(const SceneFrame& scene, int frame, int frames, double focal, int width,
                       int height);

} // namespace vergence::sugar
