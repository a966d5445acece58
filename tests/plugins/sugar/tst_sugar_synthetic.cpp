#include <QTest>

#include <algorithm>
#include <cmath>

#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "plugins/sugar/io/synthetic_surfaces.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

class SugarSyntheticTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void camerasStandOnTheirRings();
    void knownPointsAreHit();
    void hitsLieOnSurfaces();
    void normalsAreGradientsOfDistance();
    void picturesAreTheTracedColours();
    void pointsLieNearSurfaces();
    void glossBrightensTheSphereOnly();
};

void SugarSyntheticTest::camerasStandOnTheirRings()
{
    const Scene scene = syntheticScene();
    QCOMPARE(scene.kind, "built-in");
    QCOMPARE(scene.views.size(), 28u);
    QVERIFY(std::abs(scene.cameras.at(0).fx() - 171.56) < 0.01);
    QVERIFY(std::is_sorted(scene.views.begin(), scene.views.end(),
                           [](const auto& a, const auto& b) { return a.name < b.name; }));
    int tests = 0;
    for (const SourceView& view : scene.views) {
        const Camera camera = pinholeCamera(scene.cameras[0], view);
        const Vector3 offset = plus(camera.centre(), {0, 0, .3}, -1);
        QVERIFY(std::abs(length(offset) - 2.4) < 1e-12);
        const double elevation = std::asin(offset[2] / 2.4) * 180 / std::acos(-1.0);
        const double expected = *view.isTest ? 35 : (view.name < "train_12" ? 20 : 50);
        QVERIFY(std::abs(elevation - expected) < 1e-9);
        tests += *view.isTest ? 1 : 0;
    }
    QCOMPARE(tests, 4);
    QCOMPARE(testViews(scene, 8)[0], true);
}

void SugarSyntheticTest::knownPointsAreHit()
{
    // Straight down on the sphere's top, at z = 0.9, and on the ground beside everything.
    const auto top = traceSynthetic({0, -.25, 3}, {0, 0, -1});
    QVERIFY(top && top->isSphere);
    QVERIFY(std::abs(top->distance - 2.1) < 1e-12);
    QVERIFY(std::abs(top->normal[2] - 1) < 1e-12);
    const auto ground = traceSynthetic({-1.1, -1.1, 3}, {0, 0, -2});
    QVERIFY(ground && std::abs(ground->distance - 1.5) < 1e-12);
    QVERIFY(ground->albedo == Vector3({.85, .82, .75})); // cells (−6, −6)
    QVERIFY(traceSynthetic({-.9, -1.1, 3}, {0, 0, -1})->albedo == Vector3({.35, .4, .45}));
    const auto box = traceSynthetic({.45, .5, 3}, {0, 0, -1});
    QVERIFY(box && std::abs(box->distance - 2.5) < 1e-12);
    QVERIFY(!traceSynthetic({2, 2, 3}, {0, 0, -1}));
    QVERIFY(!traceSynthetic({0, 0, 3}, {0, 0, 1}));
    QVERIFY(std::abs(syntheticDistance({0, -.25, 1.4}) - .5) < 1e-12);
    QVERIFY(std::abs(syntheticDistance({-1, -1, -.25}) - .25) < 1e-12);
}

void SugarSyntheticTest::hitsLieOnSurfaces()
{
    const Scene scene = syntheticScene();
    int hits = 0, sky = 0;
    for (const SourceView& view : scene.views) {
        const Camera camera = pinholeCamera(scene.cameras[0], view);
        for (double v = 0.5; v < 120; v += 7) {
            for (double u = 0.5; u < 160; u += 7) {
                const SurfaceHit hit = syntheticHit(camera, u, v);
                if (hit.depth == 0) {
                    ++sky;
                    continue;
                }
                ++hits;
                const Vector3 t{(u - camera.cx) / camera.fx * hit.depth,
                                (v - camera.cy) / camera.fy * hit.depth, hit.depth};
                const Vector3 p =
                    times(transposed(camera.rotation), plus(t, camera.translation, -1));
                QVERIFY(syntheticDistance(p) < 1e-12);
                QVERIFY(std::abs(length(hit.normal) - 1) < 1e-12);
                QVERIFY(dot(hit.normal, plus(p, camera.centre(), -1)) < 1e-12); // faces the camera
            }
        }
    }
    QVERIFY(hits > 3000 && sky > 300);
}

void SugarSyntheticTest::normalsAreGradientsOfDistance()
{
    int tested = 0;
    for (int i = 0; i < 400; ++i) {
        const RayHit hit = syntheticSurfacePoint((i + .5) / 400, std::fmod(i * .618034, 1),
                                                 std::fmod(i * .754878, 1));
        QVERIFY(syntheticDistance(hit.point) < 1e-12);
        const double step = 1e-4;
        const double ahead = syntheticDistance(plus(hit.point, hit.normal, step));
        if (std::abs(ahead - step) < 1e-9)
            ++tested; // elsewhere another surface is nearer: contact lines
    }
    QVERIFY(tested > 390);
}

void SugarSyntheticTest::picturesAreTheTracedColours()
{
    const Scene scene = syntheticScene();
    const Camera camera = pinholeCamera(scene.cameras[0], scene.views.back());
    const Image image = syntheticPicture(camera);
    QCOMPARE(image.width, 160);
    QCOMPARE(image.height, 120);
    QCOMPARE(image.channels, 3);
    QCOMPARE(image.row(0)[0], 158); // sky: .62 · 255
    // The first camera looks at the middle of the target from azimuth 0.
    const Camera first = pinholeCamera(scene.cameras[0], scene.views[4]);
    QCOMPARE(scene.views[4].name, "train_00.png");
    QVERIFY(std::abs(first.centre()[1]) < 1e-12);
    const Image again = scene.painter(first);
    QVERIFY(again.pixels == syntheticPicture(first).pixels);
    QVERIFY(again.pixels != image.pixels);
}

void SugarSyntheticTest::pointsLieNearSurfaces()
{
    const Scene scene = syntheticScene();
    QCOMPARE(scene.points.size(), 2700u);
    double sum = 0;
    int near = 0;
    for (std::size_t i = 0; i < 2500; ++i) {
        const double distance = syntheticDistance(scene.points[i].position);
        sum += distance;
        near += distance < 0.03 ? 1 : 0;
    }
    // Mean of |normal(0, 0.01)| is 0.00798; a tenth of it for edges and contacts.
    QVERIFY(std::abs(sum / 2500 - 0.00798) < 0.0008);
    QVERIFY(near > 2480); // three standard deviations
    QVERIFY(syntheticScene({160, 120, false, 2}).points[0].position != scene.points[0].position);
    QVERIFY(syntheticScene().points[77].position == scene.points[77].position);
}

void SugarSyntheticTest::glossBrightensTheSphereOnly()
{
    const Scene scene = syntheticScene();
    const Camera camera = pinholeCamera(scene.cameras[0], scene.views.back());
    const Image plain = syntheticPicture(camera), glossy = syntheticPicture(camera, true);
    int brighter = 0;
    for (std::size_t i = 0; i < plain.pixels.size(); ++i) {
        QVERIFY(glossy.pixels[i] >= plain.pixels[i]);
        brighter += glossy.pixels[i] > plain.pixels[i] ? 1 : 0;
    }
    QVERIFY(brighter > 100 && brighter < 160 * 120 * 3 / 4);
}

VERGENCE_TEST(SugarSyntheticTest)
#include "tst_sugar_synthetic.moc"
