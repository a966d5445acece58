#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/compute/learning/density_math.h"
#include "plugins/sugar/compute/learning/density_plan.h"
#include "plugins/sugar/compute/z_order.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::test;
using namespace vergence::test;

namespace {

constexpr float kMarked = 7; ///< what moments are filled with

std::vector<float> logitsOf(const std::vector<double>& opacities)
{
    std::vector<float> logits;
    for (const double opacity : opacities)
        logits.push_back(static_cast<float>(logitOf(opacity)));
    return logits;
}

double opacityOf(float logit)
{
    return sigmoid(static_cast<double>(logit));
}

/// Gaussians in training whose moments are all 7 and whose dc colour holds the row.
struct Bed {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    TrainedGaussians trained;

    Bed(const std::shared_ptr<Device>& on, GaussianCloud cloud, Index spare = 0) : device(on)
    {
        for (std::size_t i = 0; i < cloud.shDc.size(); ++i)
            cloud.shDc[i] = static_cast<float>(i / 3);
        trained = sugar::trained(
            *stream, upload(*stream, device, cloud, cloud.count() + spare, cloud.degree));
        for (const GaussianArrays* moments : {&trained.moment1, &trained.moment2}) {
            for (const Tensor& tensor : moments->groups()) {
                const std::vector<float> sevens(static_cast<std::size_t>(tensor.size()), kMarked);
                stream->copy(tensor.data(), sevens.data(), tensor.bytes());
            }
        }
    }

    static void set(Stream& stream, const Tensor& tensor, const std::vector<float>& values)
    {
        stream.copy(tensor.data(), values.data(), values.size() * sizeof(float));
    }
    void setStatistics(const std::vector<float>& mean, float visible = 4)
    {
        std::vector<float> sums;
        for (const float m : mean)
            sums.push_back(m * visible);
        set(*stream, trained.statistics.gradient, sums);
        set(*stream, trained.statistics.visible, std::vector<float>(mean.size(), visible));
    }
    GaussianCloud cloud() { return download(*stream, trained.gaussians); }

    /// The rows of the old arrays, as their colours tell.
    std::vector<int> sources()
    {
        const GaussianCloud now = cloud();
        std::vector<int> rows;
        for (std::size_t i = 0; i < now.shDc.size(); i += 3)
            rows.push_back(static_cast<int>(now.shDc[i]));
        return rows;
    }
    /// Whether all moments of a row are 0 (or all are still 7).
    std::vector<bool> fresh()
    {
        std::vector<bool> result;
        const auto first = columnsOf(downloaded(*stream, trained.moment1, trained.count()));
        const auto second = columnsOf(downloaded(*stream, trained.moment2, trained.count()));
        for (Index row = 0; row < trained.count(); ++row) {
            std::set<float> seen;
            for (const auto* columns : {&first, &second}) {
                for (const auto& column : *columns) {
                    const auto width = static_cast<Index>(column.size()) / trained.count();
                    seen.insert(column.begin() + row * width, column.begin() + (row + 1) * width);
                }
            }
            expects(seen.size() == 1, "moments of a row differ");
            result.push_back(*seen.begin() == 0);
        }
        return result;
    }
};

/// Ten Gaussians: scale 0.001 where even, 0.1 where odd; the extent is 1, so 0.01 is the border.
GaussianCloud tenGaussians()
{
    GaussianCloud cloud = madeUpCloud(10, 1);
    for (std::size_t i = 0; i < 30; ++i)
        cloud.logScale[i] = std::log(i / 3 % 2 ? 0.05F : 0.001F) - 0.5F * static_cast<float>(i % 3);
    cloud.opacity = logitsOf({.5, .5, .5, .5, .004, .004, .5, .5, .0051, .5});
    return cloud;
}

/// Above the threshold: rows 0 to 5.
const std::vector<float> kTenStatistics{3e-4F, 3e-4F, 2.001e-4F, 9e-4F, 5e-4F,
                                        5e-4F, 1e-4F, 1.99e-4F,  0,     0};

std::vector<bool> flags(const std::vector<int>& values)
{
    return {values.begin(), values.end()};
}

/// Coverage at a distance from the centre of n copies on one spot, in units of the source's scale.
double coverage(const RelocatedShape& shape, int n, double distance)
{
    const double r = distance / shape.scaleFactor;
    return 1 - std::pow(1 - shape.opacity * std::exp(-r * r / 2), n);
}

} // namespace

class SugarDensityTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tenGaussiansCloneSplitAndPrune_data() { addDeviceRows(); }
    void tenGaussiansCloneSplitAndPrune()
    {
        VERGENCE_ROW_DEVICE(device)
        Bed bed(device, tenGaussians());
        bed.setStatistics(kTenStatistics);
        const GaussianCloud before = bed.cloud();
        const DensityReport report = densify(*bed.stream, bed.trained, {}, 1, false, 9, 500);
        QCOMPARE(report.cloned, 2); // 0 and 2 are small
        QCOMPARE(report.split, 2);  // 1 and 3 are large
        QCOMPARE(report.pruned, 2); // 4 and 5 are transparent
        QCOMPARE(report.count, 12);
        QCOMPARE(bed.trained.count(), 12);
        QCOMPARE(bed.sources(), (std::vector<int>{0, 2, 6, 7, 8, 9, 0, 2, 1, 1, 3, 3}));
        QCOMPARE(bed.fresh(), flags({0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
        const GaussianCloud after = bed.cloud();
        for (std::size_t i = 0; i < 3; ++i) { // clone of 2
            QCOMPARE(after.position[21 + i], before.position[6 + i]);
            QCOMPARE(after.logScale[21 + i], before.logScale[6 + i]);
        }
        QCOMPARE(after.opacity[10], before.opacity[3]);
        for (const Tensor& tensor :
             {bed.trained.statistics.gradient, bed.trained.statistics.visible})
            QCOMPARE(tensor.toHost<float>(*bed.stream),
                     std::vector<float>(static_cast<std::size_t>(tensor.size()), 0.0F));
    }

    void halvesLieAroundTheirParent_data() { addDeviceRows(); }
    void halvesLieAroundTheirParent()
    {
        VERGENCE_ROW_DEVICE(device)
        constexpr Index kParents = 4000;
        GaussianCloud cloud = madeUpCloud(kParents, 0);
        for (std::size_t i = 0; i < cloud.logScale.size(); ++i)
            cloud.logScale[i] = std::log(i % 3 == 0 ? 0.5F : i % 3 == 1 ? 0.1F : 0.02F);
        Bed bed(device, cloud);
        bed.setStatistics(std::vector<float>(kParents, 1.0F));
        DensitySettings settings;
        settings.revisedOpacity = true;
        const auto report = densify(*bed.stream, bed.trained, settings, 1, false, 3, 100);
        QCOMPARE(report.split, kParents);
        QCOMPARE(bed.trained.count(), 2 * kParents);
        const GaussianCloud after = bed.cloud();
        double squares[3] = {}, sum[3] = {}, product = 0;
        for (std::size_t row = 0; row < 2 * kParents; ++row) {
            double r[9], q[4], local[2][3] = {};
            const std::size_t parent = row / 2;
            std::copy_n(cloud.rotation.begin() + static_cast<std::ptrdiff_t>(4 * parent), 4, q);
            rotationOfAny(q, r);
            for (std::size_t axis = 0; axis < 3; ++axis) {
                for (std::size_t k = 0; k < 3; ++k)
                    local[0][axis] +=
                        r[3 * k + axis] * static_cast<double>(after.position[3 * row + k] -
                                                              cloud.position[3 * parent + k]);
                const double normal =
                    local[0][axis] /
                    std::exp(static_cast<double>(cloud.logScale[3 * parent + axis]));
                sum[axis] += normal;
                squares[axis] += normal * normal;
                local[1][axis] = normal;
                QVERIFY(std::abs(after.logScale[3 * row + axis] + 0.47000363F -
                                 cloud.logScale[3 * parent + axis]) < 2e-6F);
            }
            product += local[1][0] * local[1][1];
            const double kept = 1 - opacityOf(after.opacity[row]);
            QVERIFY(std::abs(kept * kept - (1 - opacityOf(cloud.opacity[parent]))) < 1e-6);
            QCOMPARE(after.rotation[4 * row], cloud.rotation[4 * parent]);
        }
        // Five standard deviations of the means of 8000 normal numbers.
        const double n = 2 * kParents;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            QVERIFY(std::abs(sum[axis] / n) < 5 / std::sqrt(n));
            QVERIFY(std::abs(squares[axis] / n - 1) < 5 * std::sqrt(2 / n));
        }
        QVERIFY(std::abs(product / n) < 5 / std::sqrt(n));
    }

    void highestStatisticsWinUnderTheCap_data() { addDeviceRows(); }
    void highestStatisticsWinUnderTheCap()
    {
        VERGENCE_ROW_DEVICE(device)
        const auto grown = [&](Index cap) {
            Bed bed(device, tenGaussians());
            bed.setStatistics(kTenStatistics);
            DensitySettings settings;
            settings.cap = cap;
            densify(*bed.stream, bed.trained, settings, 1, false, 9, 500);
            return bed.sources();
        };
        QCOMPARE(grown(11), (std::vector<int>{0, 2, 6, 7, 8, 9, 0, 1, 1, 3, 3}));
        // Rows 0 and 1 are equal: the first one is taken.
        QCOMPARE(grown(10), (std::vector<int>{0, 1, 2, 6, 7, 8, 9, 0, 3, 3}));
        QCOMPARE(grown(9), (std::vector<int>{0, 1, 2, 6, 7, 8, 9, 3, 3}));
        QCOMPARE(grown(8), (std::vector<int>{0, 1, 2, 3, 6, 7, 8, 9}));
        QCOMPARE(grown(2), (std::vector<int>{0, 1, 2, 3, 6, 7, 8, 9}));
    }

    void largeOnesGoAfterTheFirstReset()
    {
        DensityColumns columns;
        const std::vector<double> scales{.2, .2, .05, .05, .05, .15};
        columns.opacity = logitsOf({.5, .5, .5, .5, .5, .5});
        for (const double scale : scales)
            columns.logScale.insert(columns.logScale.end(),
                                    {-9, static_cast<float>(std::log(scale)), -8});
        columns.gradient = {0, 1, 0, 1, 0, 1};
        columns.visible = std::vector<float>(6, 1);
        columns.radius = {0, 0, 21, 21, 20, 0};
        const auto before = planDensification(columns, {}, 1, false);
        QCOMPARE(before.report.pruned, 0);
        const auto plan = planDensification(columns, {}, 1, true);
        // 0 is large, 1 is so even in halves, 2 is wide; 3 is wide but split, 5 large but split.
        QCOMPARE(plan.source, (std::vector<std::uint32_t>{4, 3, 3, 5, 5}));
        QCOMPARE(plan.report.pruned, 3);
        QCOMPARE(plan.report.split, 2);
    }

    void otherStatisticsHaveTheirOwnThreshold()
    {
        DensityColumns columns;
        columns.opacity = logitsOf(std::vector<double>(6, 0.5));
        columns.logScale = std::vector<float>(18, std::log(0.001F)); // 0 to 2 small
        std::fill(columns.logScale.begin() + 9, columns.logScale.end(), std::log(0.05F));
        columns.visible = {2, 2, 2, 2, 2, 0};
        columns.gradient = {6e-4F, 0, 0, 0, 6e-4F, 1};
        columns.absoluteGradient = {0, 2e-3F, 1.5e-3F, 1.8e-3F, 1e-3F, 1};
        DensitySettings settings;
        settings.mode = DensitySettings::Mode::Classic;
        QCOMPARE(planDensification(columns, settings, 1, false).source,
                 (std::vector<std::uint32_t>{0, 1, 2, 3, 5, 0, 4, 4}));
        settings.mode = DensitySettings::Mode::Absolute;
        QCOMPARE(planDensification(columns, settings, 1, false).source,
                 (std::vector<std::uint32_t>{0, 1, 2, 4, 5, 1, 3, 3}));
        // The plain rule selects two of six: the two highest absolute ones are 1 (small) and 3.
        settings.mode = DensitySettings::Mode::Combined;
        QCOMPARE(planDensification(columns, settings, 1, false).source,
                 (std::vector<std::uint32_t>{0, 1, 2, 5, 0, 3, 3, 4, 4}));
        settings.gradient = 1;
        QCOMPARE(planDensification(columns, settings, 1, false).report.count, 6);
    }

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

    void deadGaussiansMoveOntoLivingOnes_data() { addDeviceRows(); }
    void deadGaussiansMoveOntoLivingOnes()
    {
        VERGENCE_ROW_DEVICE(device)
        GaussianCloud cloud = madeUpCloud(12, 1);
        cloud.opacity = logitsOf({.9, .001, .5, .0049, .3, .002, .8, .001, .1, .7, .003, .6});
        Bed bed(device, cloud);
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

    void birthsGrowByATwentiethUpToTheCap_data() { addDeviceRows(); }
    void birthsGrowByATwentiethUpToTheCap()
    {
        VERGENCE_ROW_DEVICE(device)
        GaussianCloud cloud = madeUpCloud(110, 0);
        std::fill(cloud.opacity.begin(), cloud.opacity.end(), 1.0F);
        Bed bed(device, cloud);
        DensitySettings settings;
        settings.mode = DensitySettings::Mode::Mcmc;
        settings.cap = 118;
        const DensityReport first = relocate(*bed.stream, bed.trained, settings, 5, 600);
        QCOMPARE(first.relocated, 0);
        QCOMPARE(first.born, 5);
        QCOMPARE(bed.trained.count(), 115);
        QCOMPARE(bed.trained.capacity(), 138); // 110 and a quarter
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

    void eventsAreFunctionsOfSeedStepAndRow_data() { addDeviceRows(); }
    void eventsAreFunctionsOfSeedStepAndRow()
    {
        VERGENCE_ROW_DEVICE(device)
        const auto outcome = [&](const std::shared_ptr<Device>& on, std::uint64_t seed,
                                 std::int64_t step) {
            GaussianCloud cloud = madeUpCloud(900, 1);
            for (std::size_t i = 0; i < 300; ++i)
                cloud.opacity[3 * i] = -6;
            Bed bed(on, cloud);
            bed.setStatistics(uniformNumbers(900, 0, 4e-4F, 3));
            DensitySettings settings;
            relocate(*bed.stream, bed.trained, settings, seed, step);
            densify(*bed.stream, bed.trained, settings, 1, true, seed, step);
            addNoise(*bed.stream, bed.trained.gaussians, 1e-4, seed, step);
            sortByPlace(*bed.stream, bed.trained);
            return columnsOf(bed.cloud());
        };
        const auto once = outcome(device, 3, 500);
        QCOMPARE(outcome(device, 3, 500), once);
        QVERIFY(outcome(device, 4, 500) != once);
        QVERIFY(outcome(device, 3, 600) != once);
        if (device->isCpu()) {
            QCOMPARE(outcome(makeCpuDevice(1), 3, 500), once);
            QCOMPARE(outcome(makeCpuDevice(3), 3, 500), once);
        }
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
        Bed bed(device, cloud);
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

    void resetLimitsTheOpacityThatIsSeen_data() { addDeviceRows(); }
    void resetLimitsTheOpacityThatIsSeen()
    {
        VERGENCE_ROW_DEVICE(device)
        for (const bool hasFilter : {false, true}) {
            GaussianCloud cloud = madeUpCloud(200, 0);
            if (hasFilter)
                cloud.filter = uniformNumbers(200, 0, 0.5F, 12);
            cloud.opacity = uniformNumbers(200, -8, 8, 13);
            Bed bed(device, cloud);
            resetOpacity(*bed.stream, bed.trained);
            const GaussianCloud after = bed.cloud();
            int limited = 0;
            for (std::size_t row = 0; row < 200; ++row) {
                double share = 1;
                for (std::size_t i = 3 * row; hasFilter && i < 3 * row + 3; ++i) {
                    const double s = std::exp(static_cast<double>(cloud.logScale[i]));
                    share *= s / std::hypot(s, static_cast<double>(cloud.filter[row]));
                }
                const double before = opacityOf(cloud.opacity[row]) * share;
                const double seen = opacityOf(after.opacity[row]) * share;
                QVERIFY(std::abs(seen - std::min(before, 0.01)) < 2e-7);
                limited += after.opacity[row] != cloud.opacity[row];
            }
            QVERIFY(limited > 20 && limited < 190);
            const auto cleared = downloaded(*bed.stream, bed.trained.moment1, 200).opacity;
            QCOMPARE(cleared, std::vector<float>(200, 0.0F));
            QCOMPARE(downloaded(*bed.stream, bed.trained.moment2, 200).shDc[5], kMarked);
        }
    }

    void transparentOnesAreDropped_data() { addDeviceRows(); }
    void transparentOnesAreDropped()
    {
        VERGENCE_ROW_DEVICE(device)
        GaussianCloud cloud = madeUpCloud(6, 2);
        cloud.opacity = logitsOf({.9, .499, .501, .1, .2, .7});
        cloud.opacity[4] = std::numeric_limits<float>::quiet_NaN();
        Bed bed(device, cloud, 4);
        QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 0.5), 3);
        QCOMPARE(bed.sources(), (std::vector<int>{0, 2, 5}));
        QCOMPARE(bed.fresh(), flags({0, 0, 0}));
        QCOMPARE(bed.trained.capacity(), 10);
        QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 0.5), 0);
        QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 1), 3);
        QCOMPARE(bed.trained.count(), 0);
    }

    void orderFollowsTheCurve_data() { addDeviceRows(); }
    void orderFollowsTheCurve()
    {
        VERGENCE_ROW_DEVICE(device)
        QCOMPARE(mortonKey(0x1fffff, 0x1fffff, 0x1fffff), 0x7fffffffffffffffULL);
        QCOMPARE(mortonKey(0x100000, 0, 1), (1ULL << 60) + 4);
        for (int bit = 0; bit < 21; ++bit)
            QCOMPARE(mortonKey(0, 1ULL << bit, 0), 1ULL << (3 * bit + 1));
        // Corners of a cube, x fastest; rows 8 and 9 repeat the first one.
        GaussianCloud cloud = madeUpCloud(10, 0);
        const std::vector<int> corners{7, 1, 4, 2, 0, 6, 3, 5, 0, 0};
        for (std::size_t row = 0; row < 10; ++row) {
            for (std::size_t axis = 0; axis < 3; ++axis)
                cloud.position[3 * row + axis] = corners[row] >> axis & 1 ? 5.0F : 1.0F;
        }
        Bed bed(device, cloud, 1);
        Bed::set(*bed.stream, bed.trained.statistics.radius, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        sortByPlace(*bed.stream, bed.trained);
        QCOMPARE(bed.sources(), (std::vector<int>{4, 8, 9, 1, 3, 6, 2, 7, 5, 0}));
        QCOMPARE(bed.trained.statistics.radius.toHost<float>(*bed.stream),
                 (std::vector<float>{4, 8, 9, 1, 3, 6, 2, 7, 5, 0, 0}));
        cloud.position[3] = std::numeric_limits<float>::infinity();
        QCOMPARE(zOrder(cloud.position).back(), 1U);
        QCOMPARE(zOrder({}), std::vector<std::uint32_t>());
    }

    void rearrangingMovesEveryArray_data() { addDeviceRows(); }
    void rearrangingMovesEveryArray()
    {
        VERGENCE_ROW_DEVICE(device)
        for (const int degree : {0, 3}) {
            GaussianCloud cloud = madeUpCloud(7, degree);
            cloud.filter = uniformNumbers(7, 0, 1, 4);
            Bed bed(device, cloud);
            const auto before = columnsOf(bed.cloud());
            const std::vector<std::uint32_t> source{6, 0, 0, 3, 5, 5, 1, 2, 4};
            rearrange(*bed.stream, bed.trained, source, {0, 0, 1, 0, 0, 1, 0, 0, 0});
            QCOMPARE(bed.trained.count(), 9);
            QCOMPARE(bed.trained.capacity(), 9); // 7 and a quarter
            QCOMPARE(bed.fresh(), flags({0, 0, 1, 0, 0, 1, 0, 0, 0}));
            const GaussianCloud after = bed.cloud();
            const auto now = columnsOf(after);
            for (std::size_t column = 0; column < now.size(); ++column) {
                const std::size_t width = before[column].size() / 7;
                for (std::size_t i = 0; i < now[column].size(); ++i)
                    QCOMPARE(now[column][i], before[column][source[i / width] * width + i % width]);
            }
            for (std::size_t i = 0; i < 9; ++i)
                QCOMPARE(after.filter[i], cloud.filter[source[i]]);
            for (const Tensor& tensor : bed.trained.moment2.groups())
                QCOMPARE(tensor.extent(0), 9);
            QCOMPARE(bed.trained.statistics.visible.extent(0), 9);
        }
    }

    void emptyAndSingleSetsAreServed_data() { addDeviceRows(); }
    void emptyAndSingleSetsAreServed()
    {
        VERGENCE_ROW_DEVICE(device)
        for (const Index count : {0, 1}) {
            for (const Index spare : {0, 5}) {
                GaussianCloud cloud = madeUpCloud(count, 1);
                if (count)
                    cloud.opacity[0] = 1;
                std::fill(cloud.logScale.begin(), cloud.logScale.end(), -4.0F);
                Bed bed(device, cloud, spare);
                DensitySettings settings;
                QCOMPARE(densify(*bed.stream, bed.trained, settings, 1, true, 1, 1).count, count);
                QCOMPARE(relocate(*bed.stream, bed.trained, settings, 1, 1).count, count);
                addNoise(*bed.stream, bed.trained.gaussians, 1, 1, 1);
                resetOpacity(*bed.stream, bed.trained);
                sortByPlace(*bed.stream, bed.trained);
                QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 0.001), 0);
                QCOMPARE(bed.trained.count(), count);
                QCOMPARE(bed.trained.capacity(), count + spare);
            }
        }
        // All dead: nothing to move onto.
        GaussianCloud cloud = madeUpCloud(3, 0);
        std::fill(cloud.opacity.begin(), cloud.opacity.end(), -9.0F);
        Bed bed(device, cloud);
        const DensityReport report = relocate(*bed.stream, bed.trained, {}, 1, 1);
        QCOMPARE(report.count, 3);
        QCOMPARE(report.relocated + report.born, 0);
    }

    void regularisersAreMeans_data() { addDeviceRows(); }
    void regularisersAreMeans()
    {
        VERGENCE_ROW_DEVICE(device)
        constexpr Index kRows = 33;
        Bed bed(device, madeUpCloud(kRows, 0));
        GaussianArrays gradients = GaussianArrays::zeros(*bed.stream, device, kRows, 0);
        Bed::set(*bed.stream, gradients.opacity, std::vector<float>(kRows, 0.5F));
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

    void badInputIsRefused()
    {
        Bed bed(devices().devices[0], madeUpCloud(3, 0));
        VERGENCE_THROWS(ContractError, "does not exist",
                        rearrange(*bed.stream, bed.trained, {0, 3}, {0, 0}));
        VERGENCE_THROWS(ContractError, "each row", rearrange(*bed.stream, bed.trained, {0}, {}));
        VERGENCE_THROWS(ContractError, "extent",
                        densify(*bed.stream, bed.trained, {}, 0, false, 1, 1));
        VERGENCE_THROWS(ContractError, "limit", resetOpacity(*bed.stream, bed.trained, 1.5));
    }
};

QTEST_GUILESS_MAIN(SugarDensityTest)
#include "tst_sugar_density.moc"
