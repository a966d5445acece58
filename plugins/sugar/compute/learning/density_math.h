#pragma once

#include <cmath>

#include "core/compute/rng.h"
#include "plugins/sugar/compute/projection_math.h"

namespace vergence::sugar {

/// What a random number is for, so that no two uses share one.
enum class DensityDraw : std::uint64_t { Split, Relocation, Birth, Noise };

/// Philox stream of one use in one step.
VERGENCE_HD std::uint64_t densityStream(DensityDraw draw, std::int64_t step)
{
    return static_cast<std::uint64_t>(step) * 4 + static_cast<std::uint64_t>(draw);
}

/// Three numbers of the standard normal distribution as a function of seed, stream and index.
/// Source: A note on the generation of random normal deviates (1958).
VERGENCE_HD void threeNormals(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                              float* normal)
{
    const PhiloxBlock block = philox(seed, stream, index);
    constexpr float kStep = 1.0F / 16777216.0F, kTurn = 6.28318530717958648F;
    for (int pair = 0; pair < 2; ++pair) {
        const float u = (static_cast<float>(block.word[2 * pair] >> 8) + 0.5F) * kStep;
        const float angle = kTurn * kStep * static_cast<float>(block.word[2 * pair + 1] >> 8);
        const float radius = std::sqrt(-2.0F * std::log(u));
        normal[2 * pair] = radius * std::cos(angle);
        if (pair == 0)
            normal[1] = radius * std::sin(angle);
    }
}

/// Uniform in [0, 1), 53 bits.
VERGENCE_HD double uniform53(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
{
    const PhiloxBlock block = philox(seed, stream, index);
    const std::uint64_t bits =
        (static_cast<std::uint64_t>(block.word[0]) << 32 | block.word[1]) >> 11;
    return static_cast<double>(bits) * (1.0 / 9007199254740992.0);
}

/// Rotation matrix of a quaternion w x y z of any norm above 0, row-major.
template <class Real>
VERGENCE_HD void rotationOfAny(const Real* quaternion, Real* matrix)
{
    Real unit[4], squares = 0;
    for (int i = 0; i < 4; ++i)
        squares += quaternion[i] * quaternion[i];
    const Real inverse = squares > Real(0) ? Real(1) / std::sqrt(squares) : Real(0);
    for (int i = 0; i < 4; ++i)
        unit[i] = quaternion[i] * inverse;
    rotationOf(unit, matrix);
}

template <class Real>
VERGENCE_HD Real sigmoid(Real logit)
{
    return Real(1) / (Real(1) + std::exp(-logit));
}

template <class Real>
VERGENCE_HD Real logitOf(Real opacity)
{
    return std::log(opacity / (Real(1) - opacity));
}

/// Near 1 for what is as good as transparent, near 0 otherwise: σ(−100 (o − 0.005)).
/// Source: 3D Gaussian splatting as Markov chain Monte Carlo (2024), equation 8.
template <class Real>
VERGENCE_HD Real noiseGate(Real opacity)
{
    return sigmoid(Real(-100) * (opacity - Real(0.005)));
}

/// offset = Σ η with Σ = R diag(s²) Rᵀ.
template <class Real>
VERGENCE_HD void timesCovariance(const Real* quaternion, const Real* logScale, const Real* eta,
                                 Real* offset)
{
    Real r[9];
    rotationOfAny(quaternion, r);
    offset[0] = offset[1] = offset[2] = Real(0);
    for (int axis = 0; axis < 3; ++axis) {
        const Real s = std::exp(logScale[axis]);
        const Real along = r[axis] * eta[0] + r[3 + axis] * eta[1] + r[6 + axis] * eta[2];
        for (int row = 0; row < 3; ++row)
            offset[row] += r[3 * row + axis] * s * s * along;
    }
}

/// Π s/√(s² + f²) over the axes: what a filter of standard deviation f leaves of the opacity.
template <class Real>
VERGENCE_HD Real filteredShare(const Real* logScale, Real filter)
{
    Real share = Real(1);
    for (int axis = 0; axis < 3; ++axis) {
        const Real s = std::exp(logScale[axis]);
        share *= s / std::sqrt(s * s + filter * filter);
    }
    return share;
}

} // namespace vergence::sugar
