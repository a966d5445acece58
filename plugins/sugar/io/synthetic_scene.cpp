#include "plugins/sugar/io/synthetic_scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/io/synthetic_surfaces.h"

namespace vergence::sugar {

namespace {

constexpr double kRingRadius = 2.4;
constexpr Vector3 kTarget{0, 0, .3};
constexpr int kSurfacePoints = 2500, kOutliers = 200;

double radians(double degrees)
{
    return degrees * std::numbers::pi / 180;
}

Camera ringCamera(double elevationDegrees, double azimuthDegrees, const SyntheticSettings& settings)
{
    const double e = radians(elevationDegrees), a = radians(azimuthDegrees);
    const Vector3 outward{std::cos(e) * std::cos(a), std::cos(e) * std::sin(a), std::sin(e)};
    const double focal = settings.width / 2.0 / std::tan(radians(25));
    return lookingAt(plus(kTarget, outward, kRingRadius), kTarget, {0, 0, 1}, focal, settings.width,
                     settings.height);
}

void addView(Scene& scene, const std::string& name, const Camera& camera, bool isTest)
{
    SourceView& view = scene.views.emplace_back();
    view.name = name;
    view.rotation = camera.rotation;
    view.translation = camera.translation;
    view.isTest = isTest;
}

void addViews(Scene& scene, const SyntheticSettings& settings)
{
    for (int i = 0; i < 4; ++i)
        addView(scene, fmt::format("test_{:02}.png", i), ringCamera(35, 15 + 90 * i, settings),
                true);
    for (int i = 0; i < 24; ++i) {
        const bool isUpper = i >= 12;
        const double azimuth = 30 * (i % 12) + (isUpper ? 15 : 0);
        addView(scene, fmt::format("train_{:02}.png", i),
                ringCamera(isUpper ? 50 : 20, azimuth, settings), false);
    }
}

std::uint8_t byteOf(double value)
{
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

/// Normal deviate of the numbers `index` and `index + 1` of a stream.
/// Source: A note on the generation of random normal deviates (1958).
double normal(const Rng& random, std::uint64_t index)
{
    return std::sqrt(-2 * std::log(1 - random.uniform(index))) *
           std::cos(2 * std::numbers::pi * random.uniform(index + 1));
}

ScenePoint surfacePoint(const Rng& random, std::uint64_t first)
{
    const RayHit hit = syntheticSurfacePoint(random.uniform(first), random.uniform(first + 1),
                                             random.uniform(first + 2));
    const Vector3 colour = shadeSynthetic(hit, plus({}, hit.normal, -1), false);
    ScenePoint point;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        point.position[axis] = hit.point[axis] + .01 * normal(random, first + 4 + 2 * axis);
        point.colour[axis] = byteOf(colour[axis]);
    }
    return point;
}

/// Somewhere in the box around the scene, of any colour.
ScenePoint outlier(const Rng& random, std::uint64_t first)
{
    ScenePoint point;
    point.position = {1.2 * (2.0 * random.uniform(first) - 1),
                      1.2 * (2.0 * random.uniform(first + 1) - 1), .9 * random.uniform(first + 2)};
    for (std::size_t channel = 0; channel < 3; ++channel)
        point.colour[channel] = byteOf(random.uniform(first + 3 + channel));
    return point;
}

void addPoints(Scene& scene, std::uint64_t seed)
{
    constexpr std::uint64_t kNumbersEach = 16;
    const Rng random(seed, 0x73796E74); // "synt": a stream of its own
    for (std::uint64_t i = 0; i < kSurfacePoints + kOutliers; ++i) {
        ScenePoint point = i < kSurfacePoints ? surfacePoint(random, i * kNumbersEach)
                                              : outlier(random, i * kNumbersEach);
        point.error = 0.5;
        point.trackLength = 3;
        scene.points.push_back(point);
    }
}

/// World direction of the ray through (u, v); its component along camera z is 1.
Vector3 rayThrough(const Camera& camera, double u, double v)
{
    return times(transposed(camera.rotation),
                 {(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1});
}

Vector3 colourAlong(const Vector3& origin, const Vector3& ray, bool gloss)
{
    const auto hit = traceSynthetic(origin, ray);
    return hit ? shadeSynthetic(*hit, plus({}, ray, 1 / length(ray)), gloss) : kSyntheticSky;
}

} // namespace

Scene syntheticScene(const SyntheticSettings& settings)
{
    expects(settings.width > 0 && settings.height > 0, "syntheticScene: a size above 0");
    Scene scene;
    scene.kind = settings.gloss ? "built-in, glossy" : "built-in";
    addViews(scene, settings);
    const Camera camera = ringCamera(20, 0, settings);
    scene.cameras = {{1,
                      CameraModel::Pinhole,
                      settings.width,
                      settings.height,
                      {camera.fx, camera.fy, camera.cx, camera.cy}}};
    addPoints(scene, settings.seed);
    scene.painter = [gloss = settings.gloss](const Camera& view) {
        return syntheticPicture(view, gloss);
    };
    return scene;
}

Image syntheticPicture(const Camera& camera, bool gloss)
{
    constexpr int kSamples = 3; // a side
    const Vector3 eye = camera.centre();
    Image image = makeImage(camera.width, camera.height, 3);
    for (int y = 0; y < camera.height; ++y) {
        std::uint8_t* pixel = image.row(y);
        for (int x = 0; x < camera.width; ++x, pixel += 3) {
            Vector3 sum{};
            for (int sample = 0; sample < kSamples * kSamples; ++sample) {
                const double u = x + (sample % kSamples + 0.5) / kSamples;
                const double v = y + (sample / kSamples + 0.5) / kSamples;
                sum = plus(sum, colourAlong(eye, rayThrough(camera, u, v), gloss));
            }
            for (std::size_t channel = 0; channel < 3; ++channel)
                pixel[channel] = byteOf(sum[channel] / (kSamples * kSamples));
        }
    }
    return image;
}

SurfaceHit syntheticHit(const Camera& camera, double u, double v)
{
    const auto hit = traceSynthetic(camera.centre(), rayThrough(camera, u, v));
    return hit ? SurfaceHit{hit->distance, hit->normal} : SurfaceHit{};
}

} // namespace vergence::sugar
