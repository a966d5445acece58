#include <numeric>

#include <Eigen/Eigenvalues>
#include <QTest>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/cloud.h"
#include "statistics_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using mc_embedding::fixtures::isNear;
using mc_embedding::fixtures::matrixOf;
using mc_embedding::fixtures::normalMatrix;

class TestMcCloud : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void maskedLinearLayerHasItsClosedForm();
    void threePassesByHand();
    void gramRouteEqualsCovarianceRoute_data();
    void gramRouteEqualsCovarianceRoute();
    void anglesOfThreeDirections();
    void normalisedTraceIsResultant();
    void tangentSpreadEqualsProjection();
    void debiasedRankOfNormalCloud();
    void meanShiftIsUnbiased();
    void offdiagonalNullMatchesSampling();
    void equalPassesHaveNoShape();
    void twoPassesInOneDimension();
    void principalAxesDiagonalise_data();
    void principalAxesDiagonalise();
    void principalAxesBeyondRankAreOrthonormal();
    void weightsFavourWhatVariesBetweenImages();
    void topWeightsAreAveraged();
};

namespace {

using Dense = Eigen::MatrixXd;

Dense dense(const Matrix& m)
{
    return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
        m.values.data(), static_cast<Eigen::Index>(m.rows), static_cast<Eigen::Index>(m.columns));
}

Dense covariance(const Matrix& x)
{
    const Dense all = dense(x), centred = all.rowwise() - all.colwise().mean();
    return centred.transpose() * centred / static_cast<double>(x.rows - 1);
}

double sum(const std::vector<double>& x)
{
    return std::accumulate(x.begin(), x.end(), 0.0);
}

/// Masked outputs y ⊙ m / (1 − p) with p = 1/4 for all 4⁴ equally likely states (a unit is off in
/// one of its four), so that population moments are plain means.
Matrix allMasks(const std::vector<double>& y)
{
    Matrix out(256, 4);
    for (std::size_t state = 0; state < 256; ++state)
        for (std::size_t j = 0; j < 4; ++j)
            out(state, j) = (state >> (2 * j)) % 4 == 0 ? 0 : y[j] / 0.75;
    return out;
}

/// The same cloud with its sample covariance scaled to the population covariance.
Matrix asPopulation(Matrix x)
{
    const double scale = std::sqrt(static_cast<double>(x.rows - 1) / static_cast<double>(x.rows));
    for (double& v : x.values)
        v *= scale;
    return x;
}

} // namespace

void TestMcCloud::maskedLinearLayerHasItsClosedForm()
{
    const Matrix masked = allMasks({2, -1, 0.5, 3});
    const Dense variances = covariance(asPopulation(masked)).diagonal();
    QVERIFY(isNear(variances(0), 4.0 / 3, 1e-12));
    QVERIFY(isNear(variances(1), 1.0 / 3, 1e-12));
    QVERIFY(isNear(variances(2), 1.0 / 12, 1e-12));
    QVERIFY(isNear(variances(3), 3, 1e-12));
    QVERIFY(isNear(cloudShape(asPopulation(masked)).tracePerDim, 1.1875, 1e-12));

    const Matrix weights = matrixOf({{1, 0, 2, -1}, {.5, 1, 0, 0}, {0, -1, 1, 1}});
    Matrix after(256, 3);
    const Dense product = dense(masked) * dense(weights).transpose();
    for (std::size_t r = 0; r < after.rows; ++r)
        for (std::size_t c = 0; c < 3; ++c)
            after(r, c) = product(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c));
    after = asPopulation(after);
    const Dense s = covariance(after);
    const Dense expected{
        {4.66667, .66667, -2.83333}, {.66667, .66667, -.33333}, {-2.83333, -.33333, 3.41667}};
    QVERIFY((s - expected).cwiseAbs().maxCoeff() < 5e-6);

    const CloudShape shape = cloudShape(after);
    QVERIFY(isNear(shape.traceSum, 8.75, 1e-12));
    QVERIFY(isNear(shape.tracePerDim, 2.91667, 5e-6));
    QVERIFY(isNear(3 * shape.logdetPseudo, 1.504077, 5e-7));
    QCOMPARE(shape.eigenvalues.size(), std::size_t{3});
    // The specification truncates: its eigenvalues sum to 8.749998.
    QVERIFY(isNear(shape.eigenvalues[0], 7.026611, 2e-6));
    QVERIFY(isNear(shape.eigenvalues[1], 1.181215, 2e-6));
    QVERIFY(isNear(shape.eigenvalues[2], 0.542172, 2e-6));
    QVERIFY(isNear(sum(shape.eigenvalues), 8.75, 1e-12));
    QVERIFY(isNear(shape.anisotropy, 0.803041, 5e-7));
    QVERIFY(isNear(shape.effectiveRank, 1.499388, 5e-7));
    QVERIFY(isNear(shape.offdiagFroRatio, 0.579818, 5e-7));
    QVERIFY(isNear(shape.offdiagL1Ratio, 0.467005, 5e-7));
    QVERIFY(isNear(shape.offdiagL1Sum, 7.666667, 5e-7));
    QVERIFY(isNear(shape.maxDimVariance, 4.666667, 5e-7));
}

void TestMcCloud::threePassesByHand()
{
    const CloudShape shape = cloudShape(matrixOf({{1, 2, 0, 0}, {0, 1, 1, 0}, {2, 0, 0, 1}}));
    QCOMPARE(shape.eigenvalues.size(), std::size_t{2});
    QVERIFY(isNear(shape.eigenvalues[0], 1.934259, 5e-7));
    QVERIFY(isNear(shape.eigenvalues[1], 0.732408, 5e-7));
    QVERIFY(isNear(shape.traceSum, 2.666667, 5e-7));
    QVERIFY(isNear(shape.logdetPseudo, 0.174153, 5e-7));
    QVERIFY(isNear(shape.logdetEps, -27.282713, 5e-7));
    QVERIFY(isNear(shape.effectiveRank, 1.662338, 5e-7));
    QVERIFY(isNear(shape.offdiagFroRatio, 0.693195, 5e-7));
    QVERIFY(isNear(shape.offdiagL1Ratio, 0.619048, 5e-7));
}

void TestMcCloud::gramRouteEqualsCovarianceRoute_data()
{
    QTest::addColumn<int>("passes");
    QTest::addColumn<int>("dimensions");
    for (int passes : {2, 3, 16, 64})
        for (int dimensions : {1, 4, 31, 130})
            QTest::addRow("%d x %d", passes, dimensions) << passes << dimensions;
}

void TestMcCloud::gramRouteEqualsCovarianceRoute()
{
    QFETCH(int, passes);
    QFETCH(int, dimensions);
    Matrix x = normalMatrix(static_cast<std::size_t>(passes), static_cast<std::size_t>(dimensions),
                            static_cast<std::uint64_t>(passes * 1000 + dimensions));
    for (std::size_t i = 0; i < x.values.size(); ++i) // unequal variances, mean away from 0
        x.values[i] = 1 + x.values[i] * (1 + static_cast<double>(i % x.columns) / 7);
    const CloudShape shape = cloudShape(x);
    const Dense s = covariance(x);
    Eigen::VectorXd all = Eigen::SelfAdjointEigenSolver<Dense>(s).eigenvalues().reverse();

    const auto rank = static_cast<std::size_t>(std::min(passes - 1, dimensions));
    QCOMPARE(shape.eigenvalues.size(), rank);
    const double scale = all(0), d = dimensions;
    double logdetEps = 0, logdetTiny = 0, logs = 0;
    for (Eigen::Index i = 0; i < all.size(); ++i) {
        const bool inRank = i < static_cast<Eigen::Index>(rank);
        const double value = inRank ? all(i) : 0;
        logdetEps += std::log(value + 1e-6);
        logdetTiny += std::log(value + 1e-10) / d;
        logs += inRank ? std::log(value) / static_cast<double>(rank) : 0;
        if (inRank)
            QVERIFY(isNear(shape.eigenvalues[static_cast<std::size_t>(i)], all(i), 1e-12 * scale));
    }
    const double trace = s.trace(), mass = s.cwiseAbs().sum();
    QVERIFY(isNear(shape.traceSum, trace, 1e-12 * trace));
    QVERIFY(isNear(sum(shape.eigenvalues), trace, 1e-12 * trace));
    QVERIFY(isNear(shape.maxDimVariance, s.diagonal().maxCoeff(), 1e-12 * scale));
    QVERIFY(isNear(shape.offdiagL1Sum, mass - trace, 1e-12 * mass));
    QVERIFY(isNear(shape.offdiagL1Ratio, (mass - trace) / mass, 1e-12));
    const double off = s.squaredNorm() - s.diagonal().squaredNorm();
    QVERIFY(isNear(std::pow(shape.offdiagFroRatio, 2), off / s.squaredNorm(), 1e-12));
    QVERIFY(isNear(shape.effectiveRank, trace * trace / s.squaredNorm(), 1e-11));
    QVERIFY(isNear(shape.anisotropy, all(0) / trace, 1e-12));
    QVERIFY(isNear(shape.logdetPseudo, logs, 1e-9)); // the smallest of many is ill-conditioned
    QVERIFY(isNear(shape.logdetEps, logdetEps, 1e-8));
    QVERIFY(isNear(shape.logdetEpsPerDim, logdetTiny, 1e-8));
}

void TestMcCloud::anglesOfThreeDirections()
{
    Matrix x(3, 2);
    const std::vector<double> angle{0, 0.1, 0.3}, length{1, 5, 0.2}; // lengths do not matter
    for (std::size_t r = 0; r < 3; ++r) {
        x(r, 0) = length[r] * std::cos(angle[r]);
        x(r, 1) = length[r] * std::sin(angle[r]);
    }
    const CloudShape shape = cloudShape(x);
    QVERIFY(isNear(shape.resultantLength, 0.9922373, 5e-8));
    QVERIFY(isNear(shape.circularVariance, 0.00776266, 5e-9));
    QVERIFY(isNear(shape.angularVariance, 0.00482863, 5e-9));
    QVERIFY(isNear(shape.angularMeanSquare, 0.01555557, 5e-9));
    const std::vector<double> away{0.1332092, 0.0332092, 0.1667908};
    double meanSquare = 0, meanCosine = 0;
    for (double a : away) {
        meanSquare += a * a / 3;
        meanCosine += std::cos(a) / 3;
    }
    QVERIFY(isNear(meanSquare, shape.angularMeanSquare, 2e-8));
    QVERIFY(isNear(1 - meanCosine, shape.circularVariance, 2e-8));
}

void TestMcCloud::normalisedTraceIsResultant()
{
    for (std::size_t passes : {2, 16, 64}) {
        Matrix x = normalMatrix(passes, 96, passes);
        for (double& v : x.values)
            v = 1 + 0.1 * v;
        const CloudShape shape = cloudShape(x);
        const CloudShape post = cloudShape(normalisedRows(x));
        const double t = static_cast<double>(passes), r = shape.resultantLength;
        QVERIFY(isNear(post.traceSum * (t - 1) / t, 1 - r * r, 1e-14));
        QVERIFY(isNear(post.resultantLength, r, 1e-14));
        QVERIFY(isNear(post.normVariance, 0, 1e-28));
        const double norm = dense(normalisedRows(x)).rowwise().norm().maxCoeff();
        QVERIFY(isNear(norm, 1, 1e-15));
    }
    QCOMPARE(normalisedRows(Matrix(1, 3)).values, std::vector<double>(3, 0.0));
}

void TestMcCloud::tangentSpreadEqualsProjection()
{
    Matrix x = normalMatrix(16, 12, 77);
    for (std::size_t r = 0; r < x.rows; ++r)
        x(r, 0) += 4;
    const CloudShape shape = cloudShape(x);
    const Eigen::VectorXd mean = dense(normalisedRows(x)).colwise().mean();
    const Eigen::VectorXd m = mean.normalized();
    const Dense across = Dense::Identity(12, 12) - m * m.transpose();
    const Dense tangent = across * covariance(x) * across;
    QVERIFY(isNear(shape.tangentTrace, tangent.trace(), 1e-12));
    const double top = Eigen::SelfAdjointEigenSolver<Dense>(tangent).eigenvalues().maxCoeff();
    QVERIFY(isNear(shape.tangentTopEigenvalue, top, 1e-12));
}

void TestMcCloud::debiasedRankOfNormalCloud()
{
    // Independent equal variances: the true effective rank is D; the plain one cannot pass T − 1.
    double plain = 0, debiased = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const CloudShape shape = cloudShape(normalMatrix(64, 200, 100 + seed));
        plain += shape.effectiveRank / 8;
        debiased += shape.effectiveRankDebiased / 8;
    }
    QVERIFY(plain < 63);
    QVERIFY(isNear(debiased, 200, 5)); // standard error over 8 clouds below 2
}

void TestMcCloud::meanShiftIsUnbiased()
{
    // 400 clouds of 4 passes about (1, 0, 0) with unit variance, reference 0: bias² = 1.
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        Matrix x = normalMatrix(4, 3, 1000 + seed);
        for (std::size_t r = 0; r < 4; ++r)
            x(r, 0) += 1;
        mean += cloudShape(x, std::vector<double>(3, 0.0)).bias2.value / 400;
    }
    QVERIFY(isNear(mean, 1, 0.2)); // standard error 0.06
    const CloudShape without = cloudShape(normalMatrix(4, 3, 1));
    QCOMPARE(without.bias2.reason, std::string("no deterministic features"));
    VERGENCE_THROWS(ContractError, "dimension of the passes",
                    cloudShape(Matrix(2, 3), std::vector<double>(2)));
}

void TestMcCloud::offdiagonalNullMatchesSampling()
{
    const OffdiagNull null = offdiagNull(64, 512);
    QVERIFY(isNear(null.l1, 0.981, 5e-4));
    QVERIFY(isNear(null.frobenius, 0.942, 5e-4));
    const CloudShape shape = cloudShape(normalMatrix(64, 512, 5));
    QVERIFY(isNear(shape.offdiagL1Ratio, 0.981, 1e-3));
    QVERIFY(isNear(shape.offdiagFroRatio, 0.942, 1e-3));
    QVERIFY(isNear(shape.offdiagL1Ratio, null.l1, 1e-3));
    QVERIFY(isNear(shape.offdiagFroRatio, null.frobenius, 1e-3));
    QCOMPARE(offdiagNull(64, 1).l1, 0.0);
}

void TestMcCloud::equalPassesHaveNoShape()
{
    const CloudShape exact = cloudShape(Matrix(10, 5, 0.1)); // the mean of ten 0.1 rounds
    QCOMPARE(exact.traceSum, 0.0);
    QVERIFY(exact.eigenvalues.empty());
    QVERIFY(std::isnan(exact.anisotropy) && std::isnan(exact.effectiveRank));
    QVERIFY(std::isnan(exact.offdiagL1Ratio) && std::isnan(exact.offdiagFroRatio));
    QVERIFY(isNear(exact.circularVariance, 0, 1e-15));
    QVERIFY(isNear(exact.logdetEps, 5 * std::log(1e-6), 1e-12));
    QVERIFY(std::isnan(cloudShape(Matrix(10, 5, 0)).angularVariance)); // no direction
    VERGENCE_THROWS(ContractError, "two passes", cloudShape(Matrix(1, 5)));
}

void TestMcCloud::twoPassesInOneDimension()
{
    const CloudShape shape = cloudShape(matrixOf({{1}, {3}}));
    QCOMPARE(shape.traceSum, 2.0);
    QCOMPARE(shape.eigenvalues.size(), std::size_t{1});
    QVERIFY(isNear(shape.eigenvalues[0], 2, 1e-15));
    QVERIFY(isNear(shape.effectiveRank, 1, 1e-15));
    QCOMPARE(shape.offdiagL1Ratio, 0.0);
    QVERIFY(std::isnan(shape.effectiveRankDebiased)); // nothing is left of one degree of freedom
}

void TestMcCloud::principalAxesDiagonalise_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<bool>("centred");
    for (int rows : {7, 40})
        for (bool centred : {true, false})
            QTest::addRow("%d rows, %s", rows, centred ? "centred" : "about 0") << rows << centred;
}

void TestMcCloud::principalAxesDiagonalise()
{
    QFETCH(int, rows);
    QFETCH(bool, centred);
    const Matrix x = normalMatrix(static_cast<std::size_t>(rows), 20, 9);
    const Axes axes = principalAxes(x, 3, centred);
    QCOMPARE(axes.basis.rows, std::size_t{3});
    const Dense basis = dense(axes.basis);
    QVERIFY((basis * basis.transpose() - Dense::Identity(3, 3)).cwiseAbs().maxCoeff() < 1e-13);
    const Matrix scatter = projected(x, axes);
    const Dense p = dense(scatter);
    const Dense moments = p.transpose() * p / (centred ? rows - 1 : rows);
    for (Eigen::Index a = 0; a < 3; ++a) {
        for (Eigen::Index b = 0; b < 3; ++b)
            QVERIFY(isNear(moments(a, b), a == b ? axes.variances[static_cast<std::size_t>(a)] : 0,
                           1e-12));
        Eigen::Index largest = 0;
        basis.row(a).cwiseAbs().maxCoeff(&largest);
        QVERIFY(basis(a, largest) > 0);
    }
    QVERIFY(axes.variances[0] > axes.variances[1] && axes.variances[1] > axes.variances[2]);
    if (centred)
        QVERIFY(isNear(axes.variances[0], cloudShape(x).eigenvalues[0], 1e-12));
}

void TestMcCloud::principalAxesBeyondRankAreOrthonormal()
{
    const Matrix line = matrixOf({{0, 0, 0}, {1, 2, 2}, {2, 4, 4}});
    const Axes axes = principalAxes(line, 5);
    QCOMPARE(axes.basis.rows, std::size_t{3});
    QCOMPARE(axes.variances.size(), std::size_t{3});
    QVERIFY(isNear(axes.variances[0], 9, 1e-12));
    QCOMPARE(axes.variances[1], 0.0);
    const Dense basis = dense(axes.basis);
    QVERIFY((basis * basis.transpose() - Dense::Identity(3, 3)).cwiseAbs().maxCoeff() < 1e-14);
    const Matrix onePoint = projected(matrixOf({{4, 4}}), principalAxes(matrixOf({{4, 4}}), 2));
    QCOMPARE(onePoint.values, (std::vector<double>{0, 0}));
}

void TestMcCloud::weightsFavourWhatVariesBetweenImages()
{
    const auto weights = dimensionWeights(matrixOf({{0, 1}, {2, 1.1}, {4, .9}}));
    QVERIFY(isNear(weights[0], 0.997506, 5e-7));
    QVERIFY(isNear(weights[1], 0.002494, 5e-7));
    const Matrix variances = matrixOf({{.1, .4}, {.2, .4}, {.3, .1}});
    const auto traces = weightedTrace(variances, weights);
    QVERIFY(isNear(traces[0], 0.100748, 5e-7));
    QVERIFY(isNear(traces[1], 0.200499, 5e-7));
    QVERIFY(isNear(traces[2], 0.299501, 5e-7));
    QCOMPARE(dimensionWeights(matrixOf({{3, 4, 5, 6}})), std::vector<double>(4, 0.25));
}

void TestMcCloud::topWeightsAreAveraged()
{
    const Matrix variances = matrixOf({{1, 2, 3, 4}, {10, 20, 30, 40}});
    const std::vector<double> weights{.1, .4, .2, .3};
    QCOMPARE(topkTrace(variances, weights, 2), (std::vector<double>{3, 30}));
    QCOMPARE(topkTrace(variances, weights, 64), (std::vector<double>{2.5, 25}));
}

VERGENCE_TEST(TestMcCloud)
#include "tst_mc_cloud.moc"
