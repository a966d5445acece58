#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/sugar/compute/learning/density_plan.h"
#include "plugins/sugar/compute/z_order.h"
#include "tests/plugins/sugar/density_bed.h"
#include "tests/plugins/sugar/moment_rows.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

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

} // namespace

class SugarDensityTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tenGaussiansCloneSplitAndPrune_data() { addDeviceAndMomentRows(); }
    void tenGaussiansCloneSplitAndPrune()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        DensityBed bed(device, tenGaussians(), 0, formatOf(isCompact));
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
        DensityBed bed(device, cloud);
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
            DensityBed bed(device, tenGaussians());
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

    /// Faint Gaussians make room for those that grow, as few as need be.
    void faintOnesMakeRoomUnderTheCap()
    {
        DensityColumns columns;
        columns.opacity = logitsOf({.5, .02, .04, .06, .5, .5, .001, .5});
        columns.logScale = std::vector<float>(24, std::log(0.001F));
        columns.visible = std::vector<float>(8, 1);
        columns.gradient = {1, 0, 1, 0, 0, 1, 1, 0}; // 0, 2 and 5 grow
        DensitySettings settings;
        settings.bisectsCap = true;
        const auto planned = [&](Index cap) {
            settings.cap = cap;
            return planDensification(columns, settings, 1, false);
        };
        QCOMPARE(planned(10).source, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 7, 0, 2, 5}));
        QCOMPARE(planned(10).report.pruneOpacity, 0.005);
        QCOMPARE(planned(9).source, (std::vector<std::uint32_t>{0, 2, 3, 4, 5, 7, 0, 2, 5}));
        const double limit = planned(9).report.pruneOpacity;
        QVERIFY(limit > 0.02 && limit < 0.02 + 0.077 / 4096 + 1e-9); // 12 halvings of the range
        QCOMPARE(planned(8).source,
                 (std::vector<std::uint32_t>{0, 3, 4, 5, 7, 0, 5})); // 2 counts twice
        QCOMPARE(planned(6).source, (std::vector<std::uint32_t>{0, 4, 5, 7, 0, 5}));
        // Where even 0.08 leaves too many, the highest statistics win.
        QCOMPARE(planned(5).source, (std::vector<std::uint32_t>{0, 4, 5, 7, 0}));
        settings.bisectsCap = false;
        QCOMPARE(planned(9).source, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 7, 0, 2}));
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

    void eventsAreFunctionsOfSeedStepAndRow_data() { addDeviceRows(); }
    void eventsAreFunctionsOfSeedStepAndRow()
    {
        VERGENCE_ROW_DEVICE(device)
        const auto outcome = [&](const std::shared_ptr<Device>& on, std::uint64_t seed,
                                 std::int64_t step) {
            GaussianCloud cloud = madeUpCloud(900, 1);
            for (std::size_t i = 0; i < 300; ++i)
                cloud.opacity[3 * i] = -6;
            DensityBed bed(on, cloud);
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

    void resetLimitsTheOpacityThatIsSeen_data() { addDeviceAndMomentRows(); }
    void resetLimitsTheOpacityThatIsSeen()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        for (const bool hasFilter : {false, true}) {
            GaussianCloud cloud = madeUpCloud(200, 0);
            if (hasFilter)
                cloud.filter = uniformNumbers(200, 0, 0.5F, 12);
            cloud.opacity = uniformNumbers(200, -8, 8, 13);
            DensityBed bed(device, cloud, 0, formatOf(isCompact));
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
            for (const GaussianArrays* moments : {&bed.trained.moment1, &bed.trained.moment2}) {
                QCOMPARE(numbersOf(*bed.stream, moments->opacity, 200),
                         std::vector<float>(200, 0.0F));
                QCOMPARE(numbersOf(*bed.stream, moments->shDc, 2)[5], 2.0F); // row 1
            }
        }
    }

    void transparentOnesAreDropped_data() { addDeviceRows(); }
    void transparentOnesAreDropped()
    {
        VERGENCE_ROW_DEVICE(device)
        GaussianCloud cloud = madeUpCloud(6, 2);
        cloud.opacity = logitsOf({.9, .499, .501, .1, .2, .7});
        cloud.opacity[4] = std::numeric_limits<float>::quiet_NaN();
        DensityBed bed(device, cloud, 4);
        QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 0.5), 3);
        QCOMPARE(bed.sources(), (std::vector<int>{0, 2, 5}));
        QCOMPARE(bed.fresh(), flags({0, 0, 0}));
        QCOMPARE(bed.trained.capacity(), 10);
        QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 0.5), 0);
        QCOMPARE(pruneByOpacity(*bed.stream, bed.trained, 1), 3);
        QCOMPARE(bed.trained.count(), 0);
    }

    void orderFollowsTheCurve_data() { addDeviceAndMomentRows(); }
    void orderFollowsTheCurve()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        QCOMPARE(mortonKey(0x1fffff, 0x1fffff, 0x1fffff), 0x7fffffffffffffffULL);
        QCOMPARE(mortonKey(0x100000, 0, 1), (1ULL << 60) + 4);
        for (int bit = 0; bit < 21; ++bit)
            QCOMPARE(mortonKey(0, 1ULL << bit, 0), 1ULL << (3 * bit + 1));
        // Corners of a cube, x fastest; rows 8 and 9 repeat the first one.
        GaussianCloud cloud = madeUpCloud(10, 1);
        const std::vector<int> corners{7, 1, 4, 2, 0, 6, 3, 5, 0, 0};
        for (std::size_t row = 0; row < 10; ++row) {
            for (std::size_t axis = 0; axis < 3; ++axis)
                cloud.position[3 * row + axis] = corners[row] >> axis & 1 ? 5.0F : 1.0F;
        }
        DensityBed bed(device, cloud, 1, formatOf(isCompact));
        DensityBed::set(*bed.stream, bed.trained.statistics.radius, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        sortByPlace(*bed.stream, bed.trained);
        QCOMPARE(bed.sources(), (std::vector<int>{4, 8, 9, 1, 3, 6, 2, 7, 5, 0}));
        QCOMPARE(bed.fresh(), std::vector<bool>(10, false));
        QCOMPARE(bed.trained.statistics.radius.toHost<float>(*bed.stream),
                 (std::vector<float>{4, 8, 9, 1, 3, 6, 2, 7, 5, 0, 0}));
        cloud.position[3] = std::numeric_limits<float>::infinity();
        QCOMPARE(zOrder(cloud.position).back(), 1U);
        QCOMPARE(zOrder({}), std::vector<std::uint32_t>());
    }

    void rearrangingMovesEveryArray_data() { addDeviceAndMomentRows(); }
    void rearrangingMovesEveryArray()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(bool, isCompact);
        for (const int degree : {0, 3}) {
            GaussianCloud cloud = madeUpCloud(7, degree);
            cloud.filter = uniformNumbers(7, 0, 1, 4);
            DensityBed bed(device, cloud, 0, formatOf(isCompact));
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
            QVERIFY(sugar::formatOf(bed.trained.moment1, bed.trained.moment2) ==
                    formatOf(isCompact));
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
                DensityBed bed(device, cloud, spare);
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
        DensityBed bed(device, cloud);
        const DensityReport report = relocate(*bed.stream, bed.trained, {}, 1, 1);
        QCOMPARE(report.count, 3);
        QCOMPARE(report.relocated + report.born, 0);
    }

    void badInputIsRefused()
    {
        DensityBed bed(devices().devices[0], madeUpCloud(3, 0));
        VERGENCE_THROWS(ContractError, "does not exist",
                        rearrange(*bed.stream, bed.trained, {0, 3}, {0, 0}));
        VERGENCE_THROWS(ContractError, "each row", rearrange(*bed.stream, bed.trained, {0}, {}));
        VERGENCE_THROWS(ContractError, "extent",
                        densify(*bed.stream, bed.trained, {}, 0, false, 1, 1));
        VERGENCE_THROWS(ContractError, "limit", resetOpacity(*bed.stream, bed.trained, 1.5));
    }
};

VERGENCE_TEST(SugarDensityTest)
#include "tst_sugar_density.moc"
