#pragma once

#include <string>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Whether scores repeat from trial to trial. Specification, sections 6 and 8.
struct Reliability {
    std::size_t trials = 0, images = 0;
    /// Var_i(mean_k), mean_i(Var_k), their ratio (infinite with a reason where the noise is 0),
    /// that − 1/K.
    Figure signal, noise, snr, snrUnbiased;
    Figure icc, iccLow, iccHigh; ///< ICC(1,1) with its interval at 1 − alpha
    Figure iccC1, icc1k;         ///< trial offset removed; of the mean over trials
    Figure driftF, driftP;       ///< trial effect against the residual
    bool drifts = false;         ///< driftP < 1e-3
    std::vector<double>
        pairwise; ///< Spearman of all pairs of trials that have one, (0,1), (0,2), …
    Figure spearmanMedian, spearmanQ25, spearmanQ75;
    Figure pearsonMedian;
    Figure mean;                          ///< of all scores
    Figure relativeNoise;                 ///< c / mean²
    Figure betweenVariance, noisePerPass; ///< σ_b², c: noise(T) = c/T (unbiased scores)
    /// usable, marginal, failed, insufficient_trials; a gate whose figure does not exist counts as
    /// failed.
    std::string status;
    bool certain = false; ///< the lower bound of ICC passes too
};

/// scores [K, N] with T passes each. K = 1 gives insufficient_trials.
Reliability reliability(const Matrix& scores, int passes, double alpha = 0.05);

/// Mean squares of the two-way layout, images = rows of the formula, trials = columns.
struct MeanSquares {
    double betweenImages = 0, withinImages = 0, residual = 0, betweenTrials = 0;
};
MeanSquares meanSquares(const Matrix& scores);

/// ICC at T passes from the ICC at T₀ (Spearman–Brown).
double predictedIcc(double icc, double fromPasses, double toPasses);
/// Passes for a target ICC: g/(1 − g) · c/σ_b²; none where σ_b² ≤ 0.
Figure passesForIcc(const Reliability& at, double target);
/// Correlation without the noise of both sides: ρ / √(icc_1k,a · icc_1k,b).
Figure disattenuated(double rho, const Reliability& a, const Reliability& b);

/// The gates.
inline constexpr double kSpearmanGate = 0.80, kSnrGate = 2, kIccGate = 0.75;
inline constexpr double kSpearmanFailed = 0.60, kSnrFailed = 1;

} // namespace vergence::mc_embedding
