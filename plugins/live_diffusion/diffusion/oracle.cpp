#include "plugins/live_diffusion/diffusion/oracle.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {

/// ‖x − alpha·picture‖²; partial sums side by side so that the loop vectorises.
template <class Real>
double squaredDistance(std::span<const Real> x, const Real* picture, Real alpha)
{
    constexpr std::size_t kLanes = 16, kRun = 4096;
    const std::size_t size = x.size();
    double sum = 0;
    for (std::size_t first = 0; first < size; first += kRun) {
        const std::size_t last = std::min(size, first + kRun);
        Real lanes[kLanes] = {};
        std::size_t i = first;
        for (; i + kLanes <= last; i += kLanes) {
            for (std::size_t k = 0; k < kLanes; ++k) {
                const Real d = x[i + k] - alpha * picture[i + k];
                lanes[k] += d * d;
            }
        }
        for (; i < last; ++i) {
            const Real d = x[i] - alpha * picture[i];
            lanes[0] += d * d;
        }
        for (const Real lane : lanes)
            sum += static_cast<double>(lane);
    }
    return sum;
}

} // namespace

template <class Real>
BasicOracle<Real>::BasicOracle(std::vector<Real> pictures, Index size)
    : m_pictures(std::move(pictures)),
      m_size(size)
{
    expects(size > 0 && !m_pictures.empty() && static_cast<Index>(m_pictures.size()) % size == 0,
            fmt::format("Oracle: {} values are no pictures of {}", m_pictures.size(), size));
}

template <class Real>
void BasicOracle<Real>::clean(std::span<const Real> x, double alpha, double sigma,
                              std::span<Real> clean) const
{
    expects(static_cast<Index>(x.size()) == m_size && clean.size() == x.size(),
            "Oracle: the picture has another size than the clip's");
    expects(alpha >= 0 && sigma >= 0 && alpha + sigma > 0, "Oracle: signal and noise are negative");
    const auto pictureAt = [this](Index i) { return m_pictures.data() + i * m_size; };
    std::vector<double> weight(static_cast<std::size_t>(count()));
    for (Index i = 0; i < count(); ++i)
        weight[static_cast<std::size_t>(i)] =
            squaredDistance(x, pictureAt(i), static_cast<Real>(alpha));
    const double nearest = *std::min_element(weight.begin(), weight.end());
    double sum = 0;
    for (double& w : weight) {
        const double further = w - nearest;
        w = sigma == 0 ? (further == 0 ? 1 : 0) : std::exp(-further / (2 * sigma * sigma));
        sum += w;
    }
    std::fill(clean.begin(), clean.end(), Real(0));
    for (Index i = 0; i < count(); ++i) {
        const auto share = static_cast<Real>(weight[static_cast<std::size_t>(i)] / sum);
        if (share == 0)
            continue;
        const Real* picture = pictureAt(i);
        for (std::size_t k = 0; k < clean.size(); ++k)
            clean[k] += share * picture[k];
    }
}

template <class Real>
void BasicOracle<Real>::predict(Prediction kind, std::span<const Real> x, double alpha,
                                double sigma, std::span<Real> prediction) const
{
    expects(sigma > 0, "Oracle: without noise there is nothing to predict");
    clean(x, alpha, sigma, prediction);
    const auto signal = static_cast<Real>(alpha), spread = static_cast<Real>(sigma);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Real noise = (x[i] - signal * prediction[i]) / spread;
        prediction[i] = predictionOf(kind, prediction[i], noise, signal, spread);
    }
}

template class BasicOracle<float>;
template class BasicOracle<double>;

} // namespace vergence::live
