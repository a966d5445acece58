#include "plugins/live_diffusion/diffusion/guidance.h"

#include "core/base/error.h"

namespace vergence::live {

std::string_view titleOf(GuidanceKind kind)
{
    switch (kind) {
    case GuidanceKind::None:
        return "none";
    case GuidanceKind::Full:
        return "full";
    case GuidanceKind::SelfNegative:
        return "self-negative";
    case GuidanceKind::OnetimeNegative:
        break;
    }
    return "onetime-negative";
}

int evaluations(GuidanceKind kind, int steps)
{
    switch (kind) {
    case GuidanceKind::Full:
        return 2 * steps;
    case GuidanceKind::OnetimeNegative:
        return steps + 1;
    default:
        return steps;
    }
}

template <class Real>
void guide(const GuidanceSettings& settings, Prediction kind, const GuidanceStep<Real>& step)
{
    if (settings.kind == GuidanceKind::None || settings.gamma == 1)
        return;
    const std::size_t size = step.prediction.size();
    expects(step.x.size() == size && step.negative.size() == size,
            "guide: pictures differ in size");
    expects(step.sigma > 0 && (kind == Prediction::Epsilon || step.alpha > 0),
            "guide: a step needs noise, and for v signal too");
    const auto alpha = static_cast<Real>(step.alpha), sigma = static_cast<Real>(step.sigma);
    const auto gamma = static_cast<Real>(settings.gamma);
    if (settings.kind == GuidanceKind::Full) {
        // v is linear in ε at fixed x, so that the formula is the same for both.
        for (std::size_t i = 0; i < size; ++i)
            step.prediction[i] = guidedNoise(step.prediction[i], step.negative[i], gamma, Real(1));
        return;
    }
    const auto delta = static_cast<Real>(settings.delta);
    for (std::size_t i = 0; i < size; ++i) {
        const Real x = step.x[i];
        const Real conditional = noiseFrom(kind, x, step.prediction[i], alpha, sigma);
        const Real negative = virtualNegative(x, step.negative[i], alpha, sigma);
        const Real noise = guidedNoise(conditional, negative, gamma, delta);
        step.prediction[i] = kind == Prediction::V ? (noise - sigma * x) / alpha : noise;
    }
}

template <class Real>
void estimateOf(Prediction kind, std::span<const Real> x, std::span<const Real> prediction,
                double alpha, double sigma, std::span<Real> clean)
{
    expects(x.size() == prediction.size() && x.size() == clean.size(),
            "estimateOf: pictures differ in size");
    for (std::size_t i = 0; i < x.size(); ++i)
        clean[i] = cleanFrom(kind, x[i], prediction[i], static_cast<Real>(alpha),
                             static_cast<Real>(sigma));
}

template void guide<float>(const GuidanceSettings&, Prediction, const GuidanceStep<float>&);
template void guide<double>(const GuidanceSettings&, Prediction, const GuidanceStep<double>&);
template void estimateOf<float>(Prediction, std::span<const float>, std::span<const float>, double,
                                double, std::span<float>);
template void estimateOf<double>(Prediction, std::span<const double>, std::span<const double>,
                                 double, double, std::span<double>);

} // namespace vergence::live
