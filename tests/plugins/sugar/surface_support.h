#pragma once

#include <cmath>
#include <numbers>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "plugins/sugar/mesh/mesh_quality.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/surface/depth_view.h"

namespace vergence::sugar::fixtures {

/// Point i of `count` spread evenly over the unit sphere.
inline Point3 fibonacciPoint(int i, int count, double turn = 0)
{
    const double golden = std::numbers::pi * (3 - std::sqrt(5.0));
    const double z = 1 - (2 * i + 1) / static_cast<double>(count), r = std::sqrt(1 - z * z);
    return {r * std::cos(golden * i + turn), r * std::sin(golden * i + turn), z};
}

/// Flat Gaussians on the unit sphere: spacing h, 0.7 h wide, 0.1 h thick, opacity 0.9.
inline GaussianCloud sphereCloud(int count)
{
    const double spacing = std::sqrt(4 * std::numbers::pi / count);
    GaussianCloud cloud;
    for (int i = 0; i < count; ++i) {
        const Point3 n = fibonacciPoint(i, count);
        for (std::size_t k = 0; k < 3; ++k) {
            cloud.position.push_back(static_cast<float>(n[k]));
            cloud.logScale.push_back(static_cast<float>(std::log((k < 2 ? 0.7 : 0.1) * spacing)));
            cloud.shDc.push_back(static_cast<float>(0.5 * n[k]));
        }
        // The half turn that takes the z axis to n.
        Point3 axis = unit(n + Point3{0, 0, 1});
        if (norm(axis) == 0)
            axis = {1, 0, 0};
        for (const double q : {0.0, axis.x, axis.y, axis.z})
            cloud.rotation.push_back(static_cast<float>(q));
        cloud.opacity.push_back(static_cast<float>(std::log(0.9 / 0.1)));
    }
    return cloud;
}

/// Cameras on a circle about the z axis, `height` above the origin, which they look at.
inline std::vector<Camera> ringCameras(int count, double radius, double height, int size = 128,
                                       double focal = 150)
{
    std::vector<Camera> cameras;
    for (int i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * i / count;
        cameras.push_back(lookingAt({radius * std::cos(angle), radius * std::sin(angle), height},
                                    {0, 0, 0}, {0, 0.01, 1}, focal, size, size));
    }
    return cameras;
}

/// A picture of something whose surface each ray is asked for, as an exact DepthView.
template <class Hit>
DepthView exactView(const Camera& camera, const Hit& hitOf)
{
    DepthView view;
    view.camera = camera;
    for (int row = 0; row < camera.height; ++row) {
        for (int column = 0; column < camera.width; ++column) {
            const SurfaceHit hit = hitOf(camera, column + 0.5, row + 0.5);
            view.depth.push_back(static_cast<float>(hit.depth));
            view.coverage.push_back(hit.depth > 0 ? 1.0F : 0.0F);
            for (const double n : hit.normal)
                view.normal.push_back(static_cast<float>(n));
        }
    }
    view.colour.assign(view.normal.size(), 128);
    return view;
}

/// The unit sphere about the origin.
inline SurfaceHit sphereHit(const Camera& camera, double u, double v)
{
    const double inCamera[3] = {(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1};
    Point3 ray;
    double* const axes[3] = {&ray.x, &ray.y, &ray.z};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t k = 0; k < 3; ++k)
            *axes[i] += camera.rotation[3 * k + i] * inCamera[k];
    }
    const auto c = camera.centre();
    const Point3 eye{c[0], c[1], c[2]};
    const double a = dot(ray, ray), b = dot(eye, ray),
                 discriminant = b * b - a * (dot(eye, eye) - 1);
    if (discriminant < 0)
        return {};
    const double depth = (-b - std::sqrt(discriminant)) / a;
    const Point3 hit = eye + depth * ray;
    return {depth, {hit.x, hit.y, hit.z}};
}

/// Least, mean and greatest distance of the vertices from the origin.
struct Radii {
    double least = 1e300, mean = 0, greatest = 0;

    explicit Radii(const std::vector<float>& position)
    {
        for (std::size_t i = 0; i < position.size(); i += 3) {
            const double r = norm({position[i], position[i + 1], position[i + 2]});
            least = std::min(least, r);
            greatest = std::max(greatest, r);
            mean += 3 * r / static_cast<double>(position.size());
        }
    }
};

} // namespace vergence::sugar::fixtures
