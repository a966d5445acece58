#include "plugins/mc_embedding/statistics/cloud.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <Eigen/Eigenvalues>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Eigen::Map<const Dense> mapped(const Matrix& m)
{
    return {m.values.data(), static_cast<Eigen::Index>(m.rows),
            static_cast<Eigen::Index>(m.columns)};
}

/// Rows about their mean, taken from the first row so that equal rows give exactly 0.
Dense centredRows(const Dense& x)
{
    const Dense shifted = x.rowwise() - Eigen::RowVectorXd(x.row(0));
    return shifted.rowwise() - shifted.colwise().mean();
}

/// Eigenvalues of a Gram matrix above its rounding noise, descending, at most `rank`.
std::vector<double> positiveEigenvalues(const Dense& gram, Eigen::Index rank, Eigen::Index size)
{
    const Eigen::SelfAdjointEigenSolver<Dense> solver(gram, Eigen::EigenvaluesOnly);
    const Vector ascending = solver.eigenvalues();
    const double noise =
        ascending.maxCoeff() * static_cast<double>(size) * std::numeric_limits<double>::epsilon();
    std::vector<double> values;
    for (Eigen::Index i = ascending.size(); i-- > 0;)
        if (ascending[i] > noise && static_cast<Eigen::Index>(values.size()) < rank)
            values.push_back(ascending[i]);
    return values;
}

/// Σ_ab |S_ab|, by strips of S that fit a cache.
double absoluteSum(const Dense& centred, double degrees)
{
    constexpr Eigen::Index kStrip = 64;
    double sum = 0;
    for (Eigen::Index first = 0; first < centred.cols(); first += kStrip) {
        const Eigen::Index width = std::min(kStrip, centred.cols() - first);
        sum += (centred.middleCols(first, width).transpose() * centred).cwiseAbs().sum();
    }
    return sum / degrees;
}

void fillSpectrum(CloudShape& shape, double degrees, double dimensions)
{
    const double trace = shape.traceSum, rank = static_cast<double>(shape.eigenvalues.size());
    double squares = 0, entropy = 0, logs = 0, small = 0, smallest = 0;
    for (double value : shape.eigenvalues) {
        squares += value * value;
        logs += std::log(value);
        small += std::log(value + 1e-6);
        smallest += std::log(value + 1e-10);
        if (const double q = value / trace; q > 1e-12)
            entropy -= q * std::log(q);
    }
    shape.logdetEps = small + (dimensions - rank) * std::log(1e-6);
    shape.logdetEpsPerDim = (smallest + (dimensions - rank) * std::log(1e-10)) / dimensions;
    if (shape.eigenvalues.empty()) {
        shape.anisotropy = shape.effectiveRank = shape.effectiveRankDebiased = kNan;
        shape.spectralEntropy = shape.logdetPseudo = kNan;
        return;
    }
    shape.anisotropy = shape.eigenvalues.front() / trace;
    shape.effectiveRank = trace * trace / squares;
    shape.spectralEntropy = entropy;
    shape.logdetPseudo = logs / rank;
    // E‖S‖² = ‖Σ‖²·(ν + 1)/ν + (tr Σ)²/ν of a normal cloud, solved for ‖Σ‖²; with one degree of
    // freedom nothing is left to solve for.
    const double debiased =
        degrees * degrees / ((degrees - 1) * (degrees + 2)) * (squares - trace * trace / degrees);
    shape.effectiveRankDebiased = debiased > 0 ? trace * trace / debiased : kNan;
}

void fillOffdiagonal(CloudShape& shape, const Dense& centred, const Vector& variances,
                     double degrees)
{
    const double all = absoluteSum(centred, degrees);
    shape.offdiagL1Sum = std::max(0.0, all - shape.traceSum);
    shape.offdiagL1Ratio = all > 0 ? shape.offdiagL1Sum / all : kNan;
    const double squares = std::inner_product(shape.eigenvalues.begin(), shape.eigenvalues.end(),
                                              shape.eigenvalues.begin(), 0.0);
    shape.offdiagFroRatio =
        squares > 0 ? std::sqrt(std::max(0.0, squares - variances.squaredNorm()) / squares) : kNan;
}

/// Directions of the rows, and the spread across their mean direction.
void fillDirections(CloudShape& shape, const Dense& x, const Dense& centred, const Dense& gram,
                    double degrees)
{
    const Dense unit = x.array().colwise() / x.rowwise().norm().cwiseMax(1e-12).array();
    const Vector mean = unit.colwise().mean();
    shape.resultantLength = mean.norm();
    shape.circularVariance = 1 - shape.resultantLength;
    if (shape.resultantLength == 0) {
        shape.angularVariance = shape.angularMeanSquare = kNan;
        shape.tangentTrace = shape.tangentTopEigenvalue = kNan;
        return;
    }
    const Vector m = mean / shape.resultantLength;
    // Not the arc cosine of a product: that has a floor of √(2 · 1e-16).
    const Vector chord = (unit.rowwise() - m.transpose()).rowwise().norm();
    const Vector angles = 2 * (chord / 2).cwiseMin(1.0).array().asin();
    shape.angularMeanSquare = angles.squaredNorm() / static_cast<double>(angles.size());
    shape.angularVariance = (angles.array() - angles.mean()).square().sum() / degrees;

    const Vector along = centred * m;
    shape.tangentTrace = std::max(0.0, shape.traceSum - along.squaredNorm() / degrees);
    const std::vector<double> across = positiveEigenvalues(
        gram - along * along.transpose() / degrees, gram.rows() - 1, centred.cols());
    shape.tangentTopEigenvalue = across.empty() ? 0 : across.front();
}

/// Adds orthonormal rows to a basis until it has `count` of them.
void completeBasis(Dense& basis, Eigen::Index known, Eigen::Index count)
{
    for (Eigen::Index row = known; row < count; ++row) {
        const auto before = basis.topRows(row);
        Eigen::Index emptiest = 0;
        before.colwise().squaredNorm().minCoeff(&emptiest);
        Vector next = Vector::Unit(basis.cols(), emptiest);
        for (int pass = 0; pass < 2; ++pass) // twice is enough for full orthogonality
            next -= before.transpose() * (before * next);
        basis.row(row) = next.normalized();
    }
}

} // namespace

CloudShape cloudShape(const Matrix& x, std::span<const double> deterministic)
{
    expects(x.rows >= 2 && x.columns >= 1, "the shape of a cloud needs two passes");
    expects(deterministic.empty() || deterministic.size() == x.columns,
            "deterministic features have the dimension of the passes");
    const Dense rows = mapped(x);
    const Dense centred = centredRows(rows);
    const double passes = static_cast<double>(x.rows), degrees = passes - 1;
    const double dimensions = static_cast<double>(x.columns);
    const Dense gram = centred * centred.transpose() / degrees;
    const Vector variances = centred.colwise().squaredNorm() / degrees;

    CloudShape shape;
    shape.traceSum = variances.sum();
    shape.tracePerDim = shape.traceSum / dimensions;
    shape.maxDimVariance = variances.maxCoeff();
    const Vector norms = rows.rowwise().norm();
    shape.normVariance = (norms.array() - norms.mean()).square().sum() / degrees;
    shape.eigenvalues = positiveEigenvalues(gram, std::min(gram.rows() - 1, centred.cols()),
                                            std::max(gram.rows(), centred.cols()));
    fillSpectrum(shape, degrees, dimensions);
    fillOffdiagonal(shape, centred, variances, degrees);
    fillDirections(shape, rows, centred, gram, degrees);
    if (deterministic.empty()) {
        shape.bias2 = Figure::none("no deterministic features");
    } else {
        const Eigen::Map<const Vector> reference(deterministic.data(), centred.cols());
        const Vector mean = rows.colwise().mean();
        shape.bias2 = (mean - reference).squaredNorm() - shape.traceSum / passes;
    }
    return shape;
}

Matrix normalisedRows(const Matrix& x)
{
    Matrix out = x;
    for (std::size_t r = 0; r < x.rows; ++r) {
        const std::span<double> row(out.values.data() + r * x.columns, x.columns);
        const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
        for (double& v : row)
            v /= std::max(norm, 1e-12);
    }
    return out;
}

OffdiagNull offdiagNull(std::size_t passes, std::size_t dimensions)
{
    expects(passes >= 2 && dimensions >= 1, "sampling noise needs two passes");
    const double degrees = static_cast<double>(passes) - 1, d = static_cast<double>(dimensions);
    const double pairs = d * (d - 1), mean = std::sqrt(2 / (std::numbers::pi * degrees));
    const double square = pairs / degrees;
    return {.l1 = pairs * mean / (pairs * mean + d),
            .frobenius = std::sqrt(square / (square + d * (1 + 2 / degrees)))};
}

Axes principalAxes(const Matrix& rows, std::size_t count, bool centred)
{
    expects(rows.rows >= 1 && rows.columns >= 1, "principal axes need a row");
    const Dense all = mapped(rows);
    const Vector centre = centred ? Vector(all.colwise().mean()) : Vector(Vector::Zero(all.cols()));
    const Dense x = all.rowwise() - centre.transpose();
    const double degrees =
        centred ? std::max(1.0, static_cast<double>(x.rows() - 1)) : static_cast<double>(x.rows());
    const bool isWide = x.rows() <= x.cols(); // the smaller of the two products
    const Dense product = isWide ? Dense(x * x.transpose()) : Dense(x.transpose() * x);
    const Eigen::SelfAdjointEigenSolver<Dense> solver(product);
    const Vector& ascending = solver.eigenvalues();
    const double noise = ascending.maxCoeff() * static_cast<double>(std::max(x.rows(), x.cols())) *
                         std::numeric_limits<double>::epsilon();

    const Eigen::Index wanted = std::min(static_cast<Eigen::Index>(count), x.cols());
    Dense basis(wanted, x.cols());
    Axes axes;
    Eigen::Index found = 0;
    for (Eigen::Index i = ascending.size(); i-- > 0 && found < wanted;) {
        if (ascending[i] <= noise)
            break;
        const Vector vector = solver.eigenvectors().col(i);
        basis.row(found++) =
            isWide ? Vector((x.transpose() * vector).normalized()) : Vector(vector);
        axes.variances.push_back(ascending[i] / degrees);
    }
    completeBasis(basis, found, wanted);
    axes.variances.resize(static_cast<std::size_t>(wanted), 0.0);
    for (Eigen::Index row = 0; row < wanted; ++row) {
        Eigen::Index largest = 0;
        basis.row(row).cwiseAbs().maxCoeff(&largest);
        if (basis(row, largest) < 0)
            basis.row(row) = -basis.row(row);
    }
    axes.centre.assign(centre.begin(), centre.end());
    axes.basis = Matrix(static_cast<std::size_t>(wanted), rows.columns);
    std::copy(basis.data(), basis.data() + basis.size(), axes.basis.values.begin());
    return axes;
}

Matrix projected(const Matrix& rows, const Axes& axes)
{
    expects(rows.columns == axes.centre.size(), "rows and axes have the same dimension");
    const Eigen::Map<const Vector> centre(axes.centre.data(),
                                          static_cast<Eigen::Index>(axes.centre.size()));
    const Dense product =
        (mapped(rows).rowwise() - centre.transpose()) * mapped(axes.basis).transpose();
    Matrix out(rows.rows, axes.basis.rows);
    std::copy(product.data(), product.data() + product.size(), out.values.begin());
    return out;
}

std::vector<double> dimensionWeights(const Matrix& means)
{
    expects(means.rows >= 1 && means.columns >= 1, "weights of dimensions need an image");
    const Vector squares = centredRows(mapped(means)).colwise().squaredNorm();
    const double sum = squares.sum();
    std::vector<double> weights(means.columns, 1 / static_cast<double>(means.columns));
    if (sum > 0)
        std::transform(squares.begin(), squares.end(), weights.begin(),
                       [sum](double s) { return s / sum; });
    return weights;
}

std::vector<double> weightedTrace(const Matrix& variances, std::span<const double> weights)
{
    expects(variances.columns == weights.size(), "every dimension needs a weight");
    std::vector<double> traces(variances.rows);
    for (std::size_t i = 0; i < variances.rows; ++i)
        for (std::size_t d = 0; d < variances.columns; ++d)
            traces[i] += weights[d] * variances(i, d);
    return traces;
}

std::vector<double> topkTrace(const Matrix& variances, std::span<const double> weights,
                              std::size_t k)
{
    expects(variances.columns == weights.size(), "every dimension needs a weight");
    expects(k >= 1, "the mean over the largest weights needs one of them");
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    order.resize(std::min(k, order.size()));
    std::vector<double> traces(variances.rows);
    for (std::size_t i = 0; i < variances.rows; ++i) {
        for (std::size_t d : order)
            traces[i] += variances(i, d);
        traces[i] /= static_cast<double>(order.size());
    }
    return traces;
}

} // namespace vergence::mc_embedding
