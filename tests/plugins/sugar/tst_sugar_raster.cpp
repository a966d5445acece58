#include <algorithm>

#include <QTest>

#include "plugins/sugar/compute/rasteriser.h"
#include "plugins/sugar/compute/tile_math.h"
#include "tests/plugins/sugar/golden_case.h"
#include "tests/plugins/sugar/raster_bench.h"
#include "tests/support/device_table.h"
#include "tests/support/environment.h"
#include "tests/support/golden.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

double largestOf(const std::vector<double>& values)
{
    double largest = 0;
    for (const double value : values)
        largest = std::max(largest, std::abs(value));
    return largest;
}

/// Compares images away from thresholds, where rounding decides whether a sample counts. Returns
/// the share of pixels that were left out.
double compareImages(const Images& got, const Images& want, double tolerance)
{
    const std::size_t pixels = want.transmittance.size();
    std::size_t left = 0;
    const auto worse = [&](double a, double b, double scale) {
        return !(std::abs(a - b) <= tolerance * std::max(1.0, scale));
    };
    for (std::size_t p = 0; p < pixels; ++p) {
        if (want.margin[p] < 2e-4) {
            ++left;
            continue;
        }
        bool bad = worse(got.transmittance[p], want.transmittance[p], 1);
        for (std::size_t c = 0; c < 3; ++c) {
            bad = bad || worse(got.colour[c * pixels + p], want.colour[c * pixels + p], 1);
            bad = bad || (!got.normal.empty() &&
                          worse(got.normal[c * pixels + p], want.normal[c * pixels + p], 1));
        }
        bad = bad || (!got.depth.empty() && worse(got.depth[p], want.depth[p], want.depth[p]));
        bad = bad || got.contributors[p] != want.contributors[p];
        if (bad) {
            qWarning(
                "pixel %zu: T %.8g instead of %.8g, red %.8g instead of %.8g, %d instead of %d", p,
                got.transmittance[p], want.transmittance[p], got.colour[p], want.colour[p],
                got.contributors[p], want.contributors[p]);
            return 1;
        }
    }
    return static_cast<double>(left) / static_cast<double>(pixels);
}

struct RasterCase {
    QString name;
    int count, degree, width, height;
    bool mip, filtered, geometry;
    double size = 0.12;
};

std::vector<RasterCase> rasterCases()
{
    return {{"none", 0, 3, 40, 28, false, false, true},
            {"one", 1, 3, 40, 28, false, false, true},
            {"classic", 60, 3, 40, 28, false, false, true},
            {"colour alone", 60, 3, 40, 28, false, false, false},
            {"degree 0", 33, 0, 33, 17, false, false, true},
            {"degree 1", 17, 1, 16, 16, false, false, true},
            {"degree 2", 64, 2, 31, 47, false, false, true},
            {"mip 2D", 257, 3, 64, 48, true, false, true},
            {"mip 2D and 3D", 100, 3, 50, 30, true, true, true},
            {"smaller than a tile", 20, 3, 5, 3, false, false, true},
            {"one pixel", 20, 3, 1, 1, false, false, true},
            {"huge splats", 12, 3, 70, 50, false, false, true, 3.0},
            {"more rows of tiles than a warp has threads", 12, 0, 40, 560, false, false, true, 3.0},
            {"tiny splats", 2000, 1, 70, 50, true, false, true, 0.004},
            {"dense", 3000, 3, 48, 40, false, false, true, 0.1}};
}

GaussianCloud cloudFor(const RasterCase& c)
{
    Parameters p = randomGaussians(c.count, c.degree, 100 + static_cast<unsigned>(c.count), c.size);
    for (int i = 0; c.filtered && i < c.count; ++i)
        p.filter.push_back(0.02 + 0.0005 * i);
    return cloudOf(p);
}

RasterSettings settingsFor(const RasterCase& c)
{
    RasterSettings settings;
    settings.mip = c.mip;
    settings.geometry = c.geometry;
    settings.background = {0.2F, 0.5F, 0.9F};
    return settings;
}

} // namespace

class SugarRasterTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void agreesWithTheReference_data();
    void agreesWithTheReference();
    void goldenCaseIsReproduced_data() { addDeviceRows(); }
    void goldenCaseIsReproduced();
    void everythingCulledLeavesTheBackground_data() { addDeviceRows(); }
    void everythingCulledLeavesTheBackground();
    void shiftByATileChangesNothing();
    void spansOfTilesMissNothing();
    void threadsDoNotChangeABit();
    void instructionSetsAgree();
    void threeSigmaCutsAtTiles();
    void wrongInputIsRefused();
    void filterFollowsTheClosestCamera_data() { addDeviceRows(); }
    void filterFollowsTheClosestCamera();
};

void SugarRasterTest::agreesWithTheReference_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<int>("index");
    const std::vector<RasterCase> cases = rasterCases();
    forEachDevice([&](const std::string& name, int device) {
        const bool isThere = static_cast<std::size_t>(device) < devices().devices.size();
        for (int i = 0; i < (isThere ? static_cast<int>(cases.size()) : 1); ++i)
            QTest::addRow("%s, %s", name.c_str(),
                          qPrintable(cases[static_cast<std::size_t>(i)].name))
                << device << i;
    });
}

void SugarRasterTest::agreesWithTheReference()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(int, index);
    const RasterCase c = rasterCases()[static_cast<std::size_t>(index)];
    const Camera camera = oddCamera(c.width, c.height);
    const RasterSettings settings = settingsFor(c);
    const GaussianCloud cloud = cloudFor(c);
    RasterBench bench(device, cloud, c.count + 7);
    const Images got = bench.render(camera, settings);

    const Raster reference(parametersOf(cloud), referenceOf(camera, settings));
    const Images want = reference.render();
    const double left = compareImages(got, want, 2e-5);
    qInfo("%.2f %% of the pixels are at a threshold", 100 * left);
    QVERIFY(left < 0.01); // within 2e-4 of a threshold; hundreds of samples a pixel when dense
    const Images weights = lossWeights(camera, 5, c.geometry);
    // Pixels at a threshold may blend other Gaussians: they get no weight.
    Images fair = weights;
    const std::size_t pixels = want.transmittance.size();
    for (std::size_t p = 0; p < pixels; ++p) {
        if (want.margin[p] >= 2e-4)
            continue;
        fair.transmittance[p] = fair.depth[p] = 0;
        for (std::size_t k = 0; k < 3; ++k)
            fair.colour[k * pixels + p] = fair.normal[k * pixels + p] = 0;
    }
    GaussianArrays gradients = bench.zeros();
    bench.raster.backward(*bench.stream, bench.gaussians, bench.upload3(camera, fair, c.geometry),
                          gradients, nullptr);
    Parameters gotGradient = bench.host(gradients);
    Parameters wantGradient = reference.backward(want, fair);
    for (std::size_t group = 0; group < 5; ++group) {
        const auto& wanted = *wantGradient.groups()[group];
        VERGENCE_AGREES(difference(*gotGradient.groups()[group], wanted,
                                   2e-4 * std::max(1e-3, largestOf(wanted)), 0));
    }
}

/// The tiles themselves against the established implementation (classic filter; the other case has
/// a blur that only the reference offers).
void SugarRasterTest::goldenCaseIsReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    VERGENCE_GOLDEN_FOLDER(folder, "gaussian_classic");
    GoldenCase golden = goldenCase(folder, false);
    const Camera& camera = golden.settings.camera;
    RasterSettings settings;
    settings.geometry = true;
    settings.near = static_cast<float>(golden.settings.near);
    for (std::size_t k = 0; k < 3; ++k)
        settings.background[k] = static_cast<float>(golden.settings.background[k]);
    RasterBench bench(device, cloudOf(golden.gaussians));
    Images got = bench.render(camera, settings);
    got.normal.clear(); // not in the golden file
    golden.images.margin = Raster(golden.gaussians, golden.settings).render().margin;
    const double left = compareImages(got, golden.images, 1e-5);
    qInfo("%.2f %% of the pixels are at a threshold", 100 * left);
    QVERIFY(left < 0.01);
    GaussianArrays gradients = bench.zeros();
    bench.raster.backward(*bench.stream, bench.gaussians,
                          bench.upload3(camera, golden.weights, true), gradients, nullptr);
    Parameters gradient = bench.host(gradients);
    for (std::size_t group = 0; group < 5; ++group)
        VERGENCE_AGREES(difference(*gradient.groups()[group], golden.gradients[group],
                                   1e-3 * largestOf(golden.gradients[group]), 0));
}

void SugarRasterTest::everythingCulledLeavesTheBackground()
{
    VERGENCE_ROW_DEVICE(device);
    Parameters p = randomGaussians(50, 3, 4);
    for (std::size_t i = 0; i < p.count(); ++i) {
        p.position[3 * i + 2] = i < 20 ? -50.0 : p.position[3 * i + 2]; // behind
        if (i >= 20 && i < 40)
            p.opacity[i] = -12; // invisible
        else if (i >= 40 && i < 45)
            std::fill_n(p.rotation.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, 0.0);
        else if (i >= 45)
            p.position[3 * i] = std::numeric_limits<double>::quiet_NaN();
    }
    const Camera camera = oddCamera();
    RasterSettings settings;
    settings.geometry = true;
    settings.background = {0.25F, 0.5F, 0.75F};
    RasterBench bench(device, cloudOf(p));
    const Images images = bench.render(camera, settings);
    const std::size_t pixels = images.transmittance.size();
    for (std::size_t i = 0; i < pixels; ++i) {
        QCOMPARE(images.transmittance[i], 1.0);
        QCOMPARE(images.colour[i], 0.25);
        QCOMPARE(images.colour[2 * pixels + i], 0.75);
        QCOMPARE(images.depth[i], 0.0);
    }
    QCOMPARE(bench.raster.counts().visible, Index{0});
    GaussianArrays gradients = bench.zeros();
    const Images weights = lossWeights(camera, 5);
    bench.stream->fillBytes(gradients.position.data(), 0x41, gradients.position.bytes());
    bench.raster.backward(*bench.stream, bench.gaussians, bench.upload3(camera, weights, true),
                          gradients, nullptr);
    Parameters host = bench.host(gradients);
    for (const std::vector<double>* group : host.groups())
        QCOMPARE(largestOf(*group), 0.0);
}

void SugarRasterTest::shiftByATileChangesNothing() // 17.4
{
    const auto device = makeCpuDevice(1);
    Parameters p;
    add(p, {0, 0, 5}, {0.2, 0.05, 0.1}, {0.9, 0.1, -0.3, 0.2}, 0.9, {1, 0.5, 0.25});
    RasterBench bench(device, cloudOf(p));
    Camera camera = plainCamera();
    const Images here = bench.render(camera, {});
    camera.cx += 16;
    camera.cy += 16;
    const Images there = bench.render(camera, {});
    for (std::size_t row = 0; row < 48; ++row) {
        for (std::size_t column = 0; column < 48; ++column)
            QVERIFY(std::abs(here.transmittance[row * 64 + column] -
                             there.transmittance[(row + 16) * 64 + column + 16]) < 2e-6);
    }
}

void SugarRasterTest::spansOfTilesMissNothing() // 17.4
{
    std::mt19937 random(17);
    std::uniform_real_distribution<double> unit(0, 1);
    constexpr int kTiles = 12;
    int hits = 0, misses = 0, falseHits = 0;
    for (int turn = 0; turn < 400; ++turn) {
        const double longer = 1 + 2500 * std::pow(unit(random), 4), angle = 3.1416 * unit(random);
        const double shorter = 0.3 + (longer - 0.3) * std::pow(unit(random), 3);
        const double co = std::cos(angle), si = std::sin(angle);
        const double a = longer * co * co + shorter * si * si, b = (longer - shorter) * co * si,
                     c = longer * si * si + shorter * co * co, det = a * c - b * b;
        const double u = 16 * kTiles * unit(random), v = 16 * kTiles * unit(random);
        const double tau = std::log(255 * (0.01 + 0.98 * unit(random)));
        constexpr double kHalfLog2e = 0.72134752044448170;
        Splat splat{};
        splat.u = static_cast<float>(u);
        splat.v = static_cast<float>(v);
        splat.level = static_cast<float>(2 * kHalfLog2e * tau) + kLevelCut;
        splat.slope = static_cast<float>(-b / c);
        splat.row = static_cast<float>(kHalfLog2e / c);
        splat.column = static_cast<float>(det / (c * kHalfLog2e));
        const auto tileAt = [&](double x, double up) {
            const double tile = up ? std::ceil(x / 16) : std::floor(x / 16);
            return static_cast<std::uint16_t>(std::clamp(tile, 0.0, double(kTiles)));
        };
        const double rx = std::sqrt(2 * tau * a), ry = std::sqrt(2 * tau * c);
        const TileBox box{tileAt(u - rx, 0), tileAt(u + rx, 1), tileAt(v - ry, 0),
                          tileAt(v + ry, 1)};
        for (int tile = 0; tile < kTiles * kTiles; ++tile) {
            const int x0 = 16 * (tile % kTiles), y0 = 16 * (tile / kTiles);
            double least = HUGE_VAL;
            for (int pixel = 0; pixel < 256; ++pixel) {
                const double dx = u - (x0 + pixel % 16 + 0.5), dy = v - (y0 + pixel / 16 + 0.5);
                least = std::min(least, (0.5 * (c * dx * dx + a * dy * dy) - b * dx * dy) / det);
            }
            bool isListed = false;
            if (tile / kTiles >= box.y0 && tile / kTiles < box.y1) {
                const TileSpan span = tileSpan(splat, box, tile / kTiles);
                isListed = tile % kTiles >= span.first && tile % kTiles < span.last;
            }
            hits += least <= tau ? 1 : 0;
            misses += least <= tau && !isListed ? 1 : 0;
            falseHits += least > tau && isListed ? 1 : 0;
        }
    }
    qInfo("%d hits, %d false ones", hits, falseHits);
    QVERIFY(hits > 3000);
    QCOMPARE(misses, 0);
    // Between pixel centres an ellipse may pass unseen: the test is that of the rectangle of the
    // centres, as in the specification, which found 5 in 8,016 for its ellipses; boxes one tile
    // wide are taken whole.
    QVERIFY(falseHits * 100 < hits);
}

void SugarRasterTest::threadsDoNotChangeABit() // 17.21
{
    const Camera camera = oddCamera(266, 174);
    RasterSettings settings;
    settings.geometry = true;
    const GaussianCloud cloud = cloudOf(randomGaussians(9000, 3, 21, 0.05));
    std::vector<std::vector<std::vector<double>>> results;
    for (const int threads : {1, 2, 5}) {
        RasterBench bench(makeCpuDevice(threads), cloud);
        Images images = bench.render(camera, settings);
        GaussianArrays gradients = bench.zeros();
        DensityStatistics statistics = bench.statistics();
        bench.raster.backward(*bench.stream, bench.gaussians,
                              bench.upload3(camera, lossWeights(camera, 5), true), gradients,
                              &statistics);
        std::vector<std::vector<double>> all{images.colour, images.depth, images.normal,
                                             bench.doubles(statistics.gradient),
                                             bench.doubles(statistics.absoluteGradient)};
        Parameters host = bench.host(gradients);
        for (const std::vector<double>* group : host.groups())
            all.push_back(*group);
        results.push_back(all);
    }
    QVERIFY(largestOf(results[0][5]) > 0);
    QVERIFY(results[0] == results[1]);
    QVERIFY(results[0] == results[2]);
}

void SugarRasterTest::instructionSetsAgree()
{
    const RasterCase c{"", 300, 3, 70, 50, true, true, true};
    const Camera camera = oddCamera(c.width, c.height);
    const GaussianCloud cloud = cloudFor(c);
    const Raster reference(parametersOf(cloud), referenceOf(camera, settingsFor(c)));
    const Images want = reference.render();
    for (const char* isa : instructionSets()) {
        const ScopedVariable chosen("VERGENCE_ISA", isa);
        RasterBench bench(makeCpuDevice(1), cloud);
        const Images got = bench.render(camera, settingsFor(c));
        QVERIFY(compareImages(got, want, 2e-5) < 0.01);
        const Images weights = lossWeights(camera, 5);
        GaussianArrays gradients = bench.zeros();
        bench.raster.backward(*bench.stream, bench.gaussians, bench.upload3(camera, weights, true),
                              gradients, nullptr);
        // All pixels count here, so a few samples at thresholds move the gradients.
        Parameters gotGradient = bench.host(gradients),
                   wantGradient = reference.backward(want, weights);
        for (std::size_t group = 0; group < 5; ++group) {
            const auto& wanted = *wantGradient.groups()[group];
            VERGENCE_AGREES(
                difference(*gotGradient.groups()[group], wanted, 5e-3 * largestOf(wanted), 0));
        }
    }
}

void SugarRasterTest::threeSigmaCutsAtTiles()
{
    // σ of 2.6 px: visible up to 8.6 px from its centre in the middle of a tile, 3 σ end with it.
    Parameters p;
    add(p, {-0.4, -0.4, 5}, {0.126, 0.126, 0.126}, {1, 0, 0, 0}, 0.99, {1, 1, 1});
    RasterBench bench(makeCpuDevice(), cloudOf(p));
    const Camera camera = plainCamera();
    RasterSettings settings;
    const Images exact = bench.render(camera, settings);
    settings.threeSigma = true;
    const Images cut = bench.render(camera, settings);
    QCOMPARE(bench.raster.counts().instances, Index{1});
    int lost = 0;
    for (std::size_t i = 0; i < exact.transmittance.size(); ++i) {
        const bool isInTile = i % 64 / 16 == 1 && i / 64 / 16 == 1;
        QCOMPARE(cut.transmittance[i], isInTile ? exact.transmittance[i] : 1.0);
        lost += !isInTile && exact.transmittance[i] < 1;
    }
    QVERIFY(lost > 0);
    // A needle's square is that of its long axis: nothing is lost along the short one.
    Parameters needle;
    add(needle, {-0.4, -0.4, 5}, {0.4, 0.02, 0.02}, {1, 0, 0, 0}, 0.5, {1, 1, 1});
    RasterBench other(makeCpuDevice(), cloudOf(needle));
    const Images whole = other.render(camera, {});
    QVERIFY(other.render(camera, settings).transmittance == whole.transmittance);
}

void SugarRasterTest::wrongInputIsRefused()
{
    Camera camera = oddCamera();
    RasterBench bench(makeCpuDevice(), cloudOf(randomGaussians(5, 1, 5)));
    GaussianArrays gradients = bench.zeros();
    const RasterImageGradients image = bench.upload3(camera, lossWeights(camera, 1), true);
    QVERIFY_THROWS_EXCEPTION(ContractError, bench.raster.backward(*bench.stream, bench.gaussians,
                                                                  image, gradients, nullptr));
    bench.render(camera, {});
    // Rendered without geometry.
    QVERIFY_THROWS_EXCEPTION(ContractError, bench.raster.backward(*bench.stream, bench.gaussians,
                                                                  image, gradients, nullptr));
    camera.width = 0;
    QVERIFY_THROWS_EXCEPTION(ContractError, bench.render(camera, {}));
}

void SugarRasterTest::filterFollowsTheClosestCamera() // 17.15
{
    VERGENCE_ROW_DEVICE(device);
    // Camera 0 looks along z from the origin, camera 1 with twice the focal length from z = 2.
    Camera near = plainCamera(), far = plainCamera();
    far.fx = 200;
    far.fy = 150;
    far.translation[2] = -2;
    const std::vector<double> scale{0.1, 0.1, 0.1}, turn{1, 0, 0, 0}, colour{1, 1, 1};
    Parameters p;
    add(p, {0, 0, 5}, scale, turn, 0.5, colour);     // 5/100 and 3/200
    add(p, {0, 0, 1}, scale, turn, 0.5, colour);     // 1/100, behind the other
    add(p, {-1.85, 0, 5}, scale, turn, 0.5, colour); // in the margin of camera 0 alone
    add(p, {-2.2, 0, 5}, scale, turn, 0.5, colour);  // seen by none
    add(p, {0, 0, 0.1}, scale, turn, 0.5, colour);   // too near
    p.filter.assign(5, 7.0);
    RasterBench bench(device, cloudOf(p));
    updateFilter(*bench.stream, bench.gaussians, {near, far}, 0.2F);
    const double s = std::sqrt(0.2);
    const std::vector<double> want{s * 3 / 200, s / 100, s * 5 / 100, s * 5 / 100, s * 5 / 100};
    VERGENCE_AGREES(difference(bench.doubles(bench.gaussians.filter), want, 0, 1e-6));
    updateFilter(*bench.stream, bench.gaussians, {near}, 0.2F);
    QVERIFY(std::abs(bench.doubles(bench.gaussians.filter)[0] - 0.022360680) < 1e-8);
    updateFilter(*bench.stream, bench.gaussians, {near}, 0.05F); // the last is seen now
    QVERIFY(std::abs(bench.doubles(bench.gaussians.filter)[4] - s * 0.1 / 100) < 1e-8);
    updateFilter(*bench.stream, bench.gaussians, {}, 0.2F);
    QCOMPARE(bench.doubles(bench.gaussians.filter)[0], 0.0);
}

VERGENCE_TEST(SugarRasterTest)
#include "tst_sugar_raster.moc"
