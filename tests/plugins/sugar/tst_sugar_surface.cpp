#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include <QTest>

#include <tbb/global_control.h>

#include "core/base/error.h"
#include "core/compute/device.h"
#include "plugins/sugar/compute/alignment/density_field_math.h"
#include "plugins/sugar/surface/level_crossing.h"
#include "plugins/sugar/surface/scene_box.h"
#include "plugins/sugar/surface/surface_points.h"
#include "tests/plugins/sugar/surface_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

constexpr int kNeighbours = 16;
const double kTable[2][3] = {{.03834, .03146, .02778}, {.01631, .01352, .01200}};

/// Gaussians on a sphere, and what extraction needs of them.
struct SphereScene {
    std::shared_ptr<Device> device = makeCpuDevice();
    std::unique_ptr<Stream> stream = device->createStream();
    GaussianCloud cloud;
    Gaussians gaussians;
    NeighbourTable neighbours;

    explicit SphereScene(int count)
        : cloud(sphereCloud(count)),
          gaussians(upload(*stream, device, cloud, count, 0)),
          neighbours(nearestNeighbours(cloud.position, kNeighbours))
    {
    }
    SurfaceExtractor extractor(SurfaceSettings settings, const std::vector<Camera>& cameras)
    {
        return SurfaceExtractor(*stream, gaussians, {.shDegree = 0}, neighbours,
                                std::move(settings), cameras);
    }
    SurfacePoints points(SurfaceSettings settings, const std::vector<Camera>& cameras)
    {
        SurfaceExtractor all = extractor(std::move(settings), cameras);
        SurfacePoints result;
        for (Index camera = 0; camera < all.cameras(); ++camera)
            all.extract(*stream, camera, result);
        return result;
    }
};

std::vector<FieldGaussian<double>> fieldOf(const GaussianCloud& cloud)
{
    std::vector<FieldGaussian<double>> all;
    for (std::size_t i = 0; i < cloud.opacity.size(); ++i) {
        const std::vector<double> p(&cloud.position[3 * i], &cloud.position[3 * i] + 3),
            s(&cloud.logScale[3 * i], &cloud.logScale[3 * i] + 3),
            q(&cloud.rotation[4 * i], &cloud.rotation[4 * i] + 4);
        all.emplace_back(p.data(), s.data(), q.data(), cloud.opacity[i], 0.0);
    }
    return all;
}

/// Radius at which the density of the 16 Gaussians nearest to a place, coming from outside, first
/// reaches a level.
double outerRadius(const std::vector<FieldGaussian<double>>& field, const PointTree<float>& tree,
                   const Point3& direction, double level)
{
    const float at[3] = {static_cast<float>(direction.x), static_cast<float>(direction.y),
                         static_cast<float>(direction.z)};
    std::array<std::uint32_t, kNeighbours> nearest{};
    std::array<double, kNeighbours> squared{};
    tree.nearest(at, kNeighbours, nearest, squared);
    const auto density = [&](double r) {
        const double x[3] = {r * direction.x, r * direction.y, r * direction.z};
        double sum = 0;
        for (const std::uint32_t i : nearest)
            sum += FieldWeight<double>(field[i], x).value;
        return sum;
    };
    double inside = 1.2;
    while (density(inside) < level)
        inside -= 0.001;
    double outside = inside + 0.001;
    for (int i = 0; i < 40; ++i) {
        const double middle = 0.5 * (outside + inside);
        (density(middle) < level ? outside : inside) = middle;
    }
    return inside;
}

} // namespace

/// Points on level sets of the density: case 17.9 of the specification, and how they are drawn.
class TestSugarSurface : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void levelSetsOfASphere_data()
    {
        QTest::addColumn<int>("count");
        QTest::addColumn<double>("level");
        QTest::addColumn<double>("mean");
        QTest::addColumn<double>("least");
        QTest::addColumn<double>("greatest");
        QTest::newRow("1000, 0.1") << 1000 << .1 << .03834 << .03791 << .03867;
        QTest::newRow("1000, 0.3") << 1000 << .3 << .03146 << .03104 << .03170;
        QTest::newRow("1000, 0.5") << 1000 << .5 << .02778 << .02753 << .02801;
        QTest::newRow("4000, 0.1") << 4000 << .1 << .01631 << .01626 << .01634;
        QTest::newRow("4000, 0.3") << 4000 << .3 << .01352 << .01348 << .01356;
        QTest::newRow("4000, 0.5") << 4000 << .5 << .01200 << .01195 << .01205;
    }
    void levelSetsOfASphere()
    {
        QFETCH(int, count);
        QFETCH(double, level);
        QFETCH(double, mean);
        QFETCH(double, least);
        QFETCH(double, greatest);
        const GaussianCloud cloud = sphereCloud(count);
        const auto field = fieldOf(cloud);
        const PointTree<float> tree(cloud.position);
        constexpr int kDirections = 1500;
        Radii radii({});
        for (int i = 0; i < kDirections; ++i) {
            const double r =
                outerRadius(field, tree, fibonacciPoint(i, kDirections, 0.7), level) - 1;
            radii.least = std::min(radii.least, r);
            radii.greatest = std::max(radii.greatest, r);
            radii.mean += r / kDirections;
        }
        const QString found =
            QString("%1 (%2-%3)").arg(radii.mean).arg(radii.least).arg(radii.greatest);
        QVERIFY2(std::abs(radii.mean - mean) < 1.5e-5, qPrintable(found));
        // The extremes depend on the directions that are looked at.
        QVERIFY2(std::abs(radii.least - least) < 2.5e-4, qPrintable(found));
        QVERIFY2(std::abs(radii.greatest - greatest) < 2.5e-4, qPrintable(found));
    }

    void theFieldIsThatOfItsNeighbours()
    {
        GaussianCloud cloud = sphereCloud(300);
        const NeighbourTable table = nearestNeighbours(cloud.position, kNeighbours);
        const DensityField field(cloud, table);
        const auto exact = fieldOf(cloud);
        for (std::uint32_t of = 0; of < 300; of += 7) {
            const Point3 p = 1.02 * fibonacciPoint(static_cast<int>(of), 300, 0.03);
            const double x[3] = {p.x, p.y, p.z};
            double sum = 0;
            for (const std::uint32_t i : table.row(of))
                sum += FieldWeight<double>(exact[i], x).value;
            QVERIFY(std::abs(field.density(of, x) - sum) < 1e-5 * sum);
        }
        // A filter makes a Gaussian thicker and fainter: o s/√(s² + f²) along each axis.
        cloud.filter.assign(300, 0.02F);
        const DensityField filtered(cloud, table);
        double scale = 1;
        for (std::size_t k = 0; k < 3; ++k) {
            const double s = std::exp(static_cast<double>(cloud.logScale[k]));
            scale *= s / std::hypot(s, 0.02);
        }
        QVERIFY(std::abs(filtered.lobe(0).opacity - 0.9 * scale) < 1e-6);
        QVERIFY(std::abs(filtered.lobe(0).smallest -
                         std::hypot(std::exp(cloud.logScale[2]), 0.02F)) < 1e-6F);
    }

    void theGradientIsThatOfTheDensity()
    {
        const GaussianCloud cloud = sphereCloud(300);
        const DensityField field(cloud, nearestNeighbours(cloud.position, kNeighbours));
        for (int i = 0; i < 50; ++i) {
            const Point3 p = 1.03 * fibonacciPoint(i, 50, 0.2);
            const double x[3] = {p.x, p.y, p.z};
            const float at[3] = {static_cast<float>(p.x), static_cast<float>(p.y),
                                 static_cast<float>(p.z)};
            const std::uint32_t of = field.nearest(at);
            const DensitySample sample = field.sample(of, x);
            QCOMPARE(sample.density, field.density(of, x));
            for (std::size_t k = 0; k < 3; ++k) {
                double up[3] = {x[0], x[1], x[2]}, down[3] = {x[0], x[1], x[2]};
                up[k] += 1e-6;
                down[k] -= 1e-6;
                const double slope = (field.density(of, up) - field.density(of, down)) / 2e-6;
                QVERIFY(std::abs(slope - sample.gradient[k]) <
                        1e-6 * std::max(1.0, std::abs(slope)));
            }
        }
    }

    void theFastExponentialIsOne()
    {
        for (int i = 0; i <= 87'000; ++i) {
            const float x = -static_cast<float>(i) / 1000;
            const double exact = std::exp(static_cast<double>(x));
            QVERIFY(std::abs(static_cast<double>(exponentialOfNegative(x)) - exact) < 3e-7 * exact);
        }
        QCOMPARE(exponentialOfNegative(-1e8F), exponentialOfNegative(-87.0F));
    }

    void theDensityAlongARayIsTheDensity_data()
    {
        QTest::addColumn<double>("thinner");
        QTest::newRow("as they are") << 1.0;
        QTest::newRow("a thousandth as thick") << 1e-3;
        QTest::newRow("a millionth") << 1e-6;
    }
    void theDensityAlongARayIsTheDensity()
    {
        QFETCH(double, thinner);
        GaussianCloud cloud = sphereCloud(300);
        for (std::size_t i = 2; i < cloud.logScale.size(); i += 3)
            cloud.logScale[i] += static_cast<float>(std::log(thinner));
        const DensityField field(cloud, nearestNeighbours(cloud.position, kNeighbours));
        for (int i = 0; i < 40; ++i) {
            const Point3 p = fibonacciPoint(i, 40), d = 0.01 * fibonacciPoint(39 - i, 40, 1);
            const double origin[3] = {p.x, p.y, p.z}, step[3] = {d.x, d.y, d.z};
            const float at[3] = {static_cast<float>(p.x), static_cast<float>(p.y),
                                 static_cast<float>(p.z)};
            const std::uint32_t of = field.nearest(at);
            const DensityAlongRay along(field, of, origin, step);
            for (int m = -10; m <= 10; ++m) {
                const double x[3] = {p.x + m * d.x, p.y + m * d.y, p.z + m * d.z};
                const double exact = field.density(of, x);
                QVERIFY(std::abs(static_cast<double>(along.at(static_cast<float>(m))) - exact) <
                        2e-4 * std::max(exact, 0.01));
            }
        }
    }

    void theFrontIsWhatGivesMost()
    {
        // Along the axis of a camera: a faint splat before a strong one, and one behind both.
        GaussianCloud cloud;
        const auto add = [&](double z, double opacity) {
            for (const double x : {0.0, 0.0, z})
                cloud.position.push_back(static_cast<float>(x));
            cloud.logScale.insert(cloud.logScale.end(), 3, std::log(0.1F));
            cloud.rotation.insert(cloud.rotation.end(), {1, 0, 0, 0});
            cloud.opacity.push_back(static_cast<float>(std::log(opacity / (1 - opacity))));
            cloud.shDc.insert(cloud.shDc.end(), 3, 0);
        };
        Camera camera;
        camera.fx = camera.fy = 100;
        camera.cx = camera.cy = 32.5;
        camera.width = camera.height = 64;
        const std::uint32_t middle = 32 * 64 + 32;
        add(6, 0.95);
        add(4, 0.3);
        add(5, 0.9);
        const FrontSplats three(cloud, camera, {.shDegree = 0});
        QCOMPARE(three.at(middle)->gaussian, 2U); // 0.3, 0.63, 0.0665
        QVERIFY(std::abs(three.at(middle)->depth - 5) < 1e-5F);
        QVERIFY(!three.at(0));
        add(3, 0.8);
        QCOMPARE(FrontSplats(cloud, camera, {.shDegree = 0}).at(middle)->gaussian, 3U);
        QVERIFY(!FrontSplats({}, camera, {.shDegree = 0}).at(middle));
    }

    void theFrontOfAFlatGaussianIsItsPlane()
    {
        GaussianCloud cloud;
        cloud.position = {0.05F, -0.02F, 5};
        cloud.logScale = {std::log(0.3F), std::log(0.3F), std::log(1e-4F)};
        cloud.rotation = {0.9F, 0.2F, -0.3F, 0.1F};
        cloud.opacity = {3};
        cloud.shDc = {0, 0, 0};
        const FieldGaussian<double> g = fieldOf(cloud)[0];
        Camera camera;
        camera.fx = 90;
        camera.fy = 110;
        camera.cx = 30;
        camera.cy = 35;
        camera.width = camera.height = 64;
        const FrontSplats front(cloud, camera, {.shDegree = 0});
        int hits = 0;
        for (std::uint32_t pixel = 0; pixel < 64 * 64; ++pixel) {
            const auto hit = front.at(pixel);
            if (!hit)
                continue;
            const double ray[3] = {(pixel % 64 + 0.5 - 30) / 90, (pixel / 64 + 0.5 - 35) / 110, 1};
            double toPlane = 0, slope = 0, squares = 0;
            for (int k = 0; k < 3; ++k) {
                toPlane += g.rotation[3 * k + 2] * g.position[k];
                slope += g.rotation[3 * k + 2] * ray[k];
            }
            for (int k = 0; k < 3; ++k)
                squares += std::pow(toPlane / slope * ray[k] - g.position[k], 2);
            if (squares > 0.7 * 0.7)
                continue; // depth is kept within three standard deviations, 0.9 at most
            ++hits;
            QVERIFY(std::abs(hit->depth - toPlane / slope) < 1e-4);
        }
        QVERIFY(hits > 100);
    }

    void theFrontIgnoresWhatShinesThrough()
    {
        SphereScene scene(4000);
        const Camera camera = ringCameras(1, 3, 1, 96, 110)[0];
        double error[2] = {};
        for (const DepthKind kind : {DepthKind::Front, DepthKind::Expected}) {
            DepthRenderer renderer(scene.device, {.shDegree = 0}, kind);
            const DepthView view = renderer.render(*scene.stream, scene.gaussians, camera);
            for (std::size_t i = 0; i < view.depth.size(); ++i) {
                const SurfaceHit hit = sphereHit(camera, static_cast<double>(i % 96) + 0.5,
                                                 static_cast<double>(i / 96) + 0.5);
                if (view.depth[i] > 0 && hit.depth > 0)
                    error[kind == DepthKind::Expected] += std::abs(view.depth[i] - hit.depth);
            }
        }
        QVERIFY2(error[0] < 0.6 * error[1],
                 qPrintable(QString("%1 %2").arg(error[0]).arg(error[1])));
    }

    void ringCamerasFindTheLevelSets_data()
    {
        QTest::addColumn<int>("row");
        QTest::newRow("1000") << 0;
        QTest::newRow("4000") << 1;
    }
    void ringCamerasFindTheLevelSets()
    {
        QFETCH(int, row);
        SphereScene scene(row == 0 ? 1000 : 4000);
        SurfaceSettings settings;
        settings.points = 40'000;
        settings.levels = {.1F, .3F, .5F};
        const std::vector<Camera> cameras = ringCameras(20, 3, 0);
        SurfaceExtractor extractor = scene.extractor(settings, cameras);
        SurfacePoints points;
        for (Index camera = 0; camera < extractor.cameras(); ++camera)
            QVERIFY(extractor.extract(*scene.stream, camera, points));
        for (std::uint8_t level = 0; level < 3; ++level) {
            const SurfacePoints one = points.ofLevel(level);
            double worst = 0, turned = 0;
            for (std::size_t i = 0; i < one.position.size(); i += 3) {
                const Point3 p{one.position[i], one.position[i + 1], one.position[i + 2]};
                const Point3 n{one.normal[i], one.normal[i + 1], one.normal[i + 2]};
                worst = std::max(worst, std::abs(norm(p) - 1 - kTable[row][level]));
                turned += std::acos(std::min(1.0, dot(unit(p), n))) * 3 /
                          static_cast<double>(one.position.size());
            }
            const QString found =
                QString("%1 points, worst %2, turned %3 degrees; %4 inside, %5 missed")
                    .arg(one.count())
                    .arg(worst)
                    .arg(turned * 180 / std::numbers::pi)
                    .arg(extractor.counts().inside)
                    .arg(extractor.counts().missed);
            qInfo("%s", qPrintable(found));
            QVERIFY2(worst < 2e-3, qPrintable(found));
            QVERIFY2(turned * 180 / std::numbers::pi < 3, qPrintable(found));
            QVERIFY2(one.count() > 10'000, qPrintable(found));
        }
        const SurfaceCounts counts = extractor.counts();
        QCOMPARE(counts.candidates, points.count() + counts.inside + counts.missed);
    }

    void levelsDoNotDisturbEachOther()
    {
        SphereScene scene(500);
        const std::vector<Camera> cameras = ringCameras(3, 3, 1, 48, 60);
        SurfaceSettings settings;
        settings.levels = {.1F, .3F};
        const SurfacePoints both = scene.points(settings, cameras);
        settings.levels = {.3F};
        const SurfacePoints one = scene.points(settings, cameras);
        QVERIFY(one.count() > 500);
        QCOMPARE(both.ofLevel(1).position, one.position);
    }

    void harmonicsOfHigherDegreeAreNotLookedAt()
    {
        SphereScene scene(500);
        const std::vector<Camera> cameras = ringCameras(2, 3, 1, 48, 60);
        const SurfacePoints plain = scene.points({}, cameras);
        scene.cloud.degree = 1;
        for (int i = 0; i < 9 * 500; ++i)
            scene.cloud.shRest.push_back(0.3F * std::sin(static_cast<float>(i)));
        scene.gaussians = upload(*scene.stream, scene.device, scene.cloud, 500, 1);
        const SurfacePoints rich = scene.points({}, cameras);
        QVERIFY(plain.count() > 500);
        QCOMPARE(rich.position, plain.position);
        QCOMPARE(rich.colour, plain.colour);
    }

    void camerasCanBeTakenOneByOne()
    {
        SphereScene scene(500);
        const std::vector<Camera> cameras = ringCameras(4, 3, 1, 48, 60);
        SurfaceSettings settings;
        settings.points = 2001;
        const SurfacePoints all = scene.points(settings, cameras);
        SurfacePoints later, first;
        SurfaceExtractor before = scene.extractor(settings, cameras);
        QVERIFY(before.extract(*scene.stream, 0, first));
        SurfaceExtractor after = scene.extractor(settings, cameras);
        for (Index camera = 1; camera < 4; ++camera)
            QVERIFY(after.extract(*scene.stream, camera, later));
        first.append(later);
        QCOMPARE(first.position, all.position);
        QCOMPARE(first.normal, all.normal);
        QCOMPARE(first.colour, all.colour);
        QVERIFY(all.count() <= 2001);
    }

    void threadsDoNotMatter()
    {
        SphereScene scene(500);
        const std::vector<Camera> cameras = ringCameras(2, 3, 1, 64, 80);
        std::vector<float> alone;
        {
            const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
            alone = scene.points({}, cameras).position;
        }
        QVERIFY(alone.size() > 3000);
        QCOMPARE(scene.points({}, cameras).position, alone);
    }

    void theRidgeIsBehindTheLevelSet()
    {
        SphereScene scene(2000);
        SurfaceSettings settings;
        settings.centreBias = true;
        const SurfacePoints points = scene.points(settings, ringCameras(6, 3, 0.5, 64, 80));
        QVERIFY(points.count() > 5000);
        // The level set lies 0.021 outside; the curvature is not known to the step.
        const Radii radii(points.position);
        QVERIFY2(
            std::abs(radii.mean - 1) < 0.006,
            qPrintable(QString("%1 %2 %3").arg(radii.least).arg(radii.mean).arg(radii.greatest)));
    }

    void colourIsWithoutViewDependence()
    {
        SphereScene scene(500);
        const SurfacePoints points = scene.points({}, ringCameras(4, 3, 0, 48, 60));
        double difference = 0;
        for (std::size_t i = 0; i < points.position.size(); ++i) {
            const double wanted = 0.5 + 0.28209479 * 0.5 * points.position[i];
            difference += std::abs(points.colour[i] / 255.0 - wanted);
        }
        // Not quite opaque, a ring of it mixed with neighbours.
        QVERIFY(difference / static_cast<double>(points.position.size()) < 0.03);
    }

    void pixelsAreDrawnOnce()
    {
        DepthView view;
        view.camera.width = 50;
        view.camera.height = 40;
        view.depth.assign(2000, 1.0F);
        for (std::size_t i = 0; i < 2000; i += 4)
            view.depth[i] = 0;
        std::vector<int> hits(2000, 0);
        for (std::uint64_t stream = 0; stream < 200; ++stream) {
            const auto pixels = drawnPixels(view, 300, 7, stream);
            QCOMPARE(pixels.size(), std::size_t(300));
            QVERIFY(std::adjacent_find(pixels.begin(), pixels.end(), std::greater_equal<>()) ==
                    pixels.end());
            for (const std::uint32_t pixel : pixels)
                ++hits[pixel];
        }
        double chi = 0; // 1500 pixels, 40 hits expected, variance 40·(1 − 0.2)
        for (std::size_t i = 0; i < 2000; ++i) {
            if (i % 4 == 0)
                QCOMPARE(hits[i], 0);
            else
                chi += (hits[i] - 40.0) * (hits[i] - 40.0) / 32;
        }
        QVERIFY(chi > 1500 - 5 * 55 && chi < 1500 + 5 * 55); // five standard deviations
        QVERIFY(drawnPixels(view, 300, 7, 1) == drawnPixels(view, 300, 7, 1));
        QVERIFY(drawnPixels(view, 300, 7, 1) != drawnPixels(view, 300, 8, 1));
        QCOMPARE(drawnPixels(view, 5000, 7, 1).size(), std::size_t(1500));
    }

    void stopsAddNothing()
    {
        SphereScene scene(300);
        SurfaceExtractor extractor = scene.extractor({}, ringCameras(1, 3, 0, 32, 40));
        SurfacePoints points;
        QVERIFY(!extractor.extract(*scene.stream, 0, points, [] { return true; }));
        QCOMPARE(points.count(), Index(0));
        QCOMPARE(extractor.counts().candidates, Index(0));
    }

    void badInputIsRefused()
    {
        SphereScene scene(50);
        const auto cameras = ringCameras(1, 3, 0, 16, 20);
        SurfaceSettings none, low, empty;
        none.levels.clear();
        low.levels = {0};
        empty.points = 0;
        QVERIFY_EXCEPTION_THROWN(scene.extractor(none, cameras), ContractError);
        QVERIFY_EXCEPTION_THROWN(scene.extractor(low, cameras), ContractError);
        QVERIFY_EXCEPTION_THROWN(scene.extractor(empty, cameras), ContractError);
        QVERIFY_EXCEPTION_THROWN(scene.extractor({}, {}), ContractError);
        SphereScene other(51);
        scene.neighbours = other.neighbours;
        QVERIFY_EXCEPTION_THROWN(scene.extractor({}, cameras), ContractError);
    }

    void aCameraThatSeesNothingAddsNothing()
    {
        SphereScene scene(50);
        SurfacePoints points =
            scene.points({}, {lookingAt({0, 0, 5}, {0, 0, 9}, {0, 1, 0}, 40, 32, 32)});
        QCOMPARE(points.count(), Index(0));
    }
};

VERGENCE_TEST(TestSugarSurface)
#include "tst_sugar_surface.moc"
