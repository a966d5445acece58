#pragma once

#include <array>

namespace vergence::sugar {

/// A pinhole camera in double. A world point p is seen at t = R p + d (x right, y down, z forward)
/// and u = fx·tx/tz + cx, v = fy·ty/tz + cy; pixel (row i, column j) has its centre at
/// (j + 0.5, i + 0.5).
struct Camera {
    std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1}; ///< world to camera, row-major
    std::array<double, 3> translation{};
    double fx = 1, fy = 1, cx = 0, cy = 0; ///< pixels
    int width = 0, height = 0;

    std::array<double, 3> centre() const; ///< −Rᵀ d, world
};

/// The same camera for an image of another size; each axis is scaled by the ratio it really has.
Camera resized(const Camera& camera, int width, int height);

/// A camera at `eye` that looks at `target`, with `up` towards the top of the picture.
Camera lookingAt(const std::array<double, 3>& eye, const std::array<double, 3>& target,
                 const std::array<double, 3>& up, double focal, int width, int height);

} // namespace vergence::sugar
