#include "plugins/sugar/io/synthetic_surfaces.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plugins/sugar/io/synthetic_scene.h"

namespace vergence::sugar {

namespace {

constexpr double kGroundHalf = 1.2, kGroundCell = 0.2;
constexpr Vector3 kSphereCentre{0, -.25, .45};
constexpr double kSphereRadius = .45;
constexpr Vector3 kBoxCentre{.45, .5, .25}, kBoxHalf{.3, .2, .25};
constexpr double kEpsilon = 1e-9;

/// World to box axes: turned by 30° about z.
Vector3 intoBox(const Vector3& a)
{
    const double c = std::sqrt(3.0) / 2, s = 0.5;
    return {c * a[0] + s * a[1], -s * a[0] + c * a[1], a[2]};
}

Vector3 outOfBox(const Vector3& a)
{
    const double c = std::sqrt(3.0) / 2, s = 0.5;
    return {c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]};
}

Vector3 groundColour(const Vector3& p)
{
    const auto cell = static_cast<int>(std::floor(p[0] / kGroundCell)) +
                      static_cast<int>(std::floor(p[1] / kGroundCell));
    return (cell & 1) == 0 ? Vector3{.85, .82, .75} : Vector3{.35, .4, .45};
}

Vector3 sphereColour(const Vector3& p)
{
    const Vector3 n = plus(p, kSphereCentre, -1);
    const double longitude = std::atan2(n[1], n[0]);
    const double latitude = std::asin(std::clamp(n[2] / kSphereRadius, -1.0, 1.0));
    const auto band = [](double angle) { return .15 + .8 * (.5 + .5 * std::cos(angle)); };
    return {band(9 * longitude), band(7 * latitude), band(5 * (longitude + latitude))};
}

/// Six hues; face f shows f and the next one, in 4 × 4 cells. `local` lies on the face.
Vector3 boxColour(const Vector3& local, std::size_t axis, bool isPositive)
{
    constexpr std::array<Vector3, 6> kHues{{{.85, .25, .2},
                                            {.9, .75, .2},
                                            {.3, .7, .3},
                                            {.2, .65, .75},
                                            {.3, .35, .8},
                                            {.75, .3, .7}}};
    const auto cell = [&](std::size_t i) {
        return std::clamp(static_cast<int>(std::floor((local[i] / kBoxHalf[i] + 1) * 2)), 0, 3);
    };
    const std::size_t face = 2 * axis + (isPositive ? 1 : 0);
    const int odd = (cell((axis + 1) % 3) + cell((axis + 2) % 3)) & 1;
    return kHues[(face + static_cast<std::size_t>(odd)) % 6];
}

RayHit boxHit(const Vector3& local, std::size_t axis, bool isPositive)
{
    Vector3 normal{};
    normal[axis] = isPositive ? 1 : -1;
    return {0, plus(outOfBox(local), kBoxCentre), outOfBox(normal),
            boxColour(local, axis, isPositive), false};
}

std::optional<RayHit> hitGround(const Vector3& origin, const Vector3& direction)
{
    const double t = -origin[2] / direction[2];
    if (!(t > kEpsilon) || !std::isfinite(t))
        return std::nullopt;
    const Vector3 p = plus(origin, direction, t);
    if (std::abs(p[0]) > kGroundHalf || std::abs(p[1]) > kGroundHalf)
        return std::nullopt;
    return RayHit{t, p, {0, 0, 1}, groundColour(p), false};
}

std::optional<RayHit> hitSphere(const Vector3& origin, const Vector3& direction)
{
    const Vector3 o = plus(origin, kSphereCentre, -1);
    const double a = dot(direction, direction), b = dot(o, direction),
                 c = dot(o, o) - kSphereRadius * kSphereRadius;
    const double under = b * b - a * c;
    if (under < 0)
        return std::nullopt;
    const double t = (-b - std::sqrt(under)) / a;
    if (!(t > kEpsilon))
        return std::nullopt;
    const Vector3 p = plus(origin, direction, t);
    const Vector3 offset = plus(p, kSphereCentre, -1);
    return RayHit{t, p, plus({}, offset, 1 / kSphereRadius), sphereColour(p), true};
}

std::optional<RayHit> hitBox(const Vector3& origin, const Vector3& direction)
{
    const Vector3 o = intoBox(plus(origin, kBoxCentre, -1)), d = intoBox(direction);
    double enter = kEpsilon, leave = 1e300;
    std::size_t axis = 3;
    for (std::size_t i = 0; i < 3; ++i) {
        if (d[i] == 0) {
            if (std::abs(o[i]) > kBoxHalf[i])
                return std::nullopt;
            continue;
        }
        const double t0 = (-kBoxHalf[i] - o[i]) / d[i], t1 = (kBoxHalf[i] - o[i]) / d[i];
        if (std::min(t0, t1) > enter) {
            enter = std::min(t0, t1);
            axis = i;
        }
        leave = std::min(leave, std::max(t0, t1));
    }
    if (axis == 3 || enter > leave)
        return std::nullopt;
    RayHit hit = boxHit(plus(o, d, enter), axis, d[axis] < 0);
    hit.distance = enter;
    hit.point = plus(origin, direction, enter);
    return hit;
}

bool isUnderBox(const Vector3& p)
{
    const Vector3 local = intoBox(plus(p, kBoxCentre, -1));
    return std::abs(local[0]) < kBoxHalf[0] && std::abs(local[1]) < kBoxHalf[1];
}

Vector3 reflected(const Vector3& direction, const Vector3& normal)
{
    return plus(direction, normal, -2 * dot(direction, normal));
}

} // namespace

std::optional<RayHit> traceSynthetic(const Vector3& origin, const Vector3& direction)
{
    std::optional<RayHit> nearest;
    for (const auto& hit :
         {hitGround(origin, direction), hitSphere(origin, direction), hitBox(origin, direction)}) {
        if (hit && (!nearest || hit->distance < nearest->distance))
            nearest = hit;
    }
    return nearest;
}

Vector3 shadeSynthetic(const RayHit& hit, const Vector3& direction, bool gloss)
{
    const Vector3 towards{.4, -.3, .85};
    const Vector3 light = plus({}, towards, 1 / length(towards));
    const double diffuse = .55 + .45 * std::max(0.0, dot(hit.normal, light));
    Vector3 colour = plus({}, hit.albedo, diffuse);
    if (gloss && hit.isSphere) {
        const double facing = std::max(0.0, dot(reflected(direction, hit.normal), light));
        const double highlight = .25 * std::pow(facing, 20);
        for (double& channel : colour)
            channel += highlight;
    }
    return colour;
}

RayHit syntheticSurfacePoint(double which, double a, double b)
{
    const double ground = 4 * kGroundHalf * kGroundHalf;
    const double sphere = 4 * std::numbers::pi * kSphereRadius * kSphereRadius;
    const auto& h = kBoxHalf;
    // Faces −x, +x, −y, +y, +z; the bottom stands on the ground.
    const std::array<double, 5> faces{4 * h[1] * h[2], 4 * h[1] * h[2], 4 * h[0] * h[2],
                                      4 * h[0] * h[2], 4 * h[0] * h[1]};
    double at = which * (ground + sphere + 2 * faces[0] + 2 * faces[2] + faces[4]);
    if (at < ground) {
        const Vector3 p{kGroundHalf * (2 * a - 1), kGroundHalf * (2 * b - 1), 0};
        if (!isUnderBox(p))
            return {0, p, {0, 0, 1}, groundColour(p), false};
        return boxHit({h[0] * (2 * a - 1), h[1] * (2 * b - 1), h[2]}, 2, true);
    }
    at -= ground;
    if (at < sphere) {
        const double z = 2 * a - 1, r = std::sqrt(1 - z * z), turn = 2 * std::numbers::pi * b;
        const Vector3 n{r * std::cos(turn), r * std::sin(turn), z};
        const Vector3 p = plus(kSphereCentre, n, kSphereRadius);
        return {0, p, n, sphereColour(p), true};
    }
    at -= sphere;
    std::size_t face = 0;
    while (face < 4 && at >= faces[face])
        at -= faces[face++];
    const std::size_t axis = face == 4 ? 2 : face / 2;
    const bool isPositive = face == 4 || face % 2 == 1;
    Vector3 local{};
    local[axis] = isPositive ? h[axis] : -h[axis];
    local[(axis + 1) % 3] = h[(axis + 1) % 3] * (2 * a - 1);
    local[(axis + 2) % 3] = h[(axis + 2) % 3] * (2 * b - 1);
    return boxHit(local, axis, isPositive);
}

double syntheticDistance(const std::array<double, 3>& point)
{
    const Vector3 onGround{std::clamp(point[0], -kGroundHalf, kGroundHalf),
                           std::clamp(point[1], -kGroundHalf, kGroundHalf), 0};
    const double ground = length(plus(point, onGround, -1));
    const double sphere = std::abs(length(plus(point, kSphereCentre, -1)) - kSphereRadius);
    const Vector3 local = intoBox(plus(point, kBoxCentre, -1));
    Vector3 outside{};
    double inside = -1e300;
    for (std::size_t i = 0; i < 3; ++i) {
        const double beyond = std::abs(local[i]) - kBoxHalf[i];
        outside[i] = std::max(beyond, 0.0);
        inside = std::max(inside, beyond);
    }
    const double box = inside > 0 ? length(outside) : -inside;
    return std::min({ground, sphere, box});
}

} // namespace vergence::sugar
