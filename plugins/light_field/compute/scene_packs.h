#pragma once

// For the CPU builds of ground_truth_kernels.cpp: the scene of spheres and cubes for as many pixels
// as a vector has floats. The formulas are those of scene_math.h without branches; rays start at
// z = 0 with direction z = 1.

#include "plugins/light_field/compute/ground_truth_kernels.h"
#include "plugins/light_field/compute/optics_math.h"
#include "plugins/light_field/compute/simd.h"

namespace vergence::light_field::simd {

struct PackRay {
    Native origin[3], direction[3];
};

VERGENCE_HD bool anyOf(const NativeInt& mask)
{
    int any = 0;
    for (int i = 0; i < kNative; ++i)
        any |= mask[i];
    return any != 0;
}

VERGENCE_HD Native smaller(const Native& a, const Native& b)
{
    return a < b ? a : b;
}

VERGENCE_HD Native larger(const Native& a, const Native& b)
{
    return a > b ? a : b;
}

VERGENCE_HD Native magnitude(const Native& a)
{
    return a < Native{} ? -a : a;
}

/// Largest whole number not above the value.
VERGENCE_HD Native floorOf(const Native& value)
{
    const Native whole = NativeMath{}.truncated(value);
    return whole > value ? whole - 1.0f : whole;
}

/// Angle of (x, y) in −π … π to 2e-7. Reduced to |t| ≤ tan(π/8), then a polynomial in t².
VERGENCE_HD Native angleOf(const Native& y, const Native& x)
{
    constexpr float kQuarter = 0.785398163f, kHalf = 1.570796327f, kWhole = 3.141592654f;
    const Native zero{}, ax = magnitude(x), ay = magnitude(y);
    const Native low = smaller(ax, ay), high = larger(ax, ay);
    const NativeInt isSteep = low > 0.4142135624f * high;
    const Native below = isSteep ? low - high : low;
    const Native above = isSteep ? low + high : high;
    const Native t = below / (above > zero ? above : spread(1.0f));
    const Native s = t * t;
    const Native series =
        ((8.05374449538e-2f * s - 1.38776856032e-1f) * s + 1.99777106478e-1f) * s -
        3.33329491539e-1f;
    Native angle = series * s * t + t + (isSteep ? spread(kQuarter) : zero);
    angle = ay > ax ? kHalf - angle : angle;
    angle = x < zero ? kWhole - angle : angle;
    return y < zero ? -angle : angle;
}

/// Distance along the rays, negative where they miss.
VERGENCE_HD Native sphereHits(const Primitive& sphere, const PackRay& ray)
{
    Native a{}, b{}, c = spread(-static_cast<float>(sphere.size * sphere.size));
    for (int axis = 0; axis < 3; ++axis) {
        const Native offset = ray.origin[axis] - static_cast<float>(sphere.center[axis]);
        a += ray.direction[axis] * ray.direction[axis];
        b += 2 * offset * ray.direction[axis];
        c += offset * offset;
    }
    const Native zero{}, missed = zero - 1.0f, discriminant = b * b - 4 * a * c;
    const Native root = NativeRoot{}(larger(discriminant, zero));
    const Native first = (-b - root) / (2 * a), second = (-b + root) / (2 * a);
    const float nearest = scene_detail::kNearest<float>;
    const Native hit = first > nearest ? first : second > nearest ? second : missed;
    return discriminant < zero ? missed : hit;
}

/// The same; `axisHit` is the axis of the face.
VERGENCE_HD Native cubeHits(const Primitive& cube, const PackRay& ray, NativeInt& axisHit)
{
    const Native zero{}, missed = zero - 1.0f;
    Native enter = zero - 1e30f, leave = zero + 1e30f;
    NativeInt enterAxis{}, leaveAxis{};
    for (int axis = 0; axis < 3; ++axis) {
        const Native low = static_cast<float>(cube.center[axis] - cube.size / 2) - ray.origin[axis];
        const Native high =
            static_cast<float>(cube.center[axis] + cube.size / 2) - ray.origin[axis];
        const Native& d = ray.direction[axis];
        const NativeInt isFlat = d == zero, isBetween = (low <= zero) & (high >= zero);
        const Native safe = isFlat ? zero + 1.0f : d;
        const Native flatFirst = isBetween ? zero - 1e30f : zero + 1e30f;
        const Native first = isFlat ? flatFirst : (d > zero ? low : high) / safe;
        const Native second = isFlat ? zero + 1e30f : (d > zero ? high : low) / safe;
        enterAxis = first > enter ? NativeInt{} + axis : enterAxis;
        enter = larger(first, enter);
        leaveAxis = second < leave ? NativeInt{} + axis : leaveAxis;
        leave = smaller(second, leave);
    }
    const float nearest = scene_detail::kNearest<float>;
    const NativeInt outside = enter > nearest;
    axisHit = outside ? enterAxis : leaveAxis;
    const Native t = outside ? enter : leave;
    return (enter > leave) | (t <= nearest) ? missed : t;
}

VERGENCE_HD Native fraction(const Native& value)
{
    return value - floorOf(value);
}

VERGENCE_HD NativeInt checkerIsWhite(const Primitive& p, const Native (&normal)[3])
{
    constexpr float kPi = scene_detail::kPi<float>;
    const Native longitude = angleOf(normal[2], normal[0]);
    const Native latitude =
        angleOf(normal[1], NativeRoot{}(normal[0] * normal[0] + normal[2] * normal[2]));
    const float scale = static_cast<float>(p.textureScale);
    const bool isSeed = p.texture == Texture::CheckerSeed;
    const Native row = isSeed ? floorOf((latitude + kPi / 2) / kPi * 999.0f / scale)
                              : floorOf(scale * (latitude / kPi + 0.5f));
    const Native column = isSeed ? floorOf((longitude + kPi) / (2 * kPi) * 999.0f / scale)
                                 : floorOf(2 * scale * (longitude / (2 * kPi) + 0.5f));
    return magnitude(fraction((row + column) * 0.5f)) > 0.25f;
}

VERGENCE_HD NativeInt letterIsWhite(const Primitive& p, const Native (&relative)[3])
{
    constexpr float kPi = scene_detail::kPi<float>;
    const Native zero{}, one = zero + 1.0f;
    const Native height =
        larger(smaller(relative[1] / static_cast<float>(p.size), one), zero - 1.0f);
    const Native polar = angleOf(NativeRoot{}(one - height * height), height);
    const float scale = static_cast<float>(p.textureScale);
    const Native u = fraction((angleOf(relative[2], relative[0]) / (2 * kPi) + 0.5f) * scale);
    const Native v = fraction(polar / kPi * scale);
    constexpr float kThin = 0.1f, kWide = 0.2f;
    if (p.texture == Texture::LetterA)
        return (magnitude(u - 0.5f) < kThin) | (magnitude(v - 0.5f) < kThin) |
               (magnitude(u - v) < kThin) | (magnitude(u + v - 1.0f) < kThin);
    if (p.texture == Texture::LetterB)
        return (u < kWide) | (v < kWide) | (v > 1 - kWide) | (magnitude(v - 0.5f) < kThin);
    return (u < kThin) | (v < kThin);
}

/// Adds the colour of `p` to the sums of the rays in `mask`, which hit it at `t`.
VERGENCE_HD void addColour(const SceneView& scene, const Primitive& p, const PackRay& ray,
                           const Native& t, const NativeInt& axisHit, const NativeInt& mask,
                           Native (&sums)[3])
{
    const Native zero{}, one = zero + 1.0f;
    Native relative[3], normal[3], squared{};
    for (int axis = 0; axis < 3; ++axis) {
        relative[axis] =
            ray.origin[axis] + t * ray.direction[axis] - static_cast<float>(p.center[axis]);
        squared += relative[axis] * relative[axis];
    }
    const Native length = NativeRoot{}(squared > zero ? squared : one);
    Native cosine{}, speed2{};
    for (int axis = 0; axis < 3; ++axis) {
        normal[axis] = p.kind == PrimitiveKind::Sphere ? relative[axis] / length
                                                       : (axisHit == axis ? one : zero);
        cosine += normal[axis] * ray.direction[axis];
        speed2 += ray.direction[axis] * ray.direction[axis];
    }
    const Native light = scene.lambert ? magnitude(cosine) / NativeRoot{}(speed2) : one;
    NativeInt isWhite{};
    Native value = one;
    if (scene_detail::isChecker(p.texture))
        value = checkerIsWhite(p, normal) ? one : zero;
    else if (p.texture != Texture::Plain)
        isWhite = letterIsWhite(p, relative);
    for (int c = 0; c < 3; ++c) {
        const Native colour = isWhite ? one : value * p.color[c];
        sums[c] += mask ? colour * light : zero;
    }
}

/// What the rays see, added to `sums`.
VERGENCE_HD void addScene(const SceneView& scene, const PackRay& ray, Native (&sums)[3])
{
    const Native zero{};
    Native t{};
    NativeInt nearest = NativeInt{} - 1, axisHit{};
    for (int i = 0; i < scene.count; ++i) {
        const Primitive& p = scene.primitives[i];
        NativeInt axis{};
        const Native hit =
            p.kind == PrimitiveKind::Sphere ? sphereHits(p, ray) : cubeHits(p, ray, axis);
        const NativeInt isNearer = (hit > zero) & ((nearest < 0) | (hit < t));
        nearest = isNearer ? NativeInt{} + i : nearest;
        axisHit = isNearer ? axis : axisHit;
        t = isNearer ? hit : t;
    }
    for (int i = 0; i < scene.count; ++i) {
        const NativeInt mask = nearest == i;
        if (anyOf(mask))
            addColour(scene, scene.primitives[i], ray, t, axisHit, mask, sums);
    }
    for (int c = 0; c < 3; ++c)
        sums[c] += nearest < 0 ? spread(scene.background[c]) : zero;
}

/// Neighbouring pixels of a row; item = row · packs + pack.
struct PreviewPack {
    PreviewArguments a;
    Index packs;

    VERGENCE_HD void operator()(Index item) const
    {
        const int row = static_cast<int>(item / packs);
        const int column = static_cast<int>(item % packs) * kNative;
        const double power = a.eye.accommodation / 1000;
        Native sums[3] = {}, offsets;
        for (int i = 0; i < kNative; ++i)
            offsets[i] = static_cast<float>(i);
        for (int m = 0; m < a.sampleCount; ++m) {
            const RaySample sample = a.samples[m];
            const double ty = -pixelSlope(a.slopeExtent, a.resolution, row, sample.jitterY);
            const double tx = pixelSlope(a.slopeExtent, a.resolution, column, sample.jitterX);
            const Native slope = offsets * static_cast<float>(2 * a.slopeExtent / a.resolution) +
                                 static_cast<float>(refract(tx, sample.pupilX, power));
            const PackRay ray{{spread(static_cast<float>(a.eye.x + sample.pupilX)),
                               spread(static_cast<float>(a.eye.y + sample.pupilY)), Native{}},
                              {slope, spread(static_cast<float>(refract(ty, sample.pupilY, power))),
                               spread(1.0f)}};
            addScene(a.scene, ray, sums);
        }
        for (int i = 0; i < kNative && column + i < a.resolution; ++i) {
            float* out =
                a.radiance + (static_cast<Index>(row) * a.resolution + column + i) * a.lanes;
            for (int c = 0; c < a.channels; ++c)
                out[c] = sums[c][i] / static_cast<float>(a.sampleCount);
        }
    }
};

} // namespace vergence::light_field::simd
