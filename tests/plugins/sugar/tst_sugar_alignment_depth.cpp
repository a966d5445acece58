#include <QTest>

#include <algorithm>
#include <cmath>

#include "plugins/sugar/compute/alignment/depth_normal.h"
#include "plugins/sugar/compute/alignment/depth_normal_math.h"
#include "tests/plugins/sugar/alignment_support.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

/// Flat splats, two to a spacing, on a plane through (0, 0, 5) turned about the y axis.
GaussianCloud planeCloud(double degrees, int side = 60, float noise = 0)
{
    GaussianCloud cloud;
    const double angle = degrees * 3.14159265358979 / 180;
    const float spacing = 8.0F / static_cast<float>(side);
    const std::vector<float> random = uniformNumbers(3 * side * side, -noise, noise, 4);
    for (int i = 0; i < side * side; ++i) {
        const float along = spacing * static_cast<float>(i % side) - 4,
                    y = spacing * static_cast<float>(i / side) - 4;
        const auto at = static_cast<std::size_t>(3 * i);
        cloud.position.insert(cloud.position.end(),
                              {along * static_cast<float>(std::cos(angle)), y,
                               5 + along * static_cast<float>(std::sin(angle)) + random[at]});
        cloud.logScale.insert(
            cloud.logScale.end(),
            {std::log(0.8F * spacing), std::log(0.8F * spacing), std::log(0.02F * spacing)});
        cloud.rotation.insert(cloud.rotation.end(),
                              {static_cast<float>(std::cos(angle / 2)), random[at + 1],
                               -static_cast<float>(std::sin(angle / 2)), random[at + 2]});
        cloud.opacity.push_back(3);
        cloud.shDc.insert(cloud.shDc.end(), {0.3F, 0.2F, 0.1F});
    }
    return cloud;
}

/// The cloud a step down the gradient, which has rows for three more Gaussians.
GaussianCloud movedAgainst(GaussianCloud cloud, const Numbers& gradient, double step)
{
    std::size_t offset = 0;
    for (std::vector<float>* column : shapeOf(cloud)) {
        for (std::size_t i = 0; i < column->size(); ++i)
            (*column)[i] -= static_cast<float>(step * gradient[offset + i]);
        offset += column->size() / static_cast<std::size_t>(cloud.count()) *
                  static_cast<std::size_t>(cloud.count() + 3);
    }
    return cloud;
}

/// Depth against normals of rendered images, in double.
struct ImageFormula {
    double mean = 0;
    Index pixels = 0;
    Numbers gradDepth, gradCoverage, gradNormal;

    ImageFormula(Stream& stream, const Camera& camera, const RasterImages& images, double weight)
    {
        const Index h = camera.height, w = camera.width;
        const auto doubles = [&](const Tensor& tensor) {
            const auto values = tensor.toHost<float>(stream);
            return Numbers(values.begin(), values.end());
        };
        const Numbers depth = doubles(images.depth), rest = doubles(images.transmittance),
                      normal = doubles(images.normal);
        Numbers expected(depth.size());
        for (std::size_t i = 0; i < depth.size(); ++i)
            expected[i] = ExpectedDepth<double>(depth[i], 1 - rest[i]).value;
        const DepthNormalTerm<double> term{{camera.fx, camera.fy, camera.cx, camera.cy},
                                           {expected.data(), h, w},
                                           {rest.data(), h, w},
                                           {normal.data(), Index{3}, h, w}};
        std::vector<DepthNormalGradient<double>> gradients(depth.size());
        const auto at = [&](Index row, Index column) -> DepthNormalGradient<double>& {
            return gradients[static_cast<std::size_t>(row * w + column)];
        };
        for (Index row = 0; row < h; ++row) {
            for (Index column = 0; column < w; ++column) {
                mean += term.evaluate(row, column, at(row, column));
                pixels += at(row, column).normal[0] != 0 || at(row, column).normal[2] != 0;
            }
        }
        mean /= static_cast<double>(pixels);
        const double factor = weight / static_cast<double>(pixels);
        gradNormal.resize(3 * depth.size());
        for (std::size_t i = 0; i < depth.size(); ++i) {
            const auto row = static_cast<Index>(i) / w, column = static_cast<Index>(i) % w;
            const ExpectedDepth<double> here(depth[i], 1 - rest[i]);
            const double grad = factor * term.gradDepth(row, column, at);
            gradDepth.push_back(here.gradDepth(grad));
            gradCoverage.push_back(here.gradCoverage(grad));
            for (std::size_t k = 0; k < 3; ++k)
                gradNormal[k * depth.size() + i] = factor * gradients[i].normal[k];
        }
    }
};

} // namespace

class SugarAlignmentDepthTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void flatSplatsAreConsistent_data()
    {
        QTest::addColumn<double>("tilt");
        QTest::newRow("facing") << 0.0;
        QTest::newRow("30 degrees") << 30.0;
    }
    /// 17.17: a plane of dense flat splats, opaque from border to border.
    void flatSplatsAreConsistent()
    {
        QFETCH(double, tilt);
        const auto device = makeCpuDevice(2);
        Bed bed(device, planeCloud(tilt), 1, 1);
        RasterSettings raster;
        raster.geometry = true;
        const RasterImages& images =
            bed.rasteriser.render(*bed.stream, bed.gaussians, bed.camera, raster);
        DepthNormalLoss loss;
        RasterImageGradients gradients;
        const DepthNormalValue value = loss.evaluate(*bed.stream, bed.camera, images, 1, gradients);
        QCOMPARE(value.pixels, Index{38 * 30});
        QVERIFY2(std::abs(value.mean) < 2e-2, qPrintable(QString::number(value.mean)));
        std::vector<float> turned = images.normal.toHost<float>(*bed.stream);
        for (float& n : turned)
            n = -n;
        RasterImages flipped = images;
        flipped.normal = Tensor::fromHost<float>(*bed.stream, device, images.normal.shape(),
                                                 std::span<const float>(turned));
        const DepthNormalValue opposite =
            loss.evaluate(*bed.stream, bed.camera, flipped, 1, gradients);
        QVERIFY(std::abs(opposite.mean - 2) < 2e-2);
    }

    void depthNormalAgreesWithTheFormula_data() { addDeviceRows(); }
    /// Images of two sheets, one of them cut off, so that there are holes and jumps.
    void depthNormalAgreesWithTheFormula()
    {
        QFETCH(int, device);
        const auto on = deviceOrSkip(device);
        if (!on)
            return;
        GaussianCloud cloud = sheetCloud(24);
        for (std::size_t i = 0; i < 150; ++i)
            cloud.position[3 * i + 2] -= 0.8F;
        for (std::size_t i = 400; i < 500; ++i)
            cloud.opacity[i] = -9;
        Bed bed(on, cloud, 1, 1);
        RasterSettings raster;
        raster.geometry = true;
        const RasterImages& images =
            bed.rasteriser.render(*bed.stream, bed.gaussians, bed.camera, raster);
        DepthNormalLoss loss;
        RasterImageGradients gradients;
        const DepthNormalValue value = loss.evaluate(*bed.stream, bed.camera, images, 3, gradients);
        const ImageFormula want(*bed.stream, bed.camera, images, 3);
        QVERIFY(want.pixels > 500 && want.pixels < 38 * 30 - 50);
        QCOMPARE(value.pixels, want.pixels);
        QVERIFY(std::abs(value.mean - want.mean) < 1e-4);
        const auto agrees = [&](const Tensor& got, const Numbers& expected) {
            double largest = 0;
            for (const double g : expected)
                largest = std::max(largest, std::abs(g));
            return largest > 0
                       ? difference(got.toHost<float>(*bed.stream), expected, 2e-3 * largest, 2e-3)
                       : std::string("no gradient at all");
        };
        VERGENCE_AGREES(agrees(gradients.depth, want.gradDepth));
        VERGENCE_AGREES(agrees(gradients.coverage, want.gradCoverage));
        VERGENCE_AGREES(agrees(gradients.normal, want.gradNormal));
    }

    /// From the Gaussians to the loss and back, the coverage of the term itself being held fixed: a
    /// short way down the gradient, the loss falls as the gradient says. Other directions say less:
    /// which splats a tile leaves out changes with every step.
    void depthNormalAgreesWithDifferences()
    {
        const GaussianCloud cloud = planeCloud(20, 16, 0.15F);
        const auto device = makeCpuDevice(2);
        Bed bed(device, cloud, 1, 1);
        RasterSettings raster;
        raster.geometry = true;
        DepthNormalLoss loss;
        const auto lossOf = [&](const GaussianCloud& at, GaussianArrays* gradient) {
            const Gaussians moved = upload(*bed.stream, device, at, at.count() + 3, 0);
            const RasterImages& images =
                bed.rasteriser.render(*bed.stream, moved, bed.camera, raster, true);
            RasterImageGradients gradients;
            const DepthNormalValue value =
                loss.evaluate(*bed.stream, bed.camera, images, 1, gradients);
            if (gradient)
                bed.rasteriser.backward(*bed.stream, moved, gradients, *gradient, nullptr);
            if (value.pixels != 38 * 30)
                return HUGE_VAL;
            const auto rest = images.transmittance.toHost<float>(*bed.stream);
            double coverage = 0;
            for (std::size_t row = 1; row < 31; ++row) {
                for (std::size_t column = 1; column < 39; ++column)
                    coverage += 1 - static_cast<double>(rest[40 * row + column]);
            }
            return value.mean - coverage / (38 * 30);
        };
        const double start = lossOf(cloud, &bed.gradients);
        const Numbers gradient = bed.downloadedGradients();
        double squares = 0;
        for (const double g : gradient)
            squares += g * g;
        const double step = 0.02 * (start + 1) / squares; // 1 less is what the term can reach
        const double reached = lossOf(movedAgainst(cloud, gradient, step), nullptr);
        const double share = (start - reached) / (step * squares);
        QVERIFY2(share > 0.9 && share < 1.1, qPrintable(QString::number(share)));
    }

    /// Mean and gradients of the other term are those of the formula in double.
    void summedTermIsThatOfTheFormula()
    {
        const auto device = makeCpuDevice(2);
        Bed bed(device, planeCloud(30, 30, 0.05F), 1, 1);
        RasterSettings raster;
        raster.geometry = true;
        const RasterImages& images =
            bed.rasteriser.render(*bed.stream, bed.gaussians, bed.camera, raster);
        DepthNormalLoss loss(DepthNormalMode::Summed);
        RasterImageGradients gradients;
        const DepthNormalValue value = loss.evaluate(*bed.stream, bed.camera, images, 3, gradients);
        const Index h = bed.camera.height, w = bed.camera.width;
        QCOMPARE(value.pixels, h * w);
        const auto depth = images.depth.toHost<float>(*bed.stream),
                   normal = images.normal.toHost<float>(*bed.stream);
        const Numbers depths(depth.begin(), depth.end()), normals(normal.begin(), normal.end());
        const SummedDepthNormalTerm<double> term{
            {bed.camera.fx, bed.camera.fy, bed.camera.cx, bed.camera.cy},
            {depths.data(), h, w},
            {normals.data(), Index{3}, h, w}};
        double mean = 0;
        Numbers gradNormal(normals.size(), 0.0);
        for (Index i = 0; i < h * w; ++i) {
            DepthNormalGradient<double> gradient;
            mean += term.evaluate(i / w, i % w, gradient) / static_cast<double>(h * w);
            for (Index k = 0; k < 3; ++k)
                gradNormal[static_cast<std::size_t>(k * h * w + i)] =
                    3 * gradient.normal[k] / static_cast<double>(h * w);
        }
        QVERIFY2(std::abs(value.mean - mean) < 1e-4 * mean, qPrintable(QString::number(mean)));
        const auto found = gradients.normal.toHost<float>(*bed.stream);
        double worst = 0, largest = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            largest = std::max(largest, std::abs(gradNormal[i]));
            worst = std::max(worst, std::abs(static_cast<double>(found[i]) - gradNormal[i]));
        }
        QVERIFY2(largest > 0 && worst < 1e-3 * largest, qPrintable(QString::number(worst)));
        for (const float zero : gradients.coverage.toHost<float>(*bed.stream))
            QCOMPARE(zero, 0.0F);
    }
};

VERGENCE_TEST(SugarAlignmentDepthTest)
#include "tst_sugar_alignment_depth.moc"
