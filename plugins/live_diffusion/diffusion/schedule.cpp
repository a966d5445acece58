#include "plugins/live_diffusion/diffusion/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {

constexpr double kTimes = kTrainTimes;

double cosineAlphaBar(double t)
{
    const double c = std::cos((t / kTimes + 0.008) / 1.008 * std::numbers::pi / 2);
    return c * c;
}

double beta(BetaCurve curve, int t)
{
    const double part = t / (kTimes - 1);
    switch (curve) {
    case BetaCurve::Linear:
        return std::lerp(1e-4, 0.02, part);
    case BetaCurve::ScaledLinear: {
        const double root = std::lerp(std::sqrt(0.00085), std::sqrt(0.012), part);
        return root * root;
    }
    case BetaCurve::Cosine:
        break;
    }
    return std::min(0.999, 1 - cosineAlphaBar(t + 1) / cosineAlphaBar(t));
}

} // namespace

NoiseSchedule::NoiseSchedule(BetaCurve curve, bool zeroTerminalSnr)
{
    double product = 1;
    for (int t = 0; t < kTrainTimes; ++t)
        m_alphaBar[static_cast<std::size_t>(t)] = product *= 1 - beta(curve, t);
    if (!zeroTerminalSnr)
        return;
    const double first = std::sqrt(m_alphaBar.front()), last = std::sqrt(m_alphaBar.back());
    for (double& alphaBar : m_alphaBar) {
        const double root = (std::sqrt(alphaBar) - last) * first / (first - last);
        alphaBar = root * root;
    }
}

double NoiseSchedule::alphaBar(int t) const
{
    expects(t >= kCleanTime && t < kTrainTimes,
            fmt::format("NoiseSchedule: time {} is outside -1 … {}", t, kTrainTimes - 1));
    return t == kCleanTime ? 1 : m_alphaBar[static_cast<std::size_t>(t)];
}

double NoiseSchedule::alpha(int t) const
{
    return std::sqrt(alphaBar(t));
}

double NoiseSchedule::sigma(int t) const
{
    return std::sqrt(1 - alphaBar(t));
}

double NoiseSchedule::lambda(int t) const
{
    return std::log(snr(t)) / 2;
}

double NoiseSchedule::snr(int t) const
{
    const double signal = alphaBar(t);
    return signal == 1 ? std::numeric_limits<double>::infinity() : signal / (1 - signal);
}

double NoiseSchedule::minSnrWeight(Prediction prediction, int t, double gamma) const
{
    expects(gamma > 0 && t != kCleanTime,
            "minSnrWeight: gamma must be positive, t a time of training");
    const double ratio = snr(t), least = std::min(ratio, gamma);
    if (prediction == Prediction::V)
        return least / (ratio + 1);
    return ratio == 0 ? 1 : least / ratio;
}

int timesUpTo(double strength)
{
    return std::max(1, static_cast<int>(std::lround(strength * kTrainTimes)));
}

std::vector<int> timesteps(int count, double strength)
{
    expects(strength > 0 && strength <= 1,
            fmt::format("timesteps: strength {} is outside (0, 1]", strength));
    const double last = timesUpTo(strength);
    expects(count >= 1 && count <= last,
            fmt::format("timesteps: {} steps do not fit into {} times", count, last));
    std::vector<int> times;
    for (int i = 0; i < count; ++i)
        times.push_back(static_cast<int>(std::floor(last - i * last / count + 0.5)) - 1);
    return times;
}

} // namespace vergence::live
