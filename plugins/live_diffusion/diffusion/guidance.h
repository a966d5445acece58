#pragma once

#include <span>
#include <string_view>

#include "plugins/live_diffusion/diffusion/sampler_math.h"

namespace vergence::live {

using vergence::nameOf;

/// None: what the network says. Full: one more eval a step without the condition (2N).
/// SelfNegative: the condition's absence is imagined, with the input frame as what would have come
/// (N). OnetimeNegative: one real eval without the condition, at the first step (N + 1). Source:
/// StreamDiffusion (2023), section 3.2, "residual classifier-free guidance".
enum class GuidanceKind { None, Full, SelfNegative, OnetimeNegative };
constexpr auto namesOf(GuidanceKind)
{
    return std::array{EnumName{GuidanceKind::None, "none"}, EnumName{GuidanceKind::Full, "full"},
                      EnumName{GuidanceKind::SelfNegative, "self_negative"},
                      EnumName{GuidanceKind::OnetimeNegative, "onetime_negative"}};
}
std::string_view titleOf(GuidanceKind kind); ///< "self-negative"
int evaluations(GuidanceKind kind, int steps);

struct GuidanceSettings {
    GuidanceKind kind = GuidanceKind::None;
    double gamma = 1; ///< how strongly the condition is wanted; 1: as it is
    double delta = 1; ///< share of the imagined negative

    bool operator==(const GuidanceSettings&) const = default;
};

/// ε = δε̄ + γ(ε_c − δε̄), computed as ε_c + (γ − 1)(ε_c − δε̄): ε_c to the bit for γ = 1, and for
/// ε_c = ε̄ with δ = 1. Full guidance is the same with δ = 1 and ε̄ = ε_u.
template <class Real>
VERGENCE_HD Real guidedNoise(Real conditional, Real negative, Real gamma, Real delta)
{
    return conditional + (gamma - Real(1)) * (conditional - delta * negative);
}

/// ε̄ = (x − α x_ref)/σ: the noise if the reference were the picture.
template <class Real>
VERGENCE_HD Real virtualNegative(Real x, Real reference, Real alpha, Real sigma)
{
    return (x - alpha * reference) / sigma;
}

/// One step's guidance over whole pictures; all of one length.
template <class Real>
struct GuidanceStep {
    std::span<const Real> x;
    std::span<Real> prediction; ///< with the condition in, guided out
    /// Full: prediction without the condition at this step. SelfNegative, OnetimeNegative: the
    /// picture x_ref – the input frame, or what estimateOf() made of the one eval without it.
    std::span<const Real> negative;
    double alpha = 1, sigma = 0; ///< of this step; sigma > 0, for v also alpha > 0
};

/// Does nothing for None, and for γ = 1.
template <class Real>
void guide(const GuidanceSettings& settings, Prediction kind, const GuidanceStep<Real>& step);

/// x_ref of OnetimeNegative: x̂₀ of the unconditional prediction at the first step.
template <class Real>
void estimateOf(Prediction kind, std::span<const Real> x, std::span<const Real> prediction,
                double alpha, double sigma, std::span<Real> clean);

} // namespace vergence::live
