#include "plugins/live_diffusion/diffusion/sampler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {

template <class Real>
void expectsSize(std::span<const Real> values, bool isUsed, std::size_t size, const char* what)
{
    expects(!isUsed || values.size() == size,
            fmt::format("Sampler: {} {} for a picture of {}", values.size(), what, size));
}

/// x̂₀ and the numbers of the next time from x and prediction; `kClamps`, `kPrevious`, `kNoise` keep
/// what is not asked for out of the loop.
template <class Real, bool kClamps, bool kPrevious, bool kNoise>
void run(const StepCoefficients<Real>& c, const SamplerStep<Real>& s)
{
    Real* x = s.x.data();
    Real* clean = s.clean.data();
    const Real* prediction = s.prediction.data();
    const Real* previous = s.previousClean.data();
    const Real* noise = s.noise.data();
    for (std::size_t i = 0; i < s.x.size(); ++i) {
        const Real at = x[i];
        Real estimate = c.fromX * at + c.fromPrediction * prediction[i];
        if constexpr (kClamps)
            estimate = std::min(std::max(estimate, Real(-1)), Real(1));
        const Real kept = c.keepX * at + c.keepClean * estimate;
        Real next = c.nextX * at + c.nextClean * kept;
        if constexpr (kPrevious)
            next += c.nextPrevious * previous[i];
        if constexpr (kNoise)
            next += c.nextNoise * noise[i];
        clean[i] = kept;
        x[i] = next;
    }
}

template <class Real, bool kClamps>
void runStep(const StepCoefficients<Real>& c, const SamplerStep<Real>& s)
{
    const bool usesPrevious = c.nextPrevious != 0, usesNoise = c.nextNoise != 0;
    if (usesPrevious)
        run<Real, kClamps, true, false>(c, s);
    else if (usesNoise)
        run<Real, kClamps, false, true>(c, s);
    else
        run<Real, kClamps, false, false>(c, s);
}

void expectsSettings(const NoiseSchedule& schedule, const SamplerSettings& s, int firstTime)
{
    expects(s.eta >= 0 && s.eta <= 1, fmt::format("Sampler: eta {} is outside [0, 1]", s.eta));
    expects(s.kind != SamplerKind::Turbo || s.steps == 1,
            fmt::format("Sampler: Turbo takes one step, not {}", s.steps));
    expects(s.prediction != Prediction::Epsilon || schedule.alphaBar(firstTime) > 0,
            fmt::format("Sampler: at time {} there is no signal, so that noise says nothing of the "
                        "picture; choose v or a schedule without zero terminal SNR",
                        firstTime));
}

} // namespace

std::string_view titleOf(SamplerKind kind)
{
    switch (kind) {
    case SamplerKind::Ddim:
        return "DDIM";
    case SamplerKind::DpmSolver2M:
        return "DPM-Solver++ 2M";
    case SamplerKind::Consistency:
        return "LCM";
    case SamplerKind::Turbo:
        break;
    }
    return "Turbo";
}

ConsistencyWeights consistencyWeights(int t)
{
    const double scaled = 10.0 * t, data = 0.5;
    const double square = scaled * scaled + data * data;
    return {data * data / square, scaled / std::sqrt(square)};
}

template <class Real>
BasicSampler<Real>::BasicSampler(const NoiseSchedule& schedule, const SamplerSettings& settings)
    : m_schedule(schedule),
      m_settings(settings),
      m_times(timesteps(settings.steps, settings.strength))
{
    expectsSettings(schedule, settings, m_times.front());
    for (int i = 0; i < steps(); ++i)
        m_coefficients.push_back(coefficientsAt(i));
}

template <class Real>
double BasicSampler<Real>::alpha(int step) const
{
    return m_schedule.alpha(m_times.at(static_cast<std::size_t>(step)));
}

template <class Real>
double BasicSampler<Real>::sigma(int step) const
{
    return m_schedule.sigma(m_times.at(static_cast<std::size_t>(step)));
}

/// h = λ_s − λ_t of a step.
template <class Real>
double BasicSampler<Real>::lambdaStep(int step) const
{
    const auto i = static_cast<std::size_t>(step);
    return m_schedule.lambda(m_times[i + 1]) - m_schedule.lambda(m_times[i]);
}

template <class Real>
StepCoefficients<Real> BasicSampler<Real>::coefficientsAt(int step) const
{
    const bool isLast = step + 1 == steps();
    const int from = m_times[static_cast<std::size_t>(step)];
    const int to = isLast ? kCleanTime : m_times[static_cast<std::size_t>(step) + 1];
    const double alphaT = m_schedule.alpha(from), sigmaT = m_schedule.sigma(from);
    const double alphaS = m_schedule.alpha(to), sigmaS = m_schedule.sigma(to);

    const bool isV = m_settings.prediction == Prediction::V;
    double keepX = 0, keepClean = 1, nextX = 0, nextClean = 1, nextPrevious = 0, nextNoise = 0;
    if (m_settings.kind == SamplerKind::Consistency) {
        const ConsistencyWeights weights = consistencyWeights(from);
        keepX = weights.skip;
        keepClean = weights.out;
        nextClean = alphaS;
        nextNoise = sigmaS;
    } else if (!isLast) {
        // x_s = α_s x̂₀ + e ε̂ + σ̃ z with ε̂ = (x − α_t x̂₀)/σ_t. Deterministic: e = σ_s, which is
        // the first-order step of DPM-Solver++ too: −α_s(e^−h − 1) = α_s − σ_s α_t/σ_t.
        const bool isDdim = m_settings.kind == SamplerKind::Ddim;
        const double fresh = isDdim ? m_settings.eta * sigmaS / sigmaT *
                                          std::sqrt(1 - alphaT * alphaT / (alphaS * alphaS))
                                    : 0;
        const double kept = std::sqrt(std::max(0.0, sigmaS * sigmaS - fresh * fresh));
        nextX = kept / sigmaT;
        nextClean = alphaS - kept * alphaT / sigmaT;
        nextNoise = fresh;
        if (usesPrevious(step)) {
            const double share = lambdaStep(step) / (2 * lambdaStep(step - 1)); // 1/(2r)
            nextPrevious = -nextClean * share;
            nextClean *= 1 + share;
        }
    }
    StepCoefficients<Real> c;
    c.fromX = static_cast<Real>(isV ? alphaT : 1 / alphaT);
    c.fromPrediction = static_cast<Real>(isV ? -sigmaT : -sigmaT / alphaT);
    c.keepX = static_cast<Real>(keepX);
    c.keepClean = static_cast<Real>(keepClean);
    c.nextX = static_cast<Real>(nextX);
    c.nextClean = static_cast<Real>(nextClean);
    c.nextPrevious = static_cast<Real>(nextPrevious);
    c.nextNoise = static_cast<Real>(nextNoise);
    return c;
}

template <class Real>
bool BasicSampler<Real>::usesPrevious(int step) const
{
    expects(step >= 0 && step < steps(), "Sampler: no such step");
    if (m_settings.kind != SamplerKind::DpmSolver2M || step == 0 || step + 1 == steps())
        return false;
    return m_schedule.alphaBar(m_times[static_cast<std::size_t>(step) - 1]) > 0;
}

template <class Real>
bool BasicSampler<Real>::usesNoise(int step) const
{
    return coefficients(step).nextNoise != 0;
}

template <class Real>
const StepCoefficients<Real>& BasicSampler<Real>::coefficients(int step) const
{
    expects(step >= 0 && step < steps(), "Sampler: no such step");
    return m_coefficients[static_cast<std::size_t>(step)];
}

template <class Real>
void BasicSampler<Real>::begin(std::span<const Real> init, std::span<const Real> noise,
                               std::span<Real> x) const
{
    expects(noise.size() == x.size() && (init.empty() || init.size() == x.size()),
            "Sampler: start, noise and picture differ in size");
    const auto signal = static_cast<Real>(alpha(0)), spread = static_cast<Real>(sigma(0));
    if (init.empty()) {
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = spread * noise[i];
    } else {
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = signal * init[i] + spread * noise[i];
    }
}

template <class Real>
void BasicSampler<Real>::step(int step, const SamplerStep<Real>& data) const
{
    const StepCoefficients<Real>& c = coefficients(step);
    const std::size_t size = data.x.size();
    expectsSize<Real>(data.prediction, true, size, "predicted values");
    expectsSize<Real>(data.clean, true, size, "values of the estimate");
    expectsSize<Real>(data.previousClean, usesPrevious(step), size, "values of the last estimate");
    expectsSize<Real>(data.noise, usesNoise(step), size, "random numbers");
    if (m_settings.clampsClean)
        runStep<Real, true>(c, data);
    else
        runStep<Real, false>(c, data);
}

template class BasicSampler<float>;
template class BasicSampler<double>;

} // namespace vergence::live
