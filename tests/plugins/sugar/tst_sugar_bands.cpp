#include <algorithm>

#include <QTest>

#include "core/base/error.h"
#include "tests/plugins/sugar/raster_bench.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

struct BandCase {
    const char* name;
    int width, height;
    Index rows, halo;
    bool geometry, absolute;
    double size = 0.12;
};

const std::vector<BandCase>& bandCases()
{
    static const std::vector<BandCase> cases{{"a tile row each", 40, 100, 16, 0, true, true},
                                             {"with a halo", 50, 90, 16, 10, true, false},
                                             {"last one short", 33, 70, 48, 10, false, true},
                                             {"rounded up to tiles", 20, 64, 17, 1, false, false},
                                             {"huge splats", 60, 128, 32, 10, true, true, 3.0},
                                             {"one band holds all", 40, 28, 64, 10, true, false}};
    return cases;
}

/// Rows [top, top + rows) of planes, 0 outside of [begin, end).
std::vector<double> rowsOf(const std::vector<double>& planes, Index channels, Index width,
                           Index rows, const RasterBand& band)
{
    const Index height = static_cast<Index>(planes.size()) / (channels * width);
    std::vector<double> out(static_cast<std::size_t>(channels * rows * width), 0);
    for (Index c = 0; c < channels; ++c) {
        for (Index y = band.begin; y < band.end; ++y)
            std::copy_n(planes.begin() + (c * height + y) * width, width,
                        out.begin() + (c * rows + y - band.top) * width);
    }
    return out;
}

/// The linear loss of the whole picture, a band at a time.
class LinearLoss {
public:
    LinearLoss(RasterBench& bench, const Images& weights, Index width, bool geometry)
        : m_bench(bench),
          m_weights(weights),
          m_width(width),
          m_geometry(geometry)
    {
    }

    RasterImageGradients operator()(const RasterImages& images, const RasterBand& band)
    {
        const Index rows = images.transmittance.extent(0);
        const auto part = [&](const std::vector<double>& planes, Index channels) {
            Shape shape{rows, m_width};
            if (channels > 1)
                shape = {channels, rows, m_width};
            return m_bench.tensor(rowsOf(planes, channels, m_width, rows, band), shape);
        };
        RasterImageGradients out;
        out.colour = part(m_weights.colour, 3);
        out.coverage = part(m_weights.transmittance, 1);
        if (m_geometry) {
            out.depth = part(m_weights.depth, 1);
            out.normal = part(m_weights.normal, 3);
        }
        bands.push_back(band);
        shown.push_back(m_bench.doubles(images.colour));
        return out;
    }

    std::vector<RasterBand> bands;
    std::vector<std::vector<double>> shown; ///< colour of each band

private:
    RasterBench& m_bench;
    const Images& m_weights;
    Index m_width;
    bool m_geometry;
};

} // namespace

class SugarBandsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bandsGiveTheGradientsOfThePicture_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("index");
        forEachDevice([&](const std::string& name, int device) {
            for (int i = 0; i < static_cast<int>(bandCases().size()); ++i)
                QTest::addRow("%s, %s", name.c_str(), bandCases()[static_cast<std::size_t>(i)].name)
                    << device << i;
        });
    }
    /// 17.16: to the last bit on the CPU; elsewhere atomics leave the order of sums open.
    void bandsGiveTheGradientsOfThePicture()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, index);
        const BandCase& c = bandCases()[static_cast<std::size_t>(index)];
        const Camera camera = oddCamera(c.width, c.height);
        RasterSettings settings;
        settings.geometry = c.geometry;
        settings.background = {0.2F, 0.5F, 0.9F};
        RasterBench bench(device, cloudOf(randomGaussians(400, 2, 9, c.size)), 407);
        const Images weights = lossWeights(camera, 3, c.geometry);
        const Images whole = bench.render(camera, settings);
        GaussianArrays want = bench.zeros(), got = bench.zeros();
        DensityStatistics wantSums = bench.statistics(), gotSums = bench.statistics();
        if (!c.absolute)
            wantSums.absoluteGradient = gotSums.absoluteGradient = {};
        bench.raster.backward(*bench.stream, bench.gaussians,
                              bench.upload3(camera, weights, c.geometry), want, &wantSums);
        const RasterCounts counts = bench.raster.counts();
        const auto wasVisible = bench.raster.visible().toHost<std::uint8_t>(*bench.stream);

        LinearLoss loss(bench, weights, c.width, c.geometry);
        bench.raster.renderInBands(*bench.stream, bench.gaussians, camera, settings,
                                   {c.rows, c.halo, c.absolute}, std::ref(loss));
        bench.raster.backward(*bench.stream, bench.gaussians, {}, got, &gotSums);
        checkBands(c, loss, whole);
        QCOMPARE(bench.raster.counts().visible, counts.visible);
        QVERIFY(bench.raster.visible().toHost<std::uint8_t>(*bench.stream) == wasVisible);
        const double tolerance = device->isCpu() ? 0 : 1e-5;
        for (std::size_t group = 0; group < 6; ++group) {
            const auto a = bench.doubles(got.groups()[group]),
                       b = bench.doubles(want.groups()[group]);
            VERGENCE_AGREES(difference(a, b, tolerance, tolerance));
        }
        VERGENCE_AGREES(difference(bench.doubles(gotSums.gradient),
                                   bench.doubles(wantSums.gradient), tolerance, tolerance));
        VERGENCE_AGREES(difference(bench.doubles(gotSums.radius), bench.doubles(wantSums.radius),
                                   tolerance, tolerance));
        if (c.absolute)
            VERGENCE_AGREES(difference(bench.doubles(gotSums.absoluteGradient),
                                       bench.doubles(wantSums.absoluteGradient), tolerance,
                                       tolerance));
    }

    void updateAfterBandsIsThatOfThePicture()
    {
        const Camera camera = oddCamera(40, 90);
        const GaussianCloud cloud = cloudOf(randomGaussians(300, 1, 4));
        RasterBench whole(makeCpuDevice(), cloud), bands(makeCpuDevice(), cloud);
        const Images weights = lossWeights(camera, 3, false);
        for (RasterBench* bench : {&whole, &bands}) {
            GaussianArrays m = bench->zeros(), v = bench->zeros();
            AdamStep adam;
            adam.learningRate.fill(0.01F);
            adam.sparse = true;
            RasterImageGradients image;
            if (bench == &whole) {
                bench->render(camera, {});
                image = bench->upload3(camera, weights, false);
            } else {
                LinearLoss loss(*bench, weights, camera.width, false);
                bench->raster.renderInBands(*bench->stream, bench->gaussians, camera, {}, {32, 10},
                                            std::ref(loss));
            }
            QCOMPARE(bench->raster.backwardAndUpdate(*bench->stream, bench->gaussians, image,
                                                     nullptr, m, v, adam, nullptr),
                     Index(0));
        }
        const GaussianCloud a = download(*whole.stream, whole.gaussians),
                            b = download(*bands.stream, bands.gaussians);
        QVERIFY(a.position == b.position && a.rotation == b.rotation && a.shRest == b.shRest);
        QVERIFY(a.position != cloud.position);
    }

    void gradientThatIsNotFiniteIsFound()
    {
        const Camera camera = oddCamera(40, 64);
        RasterBench bench(makeCpuDevice(), cloudOf(randomGaussians(50, 1, 4)));
        GaussianArrays m = bench.zeros(), v = bench.zeros();
        const auto poison = [&](const RasterImages& images, const RasterBand&) {
            RasterImageGradients out;
            std::vector<double> values(static_cast<std::size_t>(images.colour.size()), 0);
            values[values.size() / 2 + 20] = std::nan(""); // green, in the middle of the band
            out.colour = bench.tensor(values, images.colour.shape());
            return out;
        };
        bench.raster.renderInBands(*bench.stream, bench.gaussians, camera, {}, {16, 0}, poison);
        QVERIFY(bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians, {}, nullptr, m, v,
                                               {}, nullptr) > 0);
    }

    void bandsHoldLess()
    {
        const Camera camera = oddCamera(320, 960);
        const GaussianCloud cloud = cloudOf(randomGaussians(1000, 0, 9));
        const auto bytesWith = [&](Index rows) {
            RasterBench bench(makeCpuDevice(), cloud);
            GaussianArrays gradients = bench.zeros();
            const auto colourOf = [&](const RasterImages& images) {
                RasterImageGradients out;
                out.colour = Tensor::zeros(*bench.stream, bench.device, images.colour.shape());
                return out;
            };
            if (rows > 0)
                bench.raster.renderInBands(*bench.stream, bench.gaussians, camera, {}, {rows, 10},
                                           [&](const RasterImages& images, const RasterBand&) {
                                               return colourOf(images);
                                           });
            RasterImageGradients image;
            if (rows == 0)
                image =
                    colourOf(bench.raster.render(*bench.stream, bench.gaussians, camera, {}, true));
            bench.raster.backward(*bench.stream, bench.gaussians, image, gradients, nullptr);
            return static_cast<double>(bench.raster.allocatedBytes());
        };
        const double whole = bytesWith(0), eighth = bytesWith(128);
        qInfo("%.1f MB at once, %.1f MB in bands of 128 rows", whole / 1e6, eighth / 1e6);
        QVERIFY(eighth < 0.4 * whole);
    }

    void stopEndsBetweenBands()
    {
        const Camera camera = oddCamera(40, 90);
        const GaussianCloud cloud = cloudOf(randomGaussians(100, 1, 5));
        RasterBench bench(makeCpuDevice(), cloud);
        GaussianArrays m = bench.zeros(), v = bench.zeros();
        const Images weights = lossWeights(camera, 1, false);
        LinearLoss loss(bench, weights, camera.width, false);
        bench.raster.setStop([&] { return !loss.bands.empty(); });
        bench.raster.renderInBands(*bench.stream, bench.gaussians, camera, {}, {16, 0},
                                   std::ref(loss));
        QCOMPARE(loss.bands.size(), std::size_t(1));
        QCOMPARE(bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians, {}, nullptr, m, v,
                                                {}, nullptr),
                 Index(0));
        QVERIFY(download(*bench.stream, bench.gaussians).position == cloud.position);
    }

    void wrongInputIsRefused()
    {
        const Camera camera = oddCamera(40, 40);
        RasterBench bench(makeCpuDevice(), cloudOf(randomGaussians(5, 1, 5)));
        GaussianArrays gradients = bench.zeros();
        const Images weights = lossWeights(camera, 1, false);
        LinearLoss loss(bench, weights, camera.width, false);
        QVERIFY_THROWS_EXCEPTION(ContractError,
                                 bench.raster.renderInBands(*bench.stream, bench.gaussians, camera,
                                                            {}, {0, 0}, std::ref(loss)));
        bench.raster.renderInBands(*bench.stream, bench.gaussians, camera, {}, {16, 0},
                                   std::ref(loss));
        const RasterImageGradients image = bench.upload3(camera, weights, false);
        QVERIFY_THROWS_EXCEPTION(
            ContractError,
            bench.raster.backward(*bench.stream, bench.gaussians, image, gradients, nullptr));
    }

private:
    /// Every row once, with its halo, and the very pixels of the picture.
    static void checkBands(const BandCase& c, const LinearLoss& loss, const Images& whole)
    {
        const Index step = (c.rows + 15) / 16 * 16;
        Index next = 0;
        for (std::size_t i = 0; i < loss.bands.size(); ++i) {
            const RasterBand& band = loss.bands[i];
            QCOMPARE(band.begin, next);
            QCOMPARE(band.end, std::min<Index>(band.begin + step, c.height));
            const Index rows = static_cast<Index>(loss.shown[i].size()) / (3 * c.width);
            QVERIFY(band.top <= std::max<Index>(0, band.begin - c.halo));
            QVERIFY(band.top + rows >= std::min<Index>(c.height, band.end + c.halo));
            for (Index k = 0; k < 3; ++k)
                QVERIFY(std::equal(loss.shown[i].begin() + k * rows * c.width,
                                   loss.shown[i].begin() + (k + 1) * rows * c.width,
                                   whole.colour.begin() + (k * c.height + band.top) * c.width));
            next = band.end;
        }
        QCOMPARE(next, static_cast<Index>(c.height));
    }
};

VERGENCE_TEST(SugarBandsTest)
#include "tst_sugar_bands.moc"
