#pragma once

#include "plugins/sugar/io/camera_model.h"

namespace vergence::sugar {

/// undistort() for many points of one camera: `foldRadius` is that of the camera.
std::optional<std::array<double, 2>> undistort(const SourceCamera& camera, double u, double v,
                                               double foldRadius);

} // namespace vergence::sugar
