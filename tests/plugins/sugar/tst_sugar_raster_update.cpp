#include <algorithm>

#include <QTest>

#include "tests/plugins/sugar/raster_bench.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

/// What a pass leaves behind: statistics, moments and parameters.
class SugarRasterUpdateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void statisticsSumGradientsOfTheScreen();
    void fusedAdamEqualsGradientsAndAdam_data();
    void fusedAdamEqualsGradientsAndAdam();
    void rowsThatAreNotFiniteAreLeft();
    void stoppedPassLeavesTheGaussians();
    void steadyStateAllocatesNothing();
};

void SugarRasterUpdateTest::statisticsSumGradientsOfTheScreen()
{
    const Camera camera = oddCamera();
    const GaussianCloud cloud = cloudOf(randomGaussians(40, 1, 9));
    RasterBench bench(makeCpuDevice(), cloud);
    const Images weights = lossWeights(camera, 5, false);
    DensityStatistics statistics = bench.statistics();
    GaussianArrays gradients = bench.zeros();
    bench.render(camera, {});
    bench.raster.backward(*bench.stream, bench.gaussians, bench.upload3(camera, weights, false),
                          gradients, &statistics);
    const auto once = bench.doubles(statistics.gradient), seen = bench.doubles(statistics.visible),
               absolute = bench.doubles(statistics.absoluteGradient),
               radius = bench.doubles(statistics.radius);
    // Moving the picture's centre moves all splats: the gradients of the screen are those of cx, cy
    // of single Gaussians, found by differences of pictures that hold one Gaussian's own centre.
    const auto visible = bench.raster.visible().toHost<std::uint8_t>(*bench.stream);
    const Raster reference(parametersOf(cloud), referenceOf(camera, {}));
    for (std::size_t i = 0; i < once.size(); ++i) {
        QCOMPARE(seen[i], visible[i] ? 1.0 : 0.0);
        QVERIFY(absolute[i] >= once[i] * (1 - 1e-4));
        const Projection<double>& p = reference.splats()[i].projection;
        const double tau = std::log(255 * p.opacity);
        const double want = std::sqrt(2 * tau * std::max(p.a, p.c));
        QVERIFY(!visible[i] || std::abs(radius[i] - want) < 1e-3 * want);
    }
    // One Gaussian alone: all of its gradient with respect to cx is that of its u.
    const auto first =
        static_cast<std::size_t>(std::max_element(once.begin(), once.end()) - once.begin());
    Parameters one = parametersOf(cloud), alone;
    alone.degree = 1;
    for (std::size_t k = 0; k < 3; ++k) {
        alone.position.push_back(one.position[3 * first + k]);
        alone.logScale.push_back(one.logScale[3 * first + k]);
    }
    for (std::size_t k = 0; k < 4; ++k)
        alone.rotation.push_back(one.rotation[4 * first + k]);
    alone.opacity.push_back(one.opacity[first]);
    alone.sh.assign(one.sh.begin() + static_cast<std::ptrdiff_t>(12 * first),
                    one.sh.begin() + static_cast<std::ptrdiff_t>(12 * first + 12));
    RasterBench single(makeCpuDevice(), cloudOf(alone));
    DensityStatistics own = single.statistics();
    GaussianArrays ownGradients = single.zeros();
    single.render(camera, {});
    for (int turn = 0; turn < 2; ++turn) // sums over steps
        single.raster.backward(*single.stream, single.gaussians,
                               single.upload3(camera, weights, false), ownGradients, &own);
    ReferenceSettings smooth = referenceOf(camera, {});
    smooth.isSmooth = true; // what lies below the cut moves the derivative by less than 2 %
    const auto slope = [&](double& centre) {
        const double kept = centre;
        centre = kept + 1e-5;
        const double above = lossOf(Raster(alone, smooth).render(), weights);
        centre = kept - 1e-5;
        const double below = lossOf(Raster(alone, smooth).render(), weights);
        centre = kept;
        return (above - below) / 2e-5;
    };
    // The clamp of the Jacobian moves with the centre too, but this Gaussian is inside of it.
    const double gu = slope(smooth.camera.cx) * camera.width / 2,
                 gv = slope(smooth.camera.cy) * camera.height / 2;
    const double got = single.doubles(own.gradient)[0];
    QVERIFY2(std::abs(got - 2 * std::hypot(gu, gv)) < 0.03 * got,
             qPrintable(QString("%1 instead of %2").arg(got).arg(2 * std::hypot(gu, gv))));
}

void SugarRasterUpdateTest::fusedAdamEqualsGradientsAndAdam_data()
{
    QTest::addColumn<bool>("sparse");
    QTest::addColumn<bool>("extra");
    QTest::newRow("dense") << false << false;
    QTest::newRow("sparse") << true << false;
    QTest::newRow("dense with regularisers") << false << true;
}

void SugarRasterUpdateTest::fusedAdamEqualsGradientsAndAdam()
{
    QFETCH(bool, sparse);
    QFETCH(bool, extra);
    const Camera camera = oddCamera();
    Parameters start = randomGaussians(150, 2, 77);
    start.position[5] = -60; // one that is never seen
    start.opacity[7] = 11.99;
    start.logScale[30] = -19.99;
    RasterBench bench(makeCpuDevice(), cloudOf(start));
    GaussianArrays m = bench.zeros(), v = bench.zeros(), gradients = bench.zeros(),
                   regulariser = bench.zeros();
    for (const Tensor& group : regulariser.groups()) {
        auto* values = static_cast<float*>(group.data());
        for (Index i = 0; i < group.size(); ++i)
            values[i] = 0.01F * static_cast<float>(i % 7 - 3);
    }
    AdamStep adam;
    adam.learningRate = {1e-3F, 5e-3F, 1e-3F, 5e-2F, 2.5e-3F, 1.25e-4F};
    adam.sparse = sparse;
    Parameters value = parametersOf(cloudOf(start)), first, second;
    for (adam.step = 1; adam.step <= 3; ++adam.step) {
        const Images weights = lossWeights(camera, static_cast<unsigned>(adam.step), false);
        const RasterImageGradients image = bench.upload3(camera, weights, false);
        bench.render(camera, {});
        bench.raster.backward(*bench.stream, bench.gaussians, image, gradients, nullptr);
        Parameters g = bench.host(gradients), e = bench.host(regulariser);
        const auto visible = bench.raster.visible().toHost<std::uint8_t>(*bench.stream);
        const Index skipped =
            bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians, image,
                                           extra ? &regulariser : nullptr, m, v, adam, nullptr);
        QCOMPARE(skipped, Index{0});
        if (adam.step == 1) {
            first = second = value;
            for (std::size_t k = 0; k < 5; ++k) {
                std::fill(first.groups()[k]->begin(), first.groups()[k]->end(), 0.0);
                std::fill(second.groups()[k]->begin(), second.groups()[k]->end(), 0.0);
            }
        }
        const double t = static_cast<double>(adam.step), c1 = 1 - std::pow(0.9, t),
                     c2 = 1 - std::pow(0.999, t);
        Parameters now = parametersOf(download(*bench.stream, bench.gaussians));
        for (std::size_t k = 0; k < 5; ++k) {
            auto& p = *value.groups()[k];
            const std::size_t width = p.size() / value.count();
            for (std::size_t i = 0; i < p.size(); ++i) {
                if (sparse && !visible[i / width])
                    continue;
                const bool isDc = k == 4 && i % width < 3;
                const double rate = static_cast<double>(adam.learningRate[k == 4 && !isDc ? 5 : k]);
                const double grad = (*g.groups()[k])[i] + (extra ? (*e.groups()[k])[i] : 0);
                double &m1 = (*first.groups()[k])[i], &m2 = (*second.groups()[k])[i];
                m1 = 0.9 * m1 + 0.1 * grad;
                m2 = 0.999 * m2 + 0.001 * grad * grad;
                // A gradient of exactly 0 moves nothing; others by the rate at most or so.
                p[i] -= rate * (m1 / c1) / (std::sqrt(m2 / c2) + 1e-15);
                if (k == 1)
                    p[i] = std::max(p[i], -20.0);
                if (k == 3)
                    p[i] = std::clamp(p[i], -12.0, 12.0);
                QVERIFY2(std::abs((*now.groups()[k])[i] - p[i]) <
                             2e-3 * rate + 3e-7 * std::abs(p[i]),
                         qPrintable(QString("step %1 group %2 entry %3: %4 instead of %5")
                                        .arg(adam.step)
                                        .arg(k)
                                        .arg(i)
                                        .arg((*now.groups()[k])[i])
                                        .arg(p[i])));
                p[i] = (*now.groups()[k])[i]; // differences must not add up
            }
        }
    }
}

void SugarRasterUpdateTest::rowsThatAreNotFiniteAreLeft()
{
    const Camera camera = oddCamera();
    const Parameters start = randomGaussians(100, 1, 5);
    RasterBench bench(makeCpuDevice(), cloudOf(start));
    GaussianArrays m = bench.zeros(), v = bench.zeros(), extra = bench.zeros();
    static_cast<float*>(extra.rotation.data())[4 * 66 + 2] = HUGE_VALF;
    static_cast<float*>(extra.opacity.data())[12] = NAN;
    AdamStep adam;
    adam.learningRate.fill(0.01F);
    bench.render(camera, {});
    const Images weights = lossWeights(camera, 1, false);
    QCOMPARE(bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians,
                                            bench.upload3(camera, weights, false), &extra, m, v,
                                            adam, nullptr),
             Index{2});
    const Parameters before = parametersOf(cloudOf(start)),
                     after = parametersOf(download(*bench.stream, bench.gaussians));
    QCOMPARE(after.position[3 * 66], before.position[3 * 66]);
    QCOMPARE(after.sh[12 * 12 + 5], before.sh[12 * 12 + 5]);
    QCOMPARE(bench.doubles(m.opacity)[12], 0.0);
    QVERIFY(after.opacity != before.opacity);
}

void SugarRasterUpdateTest::stoppedPassLeavesTheGaussians()
{
    const Camera camera = oddCamera();
    const GaussianCloud cloud = cloudOf(randomGaussians(100, 1, 5));
    RasterBench bench(makeCpuDevice(), cloud);
    GaussianArrays m = bench.zeros(), v = bench.zeros();
    const RasterImageGradients image = bench.upload3(camera, lossWeights(camera, 1, false), false);
    AdamStep adam;
    adam.learningRate.fill(0.01F);
    for (int allowed = 0; allowed < 4; ++allowed) {
        int calls = 0;
        bench.raster.setStop([&] { return calls++ >= allowed; });
        bench.raster.render(*bench.stream, bench.gaussians, camera, {}, true);
        bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians, image, nullptr, m, v, adam,
                                       nullptr);
        QVERIFY(calls > allowed);
        QVERIFY(download(*bench.stream, bench.gaussians).position == cloud.position);
    }
    bench.raster.setStop({});
    bench.render(camera, {});
    bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians, image, nullptr, m, v, adam,
                                   nullptr);
    QVERIFY(download(*bench.stream, bench.gaussians).position != cloud.position);
}

void SugarRasterUpdateTest::steadyStateAllocatesNothing()
{
    const Camera camera = oddCamera();
    RasterBench bench(makeCpuDevice(), cloudOf(randomGaussians(500, 1, 5)));
    GaussianArrays m = bench.zeros(), v = bench.zeros();
    const RasterImageGradients image = bench.upload3(camera, lossWeights(camera, 1, false), false);
    AdamStep adam;
    std::size_t used = 0, own = 0;
    for (adam.step = 1; adam.step < 4; ++adam.step) {
        bench.raster.render(*bench.stream, bench.gaussians, camera, {}, true);
        bench.raster.backwardAndUpdate(*bench.stream, bench.gaussians, image, nullptr, m, v, adam,
                                       nullptr);
        if (adam.step > 1) {
            QCOMPARE(bench.device->memory().usedByUs, used);
            QCOMPARE(bench.raster.allocatedBytes(), own);
        }
        used = bench.device->memory().usedByUs;
        own = bench.raster.allocatedBytes();
    }
    QVERIFY(own > 0);
}

VERGENCE_TEST(SugarRasterUpdateTest)
#include "tst_sugar_raster_update.moc"
