#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/live_diffusion/diffusion/sampler_math.h"

namespace vergence::live {

using vergence::nameOf;

/// Sources: Denoising Diffusion Implicit Models (2021), eq. 12; DPM-Solver++ (2022), algorithm 2;
/// Latent Consistency Models (2023), algorithm 3. Turbo: one step, x̂₀ is the picture.
enum class SamplerKind { Ddim, DpmSolver2M, Consistency, Turbo };
constexpr auto namesOf(SamplerKind)
{
    return std::array{
        EnumName{SamplerKind::Ddim, "ddim"}, EnumName{SamplerKind::DpmSolver2M, "dpm"},
        EnumName{SamplerKind::Consistency, "lcm"}, EnumName{SamplerKind::Turbo, "turbo"}};
}
std::string_view titleOf(SamplerKind kind); ///< "DDIM", "DPM-Solver++ 2M", "LCM", "Turbo"

struct SamplerSettings {
    SamplerKind kind = SamplerKind::Ddim;
    Prediction prediction = Prediction::V;
    int steps = 2;            ///< Turbo: 1
    double strength = 1;      ///< (0, 1]; how far the start is noised
    double eta = 0;           ///< DDIM: [0, 1], share of fresh noise
    bool clampsClean = false; ///< x̂₀ to [−1, 1] before it is used
};

/// What one step reads and writes; all of one length, dense, host memory.
template <class Real>
struct SamplerStep {
    std::span<Real> x;                ///< x_t in, x_s out
    std::span<const Real> prediction; ///< of the network at x_t
    std::span<Real> clean;            ///< out: the estimate of the finished picture (of LCM: f)
    /// `clean` of the step before, of the same picture; not aliasing clean. Needed where
    /// usesPrevious(i).
    std::span<const Real> previousClean;
    std::span<const Real> noise; ///< normal numbers; needed where usesNoise(i)
};

/// From noise to a picture in a few steps. Holds numbers alone and no picture, so that rows of a
/// stream batch, each at its own step, share one. Coefficients are made in double; the arithmetic
/// on pictures is in Real: float in the product, double where tests ask.
template <class Real>
class BasicSampler {
public:
    /// Throws ContractError for settings out of range, and for ε where the first time has no signal
    /// (ᾱ = 0).
    BasicSampler(const NoiseSchedule& schedule, const SamplerSettings& settings);

    const SamplerSettings& settings() const { return m_settings; }
    int steps() const { return static_cast<int>(m_times.size()); }
    const std::vector<int>& times() const { return m_times; } ///< of the steps; then kCleanTime
    double alpha(int step) const;                             ///< at the step's time
    double sigma(int step) const;

    bool usesPrevious(int step) const;
    bool usesNoise(int step) const;
    const StepCoefficients<Real>& coefficients(int step) const;

    /// x = α·init + σ·noise at the first time; an empty init counts as 0.
    void begin(std::span<const Real> init, std::span<const Real> noise, std::span<Real> x) const;
    /// Step number `step`. After the last, x is the picture (as is `clean`).
    void step(int step, const SamplerStep<Real>& data) const;

private:
    StepCoefficients<Real> coefficientsAt(int step) const;
    double lambdaStep(int step) const;

    NoiseSchedule m_schedule;
    SamplerSettings m_settings;
    std::vector<int> m_times;
    std::vector<StepCoefficients<Real>> m_coefficients;
};

using Sampler = BasicSampler<float>;
extern template class BasicSampler<float>;
extern template class BasicSampler<double>;

} // namespace vergence::live
