#pragma once

#include <cstdint>
#include <span>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Shape of the cloud of T features of one image. Specification, section 6, "Spread per image".
/// All from the T × T Gram matrix, never a D × D one. Where all passes agree (or the mean direction
/// is 0) the ratios are NaN.
struct CloudShape {
    double traceSum = 0, tracePerDim = 0;
    double maxDimVariance = 0, normVariance = 0;
    std::vector<double> eigenvalues; ///< descending, those above 0, at most min(T − 1, D)
    double anisotropy = 0;           ///< λ₁ / tr
    double effectiveRank = 0, effectiveRankDebiased = 0, spectralEntropy = 0;
    double logdetPseudo = 0;    ///< mean of ln λ
    double logdetEps = 0;       ///< ε = 1e-6, not divided
    double logdetEpsPerDim = 0; ///< ε = 1e-10, divided by D
    double offdiagL1Sum = 0, offdiagL1Ratio = 0, offdiagFroRatio = 0;
    double resultantLength = 0, circularVariance = 0; ///< R, 1 − R of the normalised rows
    double angularVariance = 0, angularMeanSquare = 0;
    double tangentTrace = 0, tangentTopEigenvalue = 0;
    Figure bias2; ///< ‖mean − e_det‖² − tr/T where e_det is given
};
/// x: [T, D], T ≥ 2. `deterministic` [D] or empty.
CloudShape cloudShape(const Matrix& x, std::span<const double> deterministic = {});

/// Rows divided by max(‖row‖, 1e-12).
Matrix normalisedRows(const Matrix& x);

/// Off-diagonal mass of independent dimensions of equal variance, from sampling alone.
struct OffdiagNull {
    double l1 = 0, frobenius = 0;
};
OffdiagNull offdiagNull(std::size_t passes, std::size_t dimensions);

/// Principal axes of rows about their mean (or about 0): basis [q, D], orthonormal, signs so that
/// the entry of largest size is positive; variances descending. q = min(count, D): directions
/// beyond the rank of the rows are any orthonormal ones, with variance 0. For scatter views.
struct Axes {
    std::vector<double> centre; ///< [D]
    Matrix basis;               ///< [q, D]
    std::vector<double> variances;
};
Axes principalAxes(const Matrix& rows, std::size_t count, bool centred = true);
Matrix projected(const Matrix& rows, const Axes& axes); ///< [n, q]

/// w_d = Var_i(mean_i,d) / Σ_d: [D], variance over images with N − 1; 1/D where nothing varies.
/// means: [N, D].
std::vector<double> dimensionWeights(const Matrix& means);
/// Σ_d w_d Var_d per image; variances: [N, D].
std::vector<double> weightedTrace(const Matrix& variances, std::span<const double> weights);
/// Mean Var_d over the k dimensions of largest weight.
std::vector<double> topkTrace(const Matrix& variances, std::span<const double> weights,
                              std::size_t k = 64);

} // namespace vergence::mc_embedding
