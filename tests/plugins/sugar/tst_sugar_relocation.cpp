#include <QTest>

#include <algorithm>
#include <cmath>

#include "plugins/sugar/compute/learning/density_plan.h"
#include "tests/plugins/sugar/density_bed.h"
#include "tests/plugins/sugar/moment_rows.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

/// Coverage at a distance from the centre of n copies on one spot, in units of the source's scale.
double coverage(const RelocatedShape& shape, int n, double distance)
{
    const double r = distance / shape.scaleFactor;
    return 1 - std::pow(1 - shape.opacity * std::exp(-r * r / 2), n);
}

} // namespace

/// Density control as a Markov chain.
class SugarRelocationTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void relocatedShapesAreThoseOfTheSpecification()
    {
        const auto agrees = [](double o, int n, double opacity, double factor) {
            const RelocatedShape shape = relocatedShape(o, n);
            return std::abs(shape.opacity - opacity) < 1e-9 &&
                   std::abs(shape.scaleFactor - factor) < 1e-9;
        };
        QVERIFY(agrees(.8, 2, .552786405, .899381469));
        QVERIFY(agrees(.99, 2, .9, .806685873));
        QVERIFY(agrees(.3, 3, .112095998, .966352446));
        QVERIFY(agrees(.99, 5, .601892829, .700176593));
        QVERIFY(agrees(.37, 1, .37, 1));
        for (const double o : {0.006, 0.5, 1 - 1e-9}) {
            const RelocatedShape shape = relocatedShape(o, 51);
            QVERIFY(shape.opacity >= 0.005 && shape.opacity < 1);
            QVERIFY(shape.scaleFactor > 0.02 && shape.scaleFactor <= 1.2);
        }
    }

    /// Exact at the centre and along a line through it; the plane loses a little.
    void copiesCoverWhatTheSourceDid()
    {
        struct Case {
            double opacity;
            int copies;
            double ofPlane;
        };
        for (const Case c : {Case{.8, 2, .9634}, Case{.5, 3, .9795}, Case{.99, 5, .8798}}) {
            const RelocatedShape shape = relocatedShape(c.opacity, c.copies);
            QVERIFY(std::abs(coverage(shape, c.copies, 0) - c.opacity) < 1e-6);
            // Trapezoids: what is left out beyond 12 and the error of the rule are below 1e-12.
            constexpr double kStep = 1e-3;
            double line = coverage(shape, c.copies, 0) / 2, plane = 0;
            for (double x = kStep; x < 12; x += kStep) {
                line += coverage(shape, c.copies, x);
                plane += x * coverage(shape, c.copies, x);
            }
            const double pi = std::acos(-1.0);
            QVERIFY(std::abs(2 * kStep * line / (c.opacity * std::sqrt(2 * pi)) - 1) < 1e-9);
            QVERIFY(std::abs(kStep * plane / c.opacity - c.ofPlane) < 5e-5);
        }
    }

    void deadGaussiansMoveOntoLivingOnes_data() { addDeviceAndMomentRows(); }
    void deadGaussiansMoveOntoLivingOnes()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        GaussianCloud cloud = madeUpCloud(12, 1);
        cloud.opacity = logitsOf({.9, .001, .5, .0049, .3, .002, .8, .001, .1, .7, .003, .6});
        DensityBed bed(device, cloud, 0, formatOf(isCompact));
        DensitySettings settings;
        settings.mode = DensitySettings::Mode::Mcmc;
        settings.cap = 12; // no births
        const DensityReport report = relocate(*bed.stream, bed.trained, settings, 5, 600);
        QCOMPARE(report.relocated, 5);
        QCOMPARE(report.born, 0);
        QCOMPARE(report.count, 12);
        const auto sources = bed.sources();
        const auto fresh = bed.fresh();
        const GaussianCloud after = bed.cloud();
        std::vector<int> copies(12, 0);
        for (const int source : sources)
            ++copies[static_cast<std::size_t>(source)];
        for (std::size_t row = 0; row < 12; ++row) {
            const auto source = static_cast<std::size_t>(sources[row]);
            const bool wasDead = opacityOf(cloud.opacity[row]) <= 0.005;
            QVERIFY(wasDead ? opacityOf(cloud.opacity[source]) > 0.005 : source == row);
            QCOMPARE(fresh[row], copies[source] > 1);
            const RelocatedShape shape =
                relocatedShape(opacityOf(cloud.opacity[source]), copies[source]);
            QVERIFY(std::abs(opacityOf(after.opacity[row]) - shape.opacity) < 1e-6);
            for (std::size_t i = 0; i < 3; ++i) {
                QCOMPARE(after.position[3 * row + i], cloud.position[3 * source + i]);
                QVERIFY(std::abs(static_cast<double>(after.logScale[3 * row + i]) -
                                 static_cast<double>(cloud.logScale[3 * source + i]) -
                                 std::log(shape.scaleFactor)) < 1e-6);
            }
        }
    }

    void drawsFollowTheOpacities()
    {
        DensityColumns columns;
        const std::vector<double> opacities{.1, .2, .3, .4};
        columns.opacity = logitsOf(opacities);
        columns.opacity.resize(10'004, static_cast<float>(logitOf(0.001)));
        columns.logScale.resize(30'012, -3);
        DensitySettings settings;
        settings.cap = 0;
        const auto plan = planRelocation(columns, settings, 11, 700);
        std::vector<double> counts(4, 0.0);
        for (std::size_t row = 4; row < plan.rows.source.size(); ++row)
            ++counts.at(plan.rows.source[row]);
        double chiSquare = 0;
        for (std::size_t i = 0; i < 4; ++i)
            chiSquare += std::pow(counts[i] - 10'000 * opacities[i], 2) / (10'000 * opacities[i]);
        QVERIFY(chiSquare < 16.27); // 3 degrees of freedom, 0.1 %
        // More than 50 copies count as 51.
        QVERIFY(std::abs(opacityOf(plan.opacity[3]) - relocatedShape(.4, 51).opacity) < 1e-6);
        QCOMPARE(plan.opacity.size(), std::size_t(10'004));
    }

    void birthsGrowByATwentiethUpToTheCap_data() { addDeviceAndMomentRows(); }
    void birthsGrowByATwentiethUpToTheCap()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        GaussianCloud cloud = madeUpCloud(110, 1);
        std::fill(cloud.opacity.begin(), cloud.opacity.end(), 1.0F);
        DensityBed bed(device, cloud, 0, formatOf(isCompact));
        DensitySettings settings;
        settings.mode = DensitySettings::Mode::Mcmc;
        settings.cap = 118;
        const DensityReport first = relocate(*bed.stream, bed.trained, settings, 5, 600);
        QCOMPARE(first.relocated, 0);
        QCOMPARE(first.born, 5);
        QCOMPARE(bed.trained.count(), 115);
        QCOMPARE(bed.trained.capacity(), 118); // not a quarter more: no room past the cap
        const auto sources = bed.sources();
        for (int row = 0; row < 110; ++row)
            QCOMPARE(sources[static_cast<std::size_t>(row)], row);
        const auto fresh = bed.fresh();
        for (std::size_t row = 110; row < 115; ++row) {
            QVERIFY(fresh[row]);
            QVERIFY(fresh[static_cast<std::size_t>(sources[row])]);
        }
        QCOMPARE(relocate(*bed.stream, bed.trained, settings, 5, 700).born, 3);
        QCOMPARE(relocate(*bed.stream, bed.trained, settings, 5, 800).born, 0);
        settings.cap = 20;
        QCOMPARE(relocate(*bed.stream, bed.trained, settings, 5, 900).count, 118);
    }

    void noiseIsTheCovarianceTimesTheGate_data() { addDeviceRows(); }
    void noiseIsTheCovarianceTimesTheGate()
    {
        VERGENCE_ROW_DEVICE(device)
        QVERIFY(std::abs(noiseGate(0.005) - 0.5) < 1e-12);
        QVERIFY(std::abs(noiseGate(0.05) - 1.0987e-2) < 1e-6);
        QVERIFY(std::abs(noiseGate(0.1) - 7.485e-5) < 1e-8);
        GaussianCloud cloud = madeUpCloud(500, 0);
        cloud.opacity = uniformNumbers(500, -7, 3, 77);
        DensityBed bed(device, cloud);
        addNoise(*bed.stream, bed.trained.gaussians, 2e-4, 8, 123);
        const GaussianCloud after = bed.cloud();
        for (std::size_t row = 0; row < 500; ++row) {
            float normal[3];
            threeNormals(8, densityStream(DensityDraw::Noise, 123), row, normal);
            double eta[3], s[3], q[4], offset[3];
            std::copy_n(normal, 3, eta);
            std::copy_n(cloud.logScale.begin() + static_cast<std::ptrdiff_t>(3 * row), 3, s);
            std::copy_n(cloud.rotation.begin() + static_cast<std::ptrdiff_t>(4 * row), 4, q);
            timesCovariance(q, s, eta, offset);
            const double amount = 2e-4 * 5e5 * noiseGate(opacityOf(cloud.opacity[row]));
            for (std::size_t k = 0; k < 3; ++k) {
                const double wanted = amount * offset[k];
                const double moved = static_cast<double>(after.position[3 * row + k]) -
                                     static_cast<double>(cloud.position[3 * row + k]);
                QVERIFY(std::abs(moved - wanted) < 2e-7 + 2e-5 * std::abs(wanted));
            }
        }
    }

    void covarianceIsSymmetricAndTurnsWithTheAxes()
    {
        const double q[4] = {.9, .1, -.3, .2};
        const double s[3] = {std::log(.2), std::log(.05), std::log(.01)};
        double r[9], covariance[3][3];
        rotationOfAny(q, r);
        QVERIFY(std::abs(r[0] - .726315789) < 1e-9 && std::abs(r[7] - .063157895) < 1e-9);
        for (int k = 0; k < 3; ++k) {
            const double unit[3] = {k == 0 ? 1.0 : 0, k == 1 ? 1.0 : 0, k == 2 ? 1.0 : 0};
            timesCovariance(q, s, unit, covariance[k]);
        }
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                double wanted = 0;
                for (int k = 0; k < 3; ++k)
                    wanted += r[3 * i + k] * r[3 * j + k] * std::exp(2 * s[k]);
                QVERIFY(std::abs(covariance[i][j] - wanted) < 1e-15);
            }
        }
    }

    void regularisersAreMeans_data() { addDeviceRows(); }
    void regularisersAreMeans()
    {
        VERGENCE_ROW_DEVICE(device)
        constexpr Index kRows = 33;
        DensityBed bed(device, madeUpCloud(kRows, 0));
        GaussianArrays gradients = GaussianArrays::zeros(*bed.stream, device, kRows, 0);
        DensityBed::set(*bed.stream, gradients.opacity, std::vector<float>(kRows, 0.5F));
        const RegulariserValue value =
            addRegularisers(*bed.stream, bed.trained.gaussians, {}, gradients);
        const GaussianCloud cloud = bed.cloud();
        const auto loss = [&](const std::vector<double>& x) {
            double opacity = 0, scale = 0;
            for (std::size_t i = 0; i < kRows; ++i)
                opacity += sigmoid(x[i]) / kRows;
            for (std::size_t i = kRows; i < x.size(); ++i)
                scale += std::exp(x[i]) / (3 * kRows);
            return opacity + scale;
        };
        std::vector<double> x(cloud.opacity.begin(), cloud.opacity.end());
        x.insert(x.end(), cloud.logScale.begin(), cloud.logScale.end());
        const GaussianCloud got = downloaded(*bed.stream, gradients, kRows);
        std::vector<double> gradient;
        for (const float g : got.opacity)
            gradient.push_back(100 * (static_cast<double>(g) - 0.5));
        for (const float g : got.logScale)
            gradient.push_back(100 * static_cast<double>(g));
        // Gradients of 1e-4 were added to 0.5 in float.
        VERGENCE_AGREES(gradientDifference(loss, x, gradient, 1e-3, 132));
        QVERIFY(std::abs(value.opacity + value.scale - 0.01 * loss(x)) < 1e-8);
        QCOMPARE(addRegularisers(*bed.stream, bed.trained.gaussians, {0, 0}, gradients).opacity,
                 0.0);
    }
};

VERGENCE_TEST(SugarRelocationTest)
#include "tst_sugar_relocation.moc"
