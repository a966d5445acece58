#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/sugar/view/splat_mode.h"
#include "tests/plugins/sugar/raster_bench.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

constexpr std::size_t kMiddle = 31 * 64 + 31; ///< the pixel at (31.5, 31.5) of plainCamera()

/// Depth along a pixel's ray where the density of one Gaussian at (0, 0, 5) is largest, searched.
double densestDepth(const std::array<double, 3>& scale, double tilt, double x, double y)
{
    // The first two axes are turned by `tilt` about the y axis.
    const double c = std::cos(tilt), s = std::sin(tilt);
    const auto exponent = [&](double z) {
        const double dx = x * z, dy = y * z, dz = z - 5;
        const double u = c * dx - s * dz, w = s * dx + c * dz;
        return std::pow(u / scale[0], 2) + std::pow(dy / scale[1], 2) + std::pow(w / scale[2], 2);
    };
    double low = 0.1, high = 20;
    for (int i = 0; i < 200; ++i) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        (exponent(a) < exponent(b) ? high : low) = exponent(a) < exponent(b) ? b : a;
    }
    return (low + high) / 2;
}

std::array<double, 2> rayOf(std::size_t pixel)
{
    return {(static_cast<double>(pixel % 64) + 0.5 - 32) / 100,
            (static_cast<double>(pixel / 64) + 0.5 - 32) / 100};
}

} // namespace

class SugarDepthPictureTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void medianIsWhereHalfOfTheLightIsLeft_data() { addDeviceRows(); }
    void medianIsWhereHalfOfTheLightIsLeft()
    {
        VERGENCE_ROW_DEVICE(device);
        // Left of the light in the middle: 0.7, 0.42, 0.084, 0.04.
        Parameters p;
        double depth = 4;
        for (const double opacity : {0.3, 0.4, 0.8, 0.5})
            add(p, {0, 0, depth++}, {1, 1, 1}, {1, 0, 0, 0}, opacity, {1, 1, 1});
        RasterBench bench(device, cloudOf(p));
        bench.render(plainCamera(), {});
        const auto median =
            bench.doubles(bench.raster.depthPicture(*bench.stream, Rasteriser::Depth::Median));
        QCOMPARE(median[kMiddle], 5.0);

        Parameters faint;
        add(faint, {0, 0, 4}, {1, 1, 1}, {1, 0, 0, 0}, 0.4, {1, 1, 1});
        RasterBench other(device, cloudOf(faint));
        other.render(plainCamera(), {});
        QCOMPARE(other.doubles(
                     other.raster.depthPicture(*other.stream, Rasteriser::Depth::Median))[kMiddle],
                 0.0);
    }

    void rayDepthIsWhereTheDensityIsLargest_data() { addDeviceRows(); }
    void rayDepthIsWhereTheDensityIsLargest()
    {
        VERGENCE_ROW_DEVICE(device);
        const std::array<double, 3> scale{0.5, 0.4, 0.3};
        const double tilt = 0.4;
        Parameters p;
        add(p, {0, 0, 5}, {scale[0], scale[1], scale[2]},
            {std::cos(tilt / 2), 0, std::sin(tilt / 2), 0}, 0.8, {1, 1, 1});
        RasterBench bench(device, cloudOf(p));
        const Images images = bench.render(plainCamera(), {});
        const auto depth =
            bench.doubles(bench.raster.depthPicture(*bench.stream, Rasteriser::Depth::Ray));
        int compared = 0;
        for (std::size_t i = 0; i < depth.size(); ++i) {
            if (images.contributors[i] == 0) {
                QCOMPARE(depth[i], 0.0);
                continue;
            }
            const auto [x, y] = rayOf(i);
            QVERIFY(std::abs(depth[i] - densestDepth(scale, tilt, x, y)) < 1e-4);
            ++compared;
        }
        QVERIFY(compared > 500);
    }

    /// A flat splat has the depth of its plane, where the expected depth is that of its centre.
    void rayDepthOfAPlaneIsThePlane_data() { addDeviceRows(); }
    void rayDepthOfAPlaneIsThePlane()
    {
        VERGENCE_ROW_DEVICE(device);
        const double tilt = 0.5;
        Parameters p;
        add(p, {0, 0, 5}, {0.6, 0.6, 1e-4}, {std::cos(tilt / 2), 0, std::sin(tilt / 2), 0}, 0.9,
            {1, 1, 1});
        RasterBench bench(device, cloudOf(p));
        const Images images = bench.render(plainCamera(), {});
        const auto depth =
            bench.doubles(bench.raster.depthPicture(*bench.stream, Rasteriser::Depth::Ray));
        const double reach = 3 * 0.6 * std::sin(tilt); // three standard deviations of z
        for (std::size_t i = 0; i < depth.size(); ++i) {
            if (images.contributors[i] == 0)
                continue;
            const double x = rayOf(i)[0]; // the normal is (sin, 0, cos)
            const double plane = std::clamp(
                5 * std::cos(tilt) / (x * std::sin(tilt) + std::cos(tilt)), 5 - reach, 5 + reach);
            QVERIFY2(std::abs(depth[i] - plane) < 1e-3,
                     qPrintable(QString("%1 instead of %2").arg(depth[i]).arg(plane)));
        }
    }

    void depthsMeanTheSameForOpaqueSheets()
    {
        // A dense sheet of flat splats at z = 5, seen from the front: all depths are 5.
        Parameters p;
        for (int y = -8; y <= 8; ++y) {
            for (int x = -8; x <= 8; ++x)
                add(p, {0.2 * x, 0.2 * y, 5}, {0.15, 0.15, 1e-3}, {1, 0, 0, 0}, 0.95, {1, 1, 1});
        }
        RasterBench bench(makeCpuDevice(), cloudOf(p));
        bench.render(plainCamera(), {});
        for (const auto kind : {Rasteriser::Depth::Median, Rasteriser::Depth::Ray}) {
            for (const double z : bench.doubles(bench.raster.depthPicture(*bench.stream, kind)))
                QVERIFY(std::abs(z - 5) < 1e-4);
        }
    }

    void modesShowTheDepthTheyAskFor()
    {
        Parameters p;
        for (const double depth : {4.0, 6.0})
            add(p, {0, 0, depth}, {3, 3, 3}, {1, 0, 0, 0}, 0.6, {1, 1, 1});
        RasterBench bench(makeCpuDevice(), cloudOf(p));
        const Camera camera = plainCamera();
        for (const SplatMode mode : {SplatMode::MedianDepth, SplatMode::RayDepth}) {
            QVERIFY(!needsGeometry(mode));
            RasterImages images = bench.raster.render(*bench.stream, bench.gaussians, camera, {});
            images.depth = bench.raster.depthPicture(*bench.stream, *ownDepth(mode));
            ColourSpan span;
            const auto pixels = pixelsOf(*bench.stream, images, camera, mode, &span);
            QCOMPARE(pixels.size(), std::size_t(4 * 64 * 64));
            // The nearer one takes more than half of the light.
            if (mode == SplatMode::MedianDepth)
                QCOMPARE(span.low, 4.0);
            else
                QVERIFY(span.low > 3.5 && span.high < 5);
        }
        QVERIFY(!ownDepth(SplatMode::Depth));
        QCOMPARE(splatModeTitles().size(), static_cast<std::size_t>(SplatMode::Ellipsoids) + 1);
        QCOMPARE(splatModeTitles()[static_cast<std::size_t>(SplatMode::RayDepth)],
                 std::string("Ray depth"));
        QCOMPARE(splatModeTitles()[static_cast<std::size_t>(SplatMode::TestError)],
                 std::string("Test error"));
    }

    void pictureIsNeededFirst()
    {
        RasterBench bench(makeCpuDevice(), cloudOf(randomGaussians(3, 0, 1)));
        QVERIFY_THROWS_EXCEPTION(ContractError,
                                 bench.raster.depthPicture(*bench.stream, Rasteriser::Depth::Ray));
    }
};

VERGENCE_TEST(SugarDepthPictureTest)
#include "tst_sugar_depth_picture.moc"
