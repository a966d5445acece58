#include "plugins/mc_embedding/study/experiments/leverage.h"

#include <chrono>
#include <cmath>

#include <Eigen/Eigenvalues>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Dense> mapped(const Matrix& m)
{
    return {m.values.data(), static_cast<Eigen::Index>(m.rows),
            static_cast<Eigen::Index>(m.columns)};
}

/// Eigenvalues and vectors of XᵀX; the values are at least 0.
struct Spectrum {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;

    explicit Spectrum(const Matrix& features)
    {
        const Eigen::Index d = static_cast<Eigen::Index>(features.columns);
        Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(d, d);
        gram.selfadjointView<Eigen::Lower>().rankUpdate(mapped(features).transpose());
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
        values = solver.eigenvalues().cwiseMax(0);
        vectors = solver.eigenvectors();
    }
};

} // namespace

LeverageResult linearLeverage(const Matrix& features, const Matrix& queries,
                              const Evidence& evidence)
{
    expects(features.rows > 0 && features.columns > 0 && queries.columns == features.columns,
            "linearLeverage: features and queries of one length");
    expects(evidence.lambda > 0 && evidence.noiseVariance > 0,
            "linearLeverage: lambda and the noise above 0");
    const auto start = std::chrono::steady_clock::now();
    const Spectrum spectrum(features);
    LeverageResult result;
    result.lambda = evidence.lambda;
    result.noiseVariance = evidence.noiseVariance;
    const Eigen::VectorXd inverse = (spectrum.values.array() + result.lambda).inverse();
    result.effectiveParameters = spectrum.values.dot(inverse);
    const Dense rotated = mapped(queries) * spectrum.vectors;
    const Eigen::VectorXd scores =
        result.noiseVariance * (rotated.array().square().matrix() * inverse);
    result.scores.assign(scores.data(), scores.data() + scores.size());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (queries.rows > 0)
        result.secondsPerImage = seconds.count() / static_cast<double>(queries.rows);
    return result;
}

LeverageResult linearLeverage(const Matrix& features, const Matrix& queries, double lambda)
{
    return linearLeverage(features, queries, Evidence{lambda, 1, 0, true});
}

Evidence ridgeEvidence(const Matrix& features, const Matrix& targets)
{
    expects(features.rows == targets.rows && features.rows > 1 && targets.columns > 0,
            "ridgeEvidence: targets of every image");
    constexpr int kMost = 500;
    constexpr double kTolerance = 1e-9;
    const Spectrum spectrum(features);
    const auto y = mapped(targets);
    const Eigen::MatrixXd projected = // rows of VᵀXᵀY
        spectrum.vectors.transpose() * (mapped(features).transpose() * y);
    const double all = y.squaredNorm(), outputs = static_cast<double>(targets.columns),
                 values = static_cast<double>(targets.rows) * outputs;
    Evidence evidence;
    for (; evidence.iterations < kMost && !evidence.converged; ++evidence.iterations) {
        const Eigen::ArrayXd inverse = (spectrum.values.array() + evidence.lambda).inverse();
        const double parameters = outputs * (spectrum.values.array() * inverse).sum();
        const Eigen::ArrayXd squares = projected.array().square().rowwise().sum();
        const double weights = (squares * inverse.square()).sum(); // ‖W‖²
        // ‖Y − XW‖² in the eigenbasis.
        const double residual = all - 2 * (squares * inverse).sum() +
                                (squares * inverse.square() * spectrum.values.array()).sum();
        if (!(residual > 0) || !(weights > 0) || !(values > parameters))
            break; // an exact fit has no noise to estimate
        const double alpha = parameters / weights, noise = residual / (values - parameters);
        const double lambda = alpha * noise;
        evidence.converged = std::abs(lambda - evidence.lambda) <= kTolerance * lambda;
        evidence.lambda = lambda;
        evidence.noiseVariance = noise;
    }
    return evidence;
}

nlohmann::json toJson(const LeverageResult& result)
{
    return {{"lambda", result.lambda},
            {"noise_variance", result.noiseVariance},
            {"effective_parameters", result.effectiveParameters},
            {"seconds_per_image", result.secondsPerImage},
            {"what", "linear leverage with the full inverse"}};
}

} // namespace vergence::mc_embedding
