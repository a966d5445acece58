#include "plugins/sugar/view/view_camera.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Vector3d vectorOf(const std::array<double, 3>& a)
{
    return {a[0], a[1], a[2]};
}

std::array<double, 3> arrayOf(const Vector3d& a)
{
    return {a.x(), a.y(), a.z()};
}

Vector3d row(const Camera& camera, int i)
{
    const auto at = static_cast<std::size_t>(3 * i);
    return {camera.rotation[at], camera.rotation[at + 1], camera.rotation[at + 2]};
}

/// Least squares over the lines of sight; a slight pull to the mean of the cameras keeps parallel
/// lines solvable.
Vector3d nearestPoint(const std::vector<Camera>& cameras)
{
    Matrix3d sum = Matrix3d::Zero();
    Vector3d right = Vector3d::Zero(), mean = Vector3d::Zero();
    for (const Camera& camera : cameras)
        mean += vectorOf(camera.centre()) / static_cast<double>(cameras.size());
    for (const Camera& camera : cameras) {
        const Vector3d direction = row(camera, 2).normalized();
        const Matrix3d across = Matrix3d::Identity() - direction * direction.transpose();
        sum += across;
        right += across * vectorOf(camera.centre());
    }
    const double pull = 1e-4 * static_cast<double>(cameras.size());
    sum += pull * Matrix3d::Identity();
    right += pull * mean;
    return sum.ldlt().solve(right);
}

} // namespace

std::vector<double> viewToWorld(const Camera& camera)
{
    const auto centre = camera.centre();
    std::vector<double> matrix(16, 0.0);
    for (std::size_t column = 0; column < 3; ++column) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            matrix[4 * column + axis] = camera.rotation[3 * column + axis];
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
        matrix[12 + axis] = centre[axis];
    matrix[15] = 1;
    return matrix;
}

Camera cameraFrom(const std::vector<double>& viewToWorld, double focal, int width, int height)
{
    expects(viewToWorld.size() >= 16, "camera: 16 numbers are needed");
    Matrix3d axes;
    Vector3d eye;
    for (int column = 0; column < 3; ++column) {
        for (int axis = 0; axis < 3; ++axis)
            axes(axis, column) = viewToWorld[static_cast<std::size_t>(4 * column + axis)];
        eye(column) = viewToWorld[static_cast<std::size_t>(12 + column)];
    }
    const bool isRotation = (axes.transpose() * axes - Matrix3d::Identity()).norm() < 1e-3 &&
                            axes.determinant() > 0 && eye.allFinite();
    expects(isRotation, "camera: the axes are not a rotation");
    Camera camera;
    const Vector3d translation = -(axes.transpose() * eye);
    for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c)
            camera.rotation[static_cast<std::size_t>(3 * r + c)] = axes(c, r);
        camera.translation[static_cast<std::size_t>(r)] = translation(r);
    }
    camera.fx = camera.fy = focal;
    camera.cx = width / 2.0;
    camera.cy = height / 2.0;
    camera.width = width;
    camera.height = height;
    return camera;
}

SceneFrame sceneFrame(const std::vector<Camera>& cameras)
{
    SceneFrame frame;
    if (cameras.empty())
        return frame;
    const Vector3d target = nearestPoint(cameras);
    Vector3d up = Vector3d::Zero();
    for (const Camera& camera : cameras)
        up -= row(camera, 1); // the camera's y points down
    up = up.norm() > 1e-9 ? Vector3d(up.normalized()) : Vector3d(0, 0, 1);
    std::vector<double> distances;
    for (const Camera& camera : cameras) {
        const Vector3d away = vectorOf(camera.centre()) - target;
        distances.push_back(away.norm());
        if (away.norm() > 0)
            frame.elevation += std::asin(std::clamp(away.normalized().dot(up), -1.0, 1.0)) /
                               static_cast<double>(cameras.size());
    }
    std::nth_element(distances.begin(),
                     distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2),
                     distances.end());
    frame.radius = std::max(1e-9, distances[distances.size() / 2]);
    frame.target = arrayOf(target);
    frame.up = arrayOf(up);
    return frame;
}

Camera turntableCamera(const SceneFrame& scene, int frame, int frames, double focal, int width,
                       int height)
{
    expects(frames > 0, "turntable: there must be at least one frame");
    const Vector3d up = vectorOf(scene.up);
    const Vector3d side =
        up.cross(std::abs(up.x()) < 0.9 ? Vector3d::UnitX() : Vector3d::UnitY()).normalized();
    const Vector3d ahead = up.cross(side);
    const double angle = 2 * std::numbers::pi * frame / frames;
    const double limit = 80 * std::numbers::pi / 180; // straight above has no up
    const double height3 = std::sin(std::clamp(scene.elevation, -limit, limit));
    const double flat = std::sqrt(1 - height3 * height3);
    const Vector3d eye =
        vectorOf(scene.target) +
        scene.radius * (flat * (std::cos(angle) * side + std::sin(angle) * ahead) + height3 * up);
    return lookingAt(arrayOf(eye), scene.target, scene.up, focal, width, height);
}

} // namespace vergence::sugar
