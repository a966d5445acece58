#pragma once

#include <array>
#include <vector>

#include "core/base/enum_names.h"

namespace vergence::live {

using vergence::nameOf;

/// Times a network is trained at: 0 (nearly clean) … 999 (nearly noise).
inline constexpr int kTrainTimes = 1000;
/// The time of a finished picture: ᾱ = 1.
inline constexpr int kCleanTime = -1;

/// What a network tells of x_t = α_t x₀ + σ_t ε: ε itself, or v = α_t ε − σ_t x₀.
/// Source of v: Progressive Distillation for Fast Sampling of Diffusion Models (2022), section 4.
enum class Prediction { Epsilon, V };
constexpr auto namesOf(Prediction)
{
    return std::array{EnumName{Prediction::V, "v"}, EnumName{Prediction::Epsilon, "epsilon"}};
}

/// How the variance β of one time grows. Linear: 1e-4 … 0.02; ScaledLinear: √β linear from √0.00085
/// to √0.012; Cosine: ᾱ(t) = cos²(((t/T + 0.008)/1.008)·π/2), β at most 0.999.
/// Sources: Denoising Diffusion Probabilistic Models (2020), section 4; High-Resolution Image
/// Synthesis with Latent Diffusion Models (2022), appendix; Improved Denoising Diffusion
/// Probabilistic Models (2021), eq. 17.
enum class BetaCurve { Linear, ScaledLinear, Cosine };
constexpr auto namesOf(BetaCurve)
{
    return std::array{EnumName{BetaCurve::Cosine, "cosine"}, EnumName{BetaCurve::Linear, "linear"},
                      EnumName{BetaCurve::ScaledLinear, "scaled_linear"}};
}

/// ᾱ_t = Π (1 − β) and what follows from it: α = √ᾱ, σ = √(1 − ᾱ), λ = ln(α/σ). Always made for a
/// thousand times and sub-sampled, never made anew for fewer.
class NoiseSchedule {
public:
    /// `zeroTerminalSnr`: √ᾱ′ = (√ᾱ − √ᾱ_T)·√ᾱ₀/(√ᾱ₀ − √ᾱ_T), so that the last time is pure noise.
    /// Source: Common Diffusion Noise Schedules and Sample Steps are Flawed (2024), algorithm 1.
    explicit NoiseSchedule(BetaCurve curve = BetaCurve::Cosine, bool zeroTerminalSnr = false);

    // t: kCleanTime … 999; ContractError elsewhere.
    double alphaBar(int t) const;
    double alpha(int t) const;
    double sigma(int t) const;
    double lambda(int t) const; ///< +∞ at kCleanTime, −∞ where ᾱ = 0
    double snr(int t) const;    ///< ᾱ/(1 − ᾱ)

    /// Weight of a squared error of the prediction at time t: ε: min(SNR, γ)/SNR; v: min(SNR, γ)/
    /// (SNR + 1). Source: Efficient Diffusion Training via Min-SNR Weighting Strategy (2023),
    /// eq. 6.
    double minSnrWeight(Prediction prediction, int t, double gamma = 5) const;

private:
    std::array<double, kTrainTimes> m_alphaBar;
};

/// T′ = max(1, round(strength·T)): times below the one that a strength begins at, and that one.
int timesUpTo(double strength);

/// Times of `count` steps, the noisiest first ("trailing"): T′ = timesUpTo(strength),
/// t_i = ⌊T′ − i·T′/count + ½⌋ − 1; the step after the last is kCleanTime. 1 ≤ count ≤ T′,
/// 0 < strength ≤ 1; ContractError elsewhere.
std::vector<int> timesteps(int count, double strength = 1);

} // namespace vergence::live
