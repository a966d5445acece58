#pragma once

#include <span>
#include <vector>

#include "core/compute/view.h"
#include "plugins/live_diffusion/diffusion/sampler_math.h"

namespace vergence::live {

/// The best denoiser there is for a known clip {x⁽ⁱ⁾} of equally likely pictures, without a
/// network: the posterior mean x̂₀ = Σ softmax_i(−‖x − α x⁽ⁱ⁾‖²/(2σ²))·x⁽ⁱ⁾. Const and thread-safe.
template <class Real>
class BasicOracle {
public:
    /// pictures: [count, size], kept; size > 0.
    BasicOracle(std::vector<Real> pictures, Index size);

    Index size() const { return m_size; }
    Index count() const { return static_cast<Index>(m_pictures.size()) / m_size; }

    /// clean = x̂₀ of x at signal α and noise σ. σ = 0: the nearest picture to x/α.
    void clean(std::span<const Real> x, double alpha, double sigma, std::span<Real> clean) const;
    /// The same as the prediction of a network; σ > 0.
    void predict(Prediction kind, std::span<const Real> x, double alpha, double sigma,
                 std::span<Real> prediction) const;

private:
    std::vector<Real> m_pictures;
    Index m_size;
};

using OracleDenoiser = BasicOracle<float>;
extern template class BasicOracle<float>;
extern template class BasicOracle<double>;

} // namespace vergence::live
