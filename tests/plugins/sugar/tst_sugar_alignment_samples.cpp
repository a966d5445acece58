#include <QTest>

#include <algorithm>
#include <cmath>

#include "plugins/sugar/compute/alignment/entropy_math.h"
#include "plugins/sugar/compute/alignment/grouping.h"
#include "plugins/sugar/compute/alignment/sample_kernels.h"
#include "plugins/sugar/compute/alignment/sample_terms_math.h"
#include "plugins/sugar/compute/learning/density_math.h"
#include "tests/plugins/sugar/alignment_support.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

constexpr std::int32_t kParent = 14;

/// What the samples of kParent come to, in double.
struct Formula {
    SampleValues values;
    Numbers gradient; ///< as downloadedGradients() has it

    Formula(const GaussianCloud& cloud, const SampledView& view, Stream& stream,
            const SampleSettings& settings, int valid)
    {
        const Numbers depth = doubles(view.depth.toHost<float>(stream)),
                      rest = doubles(view.transmittance.toHost<float>(stream));
        const DepthPicture<double> picture{depth.data(), rest.data(), view.camera.height,
                                           view.camera.width};
        const std::vector<std::uint32_t> table = tableOf(cloud, 16);
        std::vector<FieldGaussian<double>> field;
        for (int k = 0; k < valid; ++k)
            field.push_back(gaussian(cloud, table[16 * kParent + static_cast<std::size_t>(k)],
                                     settings.useFilter));
        std::vector<FieldGradient<double>> gradients(field.size());
        FieldGradient<double> parent;
        struct Drawn {
            double normal[3], target;
        };
        std::vector<Drawn> drawn;
        for (Index i = 0; i < settings.samples; ++i) {
            float normal[3];
            threeNormals(settings.seed, sampleStream(SampleDraw::Place, settings.step),
                         static_cast<std::uint64_t>(i), normal);
            Drawn one{{static_cast<double>(normal[0]), static_cast<double>(normal[1]),
                       static_cast<double>(normal[2])},
                      0};
            double x[3];
            fieldSample(field[0], one.normal, x);
            if (settings.isDistance) {
                const double rendered = picture.at(view.camera.fx * x[0] / x[2] + view.camera.cx,
                                                   view.camera.fy * x[1] / x[2] + view.camera.cy);
                if (rendered < 0)
                    continue;
                one.target = std::abs(rendered - x[2]);
            }
            drawn.push_back(one);
        }
        const auto count = static_cast<double>(drawn.size());
        const double parentNormal[3] = {field[0].normal(0), field[0].normal(1), field[0].normal(2)};
        for (const Drawn& one : drawn) {
            double x[3], gradX[3] = {};
            fieldSample(field[0], one.normal, x);
            FieldSums<double> sums;
            for (const FieldGaussian<double>& g : field)
                sums.add(g, {g, x}, parentNormal);
            SampleGradient<double> own;
            const double factor = settings.weight / count;
            values.field += settings.isDistance ? distanceTerm(sums, one.target, settings.extent,
                                                               factor, settings.isDetached, own)
                                                : densityTerm(field[0], one.normal, sums, factor,
                                                              settings.isDetached, own, parent);
            values.normal += normalTerm(field[0], sums, settings.normalWeight / count, own, parent);
            for (std::size_t i = 0; i < field.size(); ++i)
                own.backward(field[i], {field[i], x}, x, parentNormal, gradients[i], gradX);
            if (!settings.isDetached)
                fieldSampleBackward(field[0], one.normal, gradX, parent);
        }
        values.field /= count;
        values.normal /= count;
        values.samples = static_cast<Index>(drawn.size());
        const auto rows = static_cast<std::size_t>(cloud.count() + 3);
        gradient.assign(11 * rows, 0.0);
        add(field[0], kParent, parent, rows);
        for (std::size_t i = 0; i < field.size(); ++i)
            add(field[i], table[16 * kParent + i], gradients[i], rows);
    }

private:
    static Numbers doubles(const std::vector<float>& from) { return {from.begin(), from.end()}; }
    static FieldGaussian<double> gaussian(const GaussianCloud& cloud, std::size_t i, bool hasFilter)
    {
        double position[3], logScale[3], quaternion[4];
        for (std::size_t k = 0; k < 3; ++k) {
            position[k] = static_cast<double>(cloud.position[3 * i + k]);
            logScale[k] = static_cast<double>(cloud.logScale[3 * i + k]);
        }
        for (std::size_t k = 0; k < 4; ++k)
            quaternion[k] = static_cast<double>(cloud.rotation[4 * i + k]);
        return {position, logScale, quaternion, static_cast<double>(cloud.opacity[i]),
                hasFilter ? static_cast<double>(cloud.filter[i]) : 0.0};
    }
    void add(const FieldGaussian<double>& g, std::size_t i, const FieldGradient<double>& of,
             std::size_t rows)
    {
        const FieldParameterGradient<double> own(g, of);
        for (std::size_t k = 0; k < 3; ++k) {
            gradient[3 * i + k] += own.position[k];
            gradient[3 * (rows + i) + k] += own.logScale[k];
        }
        for (std::size_t k = 0; k < 4; ++k)
            gradient[6 * rows + 4 * i + k] += own.quaternion[k];
        gradient[10 * rows + i] += own.logit;
    }
};

} // namespace

class SugarAlignmentSamplesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void groupsKeepTheOrderOfItems()
    {
        const std::vector<std::uint32_t> key{4, 2, 9, 4, 4, 2, 0, 9};
        Grouping grouping;
        for (int repeat = 0; repeat < 2; ++repeat) {
            grouping.build(8, 10, 9, [&](std::uint32_t i) { return key[i]; });
            QCOMPARE(grouping.keys(), std::vector<std::uint32_t>({4, 2, 0}));
            QCOMPARE(grouping.starts(), std::vector<std::uint32_t>({0, 3, 5, 6}));
            QCOMPARE(grouping.items(), std::vector<std::uint32_t>({0, 3, 4, 1, 5, 6}));
        }
        grouping.build(0, 3, 9, [](std::uint32_t) { return 0U; });
        QCOMPARE(grouping.groups(), std::size_t{0});
        QCOMPARE(grouping.starts(), std::vector<std::uint32_t>({0}));
    }

    void entropyOfVisibleOpacities_data() { addDeviceRows(); }
    void entropyOfVisibleOpacities()
    {
        QFETCH(int, device);
        const auto on = deviceOrSkip(device);
        if (!on)
            return;
        GaussianCloud cloud = madeUpCloud(700, 0);
        Bed bed(on, cloud);
        std::vector<std::int32_t> some;
        for (std::int32_t i = 0; i < 700; i += 3)
            some.push_back(i);
        const Tensor visible = Tensor::fromHost<std::int32_t>(
            *bed.stream, on, {static_cast<Index>(some.size())}, some);
        const double mean =
            addOpacityEntropy(*bed.stream, bed.gaussians, visible, 0.1, bed.gradients);
        Numbers want(703, 0.0);
        double sum = 0;
        for (const std::int32_t i : some) {
            const auto at = static_cast<std::size_t>(i);
            const auto entropy = opacityEntropy(static_cast<double>(cloud.opacity[at]));
            sum += entropy.value;
            want[at] = 0.1 / static_cast<double>(some.size()) * entropy.byLogit;
        }
        QVERIFY(std::abs(mean - sum / static_cast<double>(some.size())) < 1e-6);
        VERGENCE_AGREES(
            difference(bed.gradients.opacity.toHost<float>(*bed.stream), want, 1e-10, 1e-5));
        QCOMPARE(addOpacityEntropy(*bed.stream, bed.gaussians, {}, 0.1, bed.gradients), 0.0);
    }

    void samplesAgreeWithTheFormula_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<bool>("isDistance");
        QTest::addColumn<bool>("hasFilter");
        QTest::addColumn<int>("valid");
        forEachDevice([](const std::string& name, int device) {
            QTest::addRow("%s, density", name.c_str()) << device << false << false << 16;
            QTest::addRow("%s, filter", name.c_str()) << device << false << true << 16;
            QTest::addRow("%s, 5 of 16", name.c_str()) << device << false << false << 5;
            QTest::addRow("%s, alone", name.c_str()) << device << false << false << 1;
            QTest::addRow("%s, distance", name.c_str()) << device << true << false << 16;
        });
    }
    /// One parent alone, so that samples differ in their places only; against sums in double.
    void samplesAgreeWithTheFormula()
    {
        QFETCH(int, device);
        QFETCH(bool, isDistance);
        QFETCH(bool, hasFilter);
        QFETCH(int, valid);
        const auto on = deviceOrSkip(device);
        if (!on)
            return;
        GaussianCloud cloud = sheetCloud(6);
        if (hasFilter)
            cloud.filter = uniformNumbers(cloud.count(), 0.01F, 0.1F, 9);
        for (const bool isDetached : {false, true}) {
            Bed bed(on, cloud, 16, valid);
            SampledView view = bed.view();
            view.visible = Tensor::fromHost<std::int32_t>(*bed.stream, on, {1},
                                                          std::vector<std::int32_t>{kParent});
            SampleSettings settings = settingsOf(300, isDistance);
            settings.useFilter = hasFilter;
            settings.isDetached = isDetached;
            const SampleValues values =
                bed.samples.add(*bed.stream, bed.gaussians, view, settings, bed.gradients);
            const Formula want(cloud, view, *bed.stream, settings, valid);
            QCOMPARE(values.samples, want.values.samples);
            QVERIFY(values.samples > 200);
            QVERIFY(std::abs(values.field - want.values.field) < 2e-5 * want.values.field);
            QVERIFY(std::abs(values.normal - want.values.normal) <=
                    2e-5 * want.values.normal + 1e-6);
            double largest = 0;
            for (const double g : want.gradient)
                largest = std::max(largest, std::abs(g));
            QVERIFY(largest > 1e-3);
            VERGENCE_AGREES(
                difference(bed.downloadedGradients(), want.gradient, 2e-4 * largest, 2e-4));
        }
    }

    /// The density with all that depends on it: samples, targets, parents and neighbours.
    void densityAgreesWithDifferences()
    {
        const GaussianCloud cloud = sheetCloud(8);
        const auto device = makeCpuDevice(1);
        Bed bed(device, cloud);
        const SampledView view = bed.view();
        SampleSettings settings = settingsOf(2000);
        settings.weight = 1;
        settings.normalWeight = 0; // its weights are held fixed
        bed.samples.add(*bed.stream, bed.gaussians, view, settings, bed.gradients);
        const auto loss = [&](const GaussianCloud& at) {
            const Gaussians moved = upload(*bed.stream, device, at, at.count() + 3, 0);
            GaussianArrays unused = GaussianArrays::zeros(*bed.stream, device, at.count() + 3, 0);
            return bed.samples.add(*bed.stream, moved, view, settings, unused).field;
        };
        const QString message = directionalDifference(cloud, bed.downloadedGradients(),
                                                      cloud.count() + 3, loss, 1e-4F, 0.01);
        QVERIFY2(message.isEmpty(), qPrintable(message));
    }

    /// Parents are drawn uniformly among the visible.
    void parentsAreUniform()
    {
        const GaussianCloud cloud = sheetCloud(8);
        const auto device = makeCpuDevice(2);
        const auto stream = device->createStream();
        const std::vector<std::int32_t> some{3, 5, 7, 11, 13, 17, 19, 23, 29, 31};
        const Tensor visible = Tensor::fromHost<std::int32_t>(*stream, device, {Index{10}}, some);
        const Index n = 20'000;
        std::vector<FieldSample> drawn(static_cast<std::size_t>(n));
        DrawArguments a;
        a.visible = static_cast<const std::uint32_t*>(visible.data());
        a.visibleCount = 10;
        a.samples = n;
        a.seed = 3;
        a.to = drawn.data();
        drawSamples(*stream, a);
        std::vector<double> times(32, 0.0);
        double mean = 0, square = 0;
        for (const FieldSample& sample : drawn) {
            times.at(sample.parent) += 1;
            for (const float xi : sample.normal) {
                mean += static_cast<double>(xi) / (3.0 * static_cast<double>(n));
                square += static_cast<double>(xi * xi) / (3.0 * static_cast<double>(n));
            }
        }
        double chi = 0;
        for (const std::int32_t i : some)
            chi += std::pow(times[static_cast<std::size_t>(i)] - 2000, 2) / 2000;
        QVERIFY(chi < 27.9); // 9 degrees of freedom, 0.1 %
        QVERIFY(std::abs(mean) < 5 / std::sqrt(3.0 * static_cast<double>(n)));
        QVERIFY(std::abs(square - 1) < 5 * std::sqrt(2 / (3.0 * static_cast<double>(n))));
        a.step = 1;
        std::vector<FieldSample> later(drawn.size());
        a.to = later.data();
        drawSamples(*stream, a);
        QVERIFY(later[0].normal[0] != drawn[0].normal[0]);
    }

    /// Signed distances take parents near what is seen alone.
    void hiddenParentsAreNotSampled()
    {
        GaussianCloud cloud = sheetCloud(12);
        const std::size_t behind = 77; // far behind the sheet
        cloud.position[3 * behind + 2] = 6;
        const auto device = makeCpuDevice(1);
        Bed bed(device, cloud);
        SampledView view = bed.view();
        SampleSettings settings = settingsOf(500, true);
        view.visible =
            Tensor::fromHost<std::int32_t>(*bed.stream, device, {1}, std::vector<std::int32_t>{77});
        SampleValues values =
            bed.samples.add(*bed.stream, bed.gaussians, view, settings, bed.gradients);
        QCOMPARE(values.samples, Index{0});
        for (const double g : bed.downloadedGradients())
            QCOMPARE(g, 0.0);
        view.visible = bed.visible;
        values = bed.samples.add(*bed.stream, bed.gaussians, view, settings, bed.gradients);
        QVERIFY(values.samples > 300);
        view.depth = Tensor();
        QVERIFY_THROWS_EXCEPTION(ContractError, bed.samples.add(*bed.stream, bed.gaussians, view,
                                                                settings, bed.gradients));
    }

    void threadsDoNotChangeABit() // 17.21
    {
        const GaussianCloud cloud = sheetCloud(20);
        for (const bool isDistance : {false, true}) {
            Numbers first;
            double value = 0;
            for (const int threads : {1, 2, 5}) {
                Bed bed(makeCpuDevice(threads), cloud);
                const SampleValues values =
                    bed.samples.add(*bed.stream, bed.gaussians, bed.view(),
                                    settingsOf(5000, isDistance), bed.gradients);
                if (threads == 1) {
                    first = bed.downloadedGradients();
                    value = values.field;
                }
                QCOMPARE(values.field, value);
                QVERIFY(bed.downloadedGradients() == first);
            }
            QVERIFY(value > 0);
        }
    }

    void stoppedSamplesAddNothing()
    {
        const GaussianCloud cloud = sheetCloud(10);
        Bed bed(makeCpuDevice(1), cloud);
        const SampleValues stopped =
            bed.samples.add(*bed.stream, bed.gaussians, bed.view(), settingsOf(500), bed.gradients,
                            [] { return true; });
        QVERIFY(stopped.isStopped);
        for (const double g : bed.downloadedGradients())
            QCOMPARE(g, 0.0);
        QVERIFY(!bed.samples
                     .add(*bed.stream, bed.gaussians, bed.view(), settingsOf(500), bed.gradients,
                          [] { return false; })
                     .isStopped);
    }

    void badInputIsRefused()
    {
        const GaussianCloud cloud = sheetCloud(4);
        const auto device = makeCpuDevice(1);
        Bed bed(device, cloud);
        const std::vector<std::uint32_t> table = tableOf(cloud, 2);
        QVERIFY_THROWS_EXCEPTION(ContractError,
                                 bed.samples.setNeighbours(*bed.stream, table, 15, 2, 2));
        QVERIFY_THROWS_EXCEPTION(ContractError,
                                 bed.samples.setNeighbours(*bed.stream, table, 16, 2, 3));
        SampleSettings settings = settingsOf(10);
        SampledView view;
        QCOMPARE(bed.samples.add(*bed.stream, bed.gaussians, view, settings, bed.gradients).samples,
                 Index{0});
        view.visible = bed.visible;
        settings.useFilter = true;
        QVERIFY_THROWS_EXCEPTION(ContractError, bed.samples.add(*bed.stream, bed.gaussians, view,
                                                                settings, bed.gradients));
        --bed.gaussians.count;
        QVERIFY_THROWS_EXCEPTION(ContractError, bed.samples.add(*bed.stream, bed.gaussians, view,
                                                                settingsOf(10), bed.gradients));
    }

    /// Gaussians behind the camera move in sparse steps where a term has a gradient for them.
    void sparseStepsFollowTerms_data() { addDeviceRows(); }
    void sparseStepsFollowTerms()
    {
        QFETCH(int, device);
        const auto on = deviceOrSkip(device);
        if (!on)
            return;
        GaussianCloud cloud = sheetCloud(2);
        for (const std::size_t i : {2, 3})
            cloud.position[3 * i + 2] = -3;
        for (const bool keeps : {false, true}) {
            Bed bed(on, cloud, 1, 1);
            const Index capacity = cloud.count() + 3;
            GaussianArrays moment1 = GaussianArrays::zeros(*bed.stream, on, capacity, 0);
            GaussianArrays moment2 = GaussianArrays::zeros(*bed.stream, on, capacity, 0);
            std::vector<float> extra(static_cast<std::size_t>(3 * capacity), 0.0F);
            extra[3 * 3 + 1] = 0.5F;
            bed.gradients.position = Tensor::fromHost<float>(*bed.stream, on, {capacity, 3},
                                                             std::span<const float>(extra));
            bed.gradients.shDc = Tensor(); // harmonics may be missing
            const RasterImages& images =
                bed.rasteriser.render(*bed.stream, bed.gaussians, bed.camera, {}, true);
            RasterImageGradients image;
            image.colour = images.colour.clone(*bed.stream);
            AdamStep adam;
            adam.learningRate.fill(0.01F);
            adam.sparse = true;
            adam.keepsExtra = keeps;
            bed.rasteriser.backwardAndUpdate(*bed.stream, bed.gaussians, image, &bed.gradients,
                                             moment1, moment2, adam, nullptr);
            const GaussianCloud after = download(*bed.stream, bed.gaussians);
            for (std::size_t i = 0; i < 4; ++i) {
                const bool moved = after.position[3 * i + 1] != cloud.position[3 * i + 1];
                QCOMPARE(moved, i < 2 || (i == 3 && keeps));
            }
            QCOMPARE(moment1.position.toHost<float>(*bed.stream)[3 * 2 + 1], 0.0F);
        }
    }
};

VERGENCE_TEST(SugarAlignmentSamplesTest)
#include "tst_sugar_alignment_samples.moc"
