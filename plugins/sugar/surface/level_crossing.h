#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "plugins/sugar/compute/alignment/density_field_math.h"
#include "plugins/sugar/surface/density_field.h"

namespace vergence::sugar {

/// exp(x) for x ≤ 0, relative error below 3e-7; below −87 that of −87. Vectorises in loops.
inline float exponentialOfNegative(float x)
{
    x = x > -87.0F ? x : -87.0F;
    const float shifted = x * 1.44269504F + 12582912.0F; // the integer lands in the low bits
    const float n = shifted - 12582912.0F;
    const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    const auto bits = std::bit_cast<std::uint32_t>(shifted) << 23;
    return (p * r * r + r + 1.0F) * std::bit_cast<float>(bits + 0x3F800000U);
}

/// The density along x(t) = origin + t · step for the neighbours of one Gaussian: each exponent is
/// a quadratic function of t, −(c + a (t − m)²), found once. In this form rounding does not matter
/// however thin the Gaussian is.
class DensityAlongRay {
public:
    DensityAlongRay(const DensityField& field, std::uint32_t of, const double* origin,
                    const double* step)
    {
        std::size_t i = 0;
        for (const std::uint32_t neighbour : field.around(of)) {
            const DensityLobe& lobe = field.lobe(neighbour);
            double constant = 0, linear = 0, square = 0;
            for (int axis = 0; axis < 3; ++axis) {
                double y = 0, dy = 0;
                for (int k = 0; k < 3; ++k) {
                    const double w = lobe.whitening[3 * axis + k];
                    y += w * (origin[k] - static_cast<double>(lobe.position[k]));
                    dy += w * step[k];
                }
                constant += y * y;
                linear += y * dy;
                square += dy * dy;
            }
            const double middle = square > 0 ? -linear / square : 0;
            m_middle[i] = static_cast<float>(middle);
            m_constant[i] = static_cast<float>(-0.5 * std::max(0.0, constant + middle * linear));
            m_square[i] = static_cast<float>(-0.5 * square);
            m_opacity[i] = lobe.opacity;
            ++i;
        }
        m_lanes = (i + kLanes - 1) / kLanes * kLanes; // the rest has the opacity 0
    }

    float at(float t) const
    {
        std::array<float, kLanes> sum{};
        for (std::size_t i = 0; i < m_lanes; i += kLanes) {
            for (std::size_t k = 0; k < kLanes; ++k) {
                const float away = t - m_middle[i + k];
                sum[k] += m_opacity[i + k] *
                          exponentialOfNegative(m_constant[i + k] + m_square[i + k] * away * away);
            }
        }
        float total = 0;
        for (const float part : sum)
            total += part;
        return total;
    }

private:
    static constexpr std::size_t kLanes = 8;
    static constexpr std::size_t kMost = (kMostFieldNeighbours + kLanes - 1) / kLanes * kLanes;

    std::array<float, kMost> m_constant{}, m_middle{}, m_square{}, m_opacity{};
    std::size_t m_lanes = 0;
};

} // namespace vergence::sugar
