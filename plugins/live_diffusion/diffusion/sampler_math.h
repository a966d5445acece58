#pragma once

#include "core/compute/host_device.h"
#include "plugins/live_diffusion/diffusion/schedule.h"

namespace vergence::live {

/// One step of a sampler as numbers; every sampler is linear in its inputs once x̂₀ is known:
///   x̂₀ = fromX·x + fromPrediction·prediction, clamped to [−1, 1] where asked,
///   D  = keepX·x + keepClean·x̂₀                     the estimate that is shown,
///   x′ = nextX·x + nextClean·D + nextPrevious·D_previous + nextNoise·z.
template <class Real>
struct StepCoefficients {
    Real fromX = 0, fromPrediction = 0;
    Real keepX = 0, keepClean = 1;
    Real nextX = 0, nextClean = 1, nextPrevious = 0, nextNoise = 0;
};

/// ε: x̂₀ = (x − σε)/α; v: x̂₀ = αx − σv.
template <class Real>
VERGENCE_HD Real cleanFrom(Prediction kind, Real x, Real prediction, Real alpha, Real sigma)
{
    return kind == Prediction::V ? alpha * x - sigma * prediction
                                 : (x - sigma * prediction) / alpha;
}

/// ε of a prediction: itself, or ε̂ = σx + αv.
template <class Real>
VERGENCE_HD Real noiseFrom(Prediction kind, Real x, Real prediction, Real alpha, Real sigma)
{
    return kind == Prediction::V ? sigma * x + alpha * prediction : prediction;
}

/// What the network should have said of x = α·clean + σ·noise.
template <class Real>
VERGENCE_HD Real predictionOf(Prediction kind, Real clean, Real noise, Real alpha, Real sigma)
{
    return kind == Prediction::V ? alpha * noise - sigma * clean : noise;
}

/// Weights of x and x̂₀ in f = c_skip x + c_out x̂₀, which is x itself at time 0: c_skip =
/// σ_d²/((10t)² + σ_d²), c_out = 10t/√((10t)² + σ_d²), σ_d = 0.5.
/// Source: Latent Consistency Models (2023), section 4 and appendix.
struct ConsistencyWeights {
    double skip, out;
};
ConsistencyWeights consistencyWeights(int t);

} // namespace vergence::live
