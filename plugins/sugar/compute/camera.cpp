#include "plugins/sugar/compute/camera.h"

#include <cmath>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

using Vector = std::array<double, 3>;

Vector minus(const Vector& a, const Vector& b)
{
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

Vector cross(const Vector& a, const Vector& b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector normalised(const Vector& a)
{
    const double length = std::hypot(a[0], a[1], a[2]);
    expects(length > 0, "lookingAt: eye, target and up must not lie on a line");
    return {a[0] / length, a[1] / length, a[2] / length};
}

} // namespace

std::array<double, 3> Camera::centre() const
{
    Vector centre{};
    for (std::size_t column = 0; column < 3; ++column) {
        for (std::size_t row = 0; row < 3; ++row)
            centre[column] -= rotation[3 * row + column] * translation[row];
    }
    return centre;
}

Camera resized(const Camera& camera, int width, int height)
{
    expects(width > 0 && height > 0 && camera.width > 0 && camera.height > 0,
            "resized: sizes must be positive");
    const double x = static_cast<double>(width) / camera.width;
    const double y = static_cast<double>(height) / camera.height;
    Camera result = camera;
    result.fx *= x;
    result.cx *= x;
    result.fy *= y;
    result.cy *= y;
    result.width = width;
    result.height = height;
    return result;
}

Camera lookingAt(const Vector& eye, const Vector& target, const Vector& up, double focal, int width,
                 int height)
{
    const Vector forward = normalised(minus(target, eye));
    const Vector right = normalised(cross(forward, up));
    const Vector down = cross(forward, right);
    Camera camera;
    for (std::size_t i = 0; i < 3; ++i) {
        camera.rotation[i] = right[i];
        camera.rotation[3 + i] = down[i];
        camera.rotation[6 + i] = forward[i];
    }
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t i = 0; i < 3; ++i)
            camera.translation[row] -= camera.rotation[3 * row + i] * eye[i];
    }
    camera.fx = camera.fy = focal;
    camera.cx = width / 2.0;
    camera.cy = height / 2.0;
    camera.width = width;
    camera.height = height;
    return camera;
}

} // namespace vergence::sugar
