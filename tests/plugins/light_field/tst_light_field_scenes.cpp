#include <algorithm>
#include <cmath>
#include <set>

#include <QTest>

#include "core/base/error.h"
#include "plugins/light_field/compute/ground_truth.h"
#include "tests/plugins/light_field/light_field_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

class TestLightFieldScenes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void frontOfTheBoardHasTheKnownColour();
    void boardHasTheKnownNumberOfRows_data();
    void boardHasTheKnownNumberOfRows();
    void nearestObjectWins();
    void eyeShiftUncoversHiddenSpheres();
    void cubesAreHitOnTheirFaces();
    void namedScenesExist();
    void unknownSceneNamesTheOthers();
    void depthAndCoverageAreMeasured();
    void roiIsWhereAllSamplesHit();
    void pictureIsSeenWhereItWasTaken();
    void pictureShowsParallax();
    void brokenPicturesAreRefused();
    void headLampDarkensTheRim();
    void boardsShareTheirGeometry();
    void seedBoardsShareTheirGeometry();
    void previewShowsTheTarget_data();
    void previewShowsTheTarget();

private:
    Hit<double> look(const Scene& scene, double x, double y, double sx, double sy) const;

    std::shared_ptr<Device> m_device = makeCpuDevice();
    std::unique_ptr<Stream> m_stream = m_device->createStream();
};

Hit<double> TestLightFieldScenes::look(const Scene& scene, double x, double y, double sx,
                                       double sy) const
{
    const SceneOnDevice onDevice(*m_stream, m_device, scene);
    return intersect(onDevice.view(), Ray<double>{{x, y, 0}, {sx, sy, 1}});
}

void TestLightFieldScenes::frontOfTheBoardHasTheKnownColour()
{
    const std::set<int> white{26, 28, 34, 36, 42, 44, 52, 56, 58};
    for (const int n : seedBoards()) {
        const auto hit = look(checkerboardScene({.n = n}), 0, 0, 0, 0);
        QVERIFY(hit.isHit && std::abs(hit.t - 150) < 1e-9);
        QCOMPARE(hit.color[0] > 0.5f, white.count(n) > 0);
    }
}

void TestLightFieldScenes::boardHasTheKnownNumberOfRows_data()
{
    QTest::addColumn<int>("n");
    QTest::addColumn<int>("rows");
    QTest::newRow("26") << 26 << 27;
    QTest::newRow("40") << 40 << 40;
}

void TestLightFieldScenes::boardHasTheKnownNumberOfRows()
{
    QFETCH(int, n);
    QFETCH(int, rows);
    // Along a meridian of the unit sphere the colour changes once per row.
    const double pi = 3.14159265358979;
    int changes = 0;
    bool before = false;
    for (int i = 0; i < 100000; ++i) {
        const double latitude = -pi / 2 + pi * (i + 0.5) / 100000;
        const bool white = scene_detail::checkerIsWhite(
            Texture::CheckerSeed, static_cast<double>(checkerCellSize(n)), -1.5, latitude);
        changes += i > 0 && white != before ? 1 : 0;
        before = white;
    }
    QCOMPARE(changes + 1, rows);
}

void TestLightFieldScenes::nearestObjectWins()
{
    const auto hit = look(namedScene("layered"), 0, 0, 0, 0);
    QVERIFY(hit.isHit && std::abs(hit.t - 88) < 1e-9);
    QVERIFY(hit.color[0] == 1 && hit.color[1] == 0 && hit.color[2] == 0);
    QVERIFY(!look(namedScene("layered"), 0, 0, 0.4, 0.4).isHit);
}

void TestLightFieldScenes::eyeShiftUncoversHiddenSpheres()
{
    // From the side the green sphere shows beside the red one.
    const auto hit = look(namedScene("layered"), 30, 0, (12.0 - 30.0) / 200, 0);
    QVERIFY(hit.isHit && hit.color[1] == 1);
}

void TestLightFieldScenes::cubesAreHitOnTheirFaces()
{
    Primitive cube;
    cube.kind = PrimitiveKind::Cube;
    cube.center[2] = 100;
    cube.size = 10;
    const Scene scene("cube", {cube});
    QVERIFY(std::abs(look(scene, 0, 0, 0, 0).t - 95) < 1e-9);
    QVERIFY(look(scene, 5, 5, 0, 0).isHit);
    QVERIFY(!look(scene, 5.001, 0, 0, 0).isHit);
    // Through the side face x = 5: 20 − 0.15 z = 5 at z = 100.
    QVERIFY(std::abs(look(scene, 20, 0, -0.15, 0).t - 100) < 1e-9);
}

void TestLightFieldScenes::namedScenesExist()
{
    const auto names = sceneNames();
    QCOMPARE(names.size(), std::size_t(14));
    for (const std::string& name : names) {
        const Scene scene = namedScene(name);
        QCOMPARE(scene.name(), name);
        const DepthRange range = scene.depthRange();
        QVERIFY(range.nearMm > 80 && range.farMm > range.nearMm && range.farMm <= 400);
    }
    QVERIFY(namedScene("spherical_checkerboard").isAchromatic());
    QVERIFY(!namedScene("basic").isAchromatic());
}

void TestLightFieldScenes::unknownSceneNamesTheOthers()
{
    try {
        namedScene("baisc");
        QFAIL("an unknown scene was accepted");
    } catch (const ContractError& error) {
        QVERIFY(std::string(error.what()).find("stick_figure") != std::string::npos);
    }
    QVERIFY_THROWS_EXCEPTION(ContractError, checkerboardScene({.n = 0}));
    QVERIFY_THROWS_EXCEPTION(ContractError, Scene().depthRange());
}

void TestLightFieldScenes::depthAndCoverageAreMeasured()
{
    Optics optics = smallOptics();
    const std::vector<EyeState> states{{0, 0, 5}};
    const LaneScene scene{namedScene("basic"), 3};
    const Targets targets =
        renderTargets(*m_stream, m_device, optics, states, 16, std::span(&scene, 1));
    const auto depth = targets.depth.toHost<float>(*m_stream),
               coverage = targets.coverage.toHost<float>(*m_stream);
    QVERIFY(std::abs(depth[32 * 64 + 32] - 135.0f) < 0.5f && coverage[32 * 64 + 32] == 1.0f);
    QVERIFY(depth[0] == 0.0f && coverage[0] == 0.0f);
}

void TestLightFieldScenes::roiIsWhereAllSamplesHit()
{
    const std::vector<EyeState> states = trainingStates({});
    const LaneScene scene{checkerboardScene({}), 1};
    const Targets targets =
        renderTargets(*m_stream, m_device, smallOptics(), states, 16, std::span(&scene, 1));
    const auto roi = targets.roi.toHost<float>(*m_stream),
               coverage = targets.coverage.toHost<float>(*m_stream);
    for (std::size_t i = 0; i < roi.size(); ++i)
        QCOMPARE(roi[i] > 0, coverage[i] == 1.0f);
}

namespace {

/// 64 × 64 picture of a near square in front of a far wall; the square is white, the wall has a red
/// gradient.
DepthImage squareBeforeWall()
{
    DepthImage image;
    image.width = image.height = 64;
    image.slopeExtent = 0.2;
    for (int row = 0; row < 64; ++row) {
        for (int column = 0; column < 64; ++column) {
            const bool inside = std::abs(row - 32) < 8 && std::abs(column - 32) < 8;
            image.depth.push_back(inside ? 100.0f : 400.0f);
            image.color.push_back(inside ? 1.0f : static_cast<float>(column) / 64);
            image.color.push_back(inside ? 1.0f : 0.0f);
            image.color.push_back(inside ? 1.0f : 0.0f);
        }
    }
    return image;
}

} // namespace

void TestLightFieldScenes::pictureIsSeenWhereItWasTaken()
{
    const Scene scene = depthImageScene("picture", squareBeforeWall());
    const auto centre = look(scene, 0, 0, 0, 0);
    QVERIFY(centre.isHit && std::abs(centre.t - 100) < 0.5 && centre.color[1] == 1.0f);
    const auto wall = look(scene, 0, 0, 0.15, 0.1);
    QVERIFY(wall.isHit && std::abs(wall.t - 400) < 2 && wall.color[1] == 0.0f);
    QVERIFY(std::abs(wall.color[0] - 0.87f) < 0.02f);
    QVERIFY(!look(scene, 0, 0, 0.25, 0).isHit);
    QCOMPARE(scene.depthRange().nearMm, 100.0);
    QCOMPARE(scene.depthRange().farMm, 400.0);
}

void TestLightFieldScenes::pictureShowsParallax()
{
    const Scene scene = depthImageScene("picture", squareBeforeWall());
    // An eye 4 mm to the right sees the square's middle, at z = 100, under a slope of −0.04.
    const auto hit = look(scene, 4, 0, -0.04, 0);
    QVERIFY(hit.isHit && std::abs(hit.t - 100) < 0.5 && hit.color[2] == 1.0f);
    // And past its right edge (0.05 · 100 = 5 mm) the wall, unless the ray dives into what the
    // square hides.
    QVERIFY(look(scene, 4, 0, 0.045, 0).t > 380);
    const double hidden = look(scene, 4, 0, 0.03, 0).t;
    QVERIFY(hidden > 150 && hidden < 250);
}

void TestLightFieldScenes::brokenPicturesAreRefused()
{
    DepthImage image = squareBeforeWall();
    image.color.pop_back();
    QVERIFY_THROWS_EXCEPTION(ContractError, depthImageScene("short", image));
    image = squareBeforeWall();
    std::fill(image.depth.begin(), image.depth.end(), 0.0f);
    QVERIFY_THROWS_EXCEPTION(ContractError, depthImageScene("empty", image));
}

void TestLightFieldScenes::headLampDarkensTheRim()
{
    Scene scene = namedScene("layered");
    scene.setLambert(true);
    QVERIFY(std::abs(look(scene, 0, 0, 0, 0).color[0] - 1) < 1e-6f);
    const auto rim = look(scene, 0, 0, 0.119, 0);
    QVERIFY(rim.isHit && rim.color[0] > 0 && rim.color[0] < 0.3f);
}

void TestLightFieldScenes::boardsShareTheirGeometry()
{
    const std::vector<EyeState> states{{0.5, 0, 6}};
    std::vector<LaneScene> all;
    for (int n = 20; n < 30; ++n)
        all.push_back({checkerboardScene({.n = n}), 1});
    const Targets together = renderTargets(*m_stream, m_device, smallOptics(), states, 8, all);
    QCOMPARE(together.lanes(), 16);
    for (const int lane : {0, 4, 9}) {
        const Targets alone = renderTargets(*m_stream, m_device, smallOptics(), states, 8,
                                            std::span(&all[static_cast<std::size_t>(lane)], 1));
        QVERIFY(laneToHost(*m_stream, together.radiance, 0, lane) ==
                laneToHost(*m_stream, alone.radiance, 0, 0));
    }
}

void TestLightFieldScenes::seedBoardsShareTheirGeometry()
{
    Optics optics = seedOptics();
    optics.renderResolution = 65;
    const std::vector<LaneScene> all{{checkerboardScene({.n = 26}), 1},
                                     {checkerboardScene({.n = 40}), 1},
                                     {namedScene("layered"), 3}};
    QVERIFY(sharesHits(all[0], all[1]) && !sharesHits(all[1], all[2]));
    const Targets together =
        renderSeedTargets(*m_stream, m_device, optics, 30.0, 4, std::span(all).first(2));
    const std::vector<Targets> separate = separateLanes(*m_stream, together);
    QCOMPARE(separate.size(), std::size_t(2));
    for (std::size_t n = 0; n < 2; ++n) {
        const Targets alone =
            renderSeedTargets(*m_stream, m_device, optics, 30.0, 4, std::span(&all[n], 1));
        QCOMPARE(separate[n].lanes(), 1);
        for (const auto part : {&Targets::radiance, &Targets::depth, &Targets::roi})
            QVERIFY((separate[n].*part).toHost<float>(*m_stream) ==
                    (alone.*part).toHost<float>(*m_stream));
    }
}

void TestLightFieldScenes::previewShowsTheTarget_data()
{
    QTest::addColumn<QString>("scene");
    QTest::addColumn<bool>("lambert");
    for (const char* name :
         {"spherical_checkerboard", "textured_basic", "complex_plus", "layered", "equal_angle"})
        QTest::newRow(name) << name << false;
    QTest::newRow("complex_plus, head lamp") << "complex_plus" << true;
}

void TestLightFieldScenes::previewShowsTheTarget()
{
    QFETCH(QString, scene);
    QFETCH(bool, lambert);
    LaneScene shown{scene == "equal_angle" ? checkerboardScene({.n = 33, .equalAngle = true})
                                           : namedScene(scene.toStdString()),
                    3};
    shown.scene.setLambert(lambert);
    shown.scene.setBackground({0.1f, 0.2f, 0.3f});
    Optics optics = smallOptics();
    optics.renderResolution = 70; // no multiple of a vector
    const EyeState eye{0.7, -1.2, 4.3};
    const std::vector<float> exact =
        renderTargets(*m_stream, m_device, optics, std::span(&eye, 1), 16, std::span(&shown, 1))
            .radiance.toHost<float>(*m_stream);
    const std::vector<float> fast =
        previewTarget(*m_stream, m_device, optics, eye, 16, shown).toHost<float>(*m_stream);
    QCOMPARE(fast.size(), exact.size());
    // One sample in sixteen that falls on the other side of an edge moves a pixel by up to 1/16.
    std::size_t moved = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
        QVERIFY(std::abs(fast[i] - exact[i]) < 0.13f);
        moved += std::abs(fast[i] - exact[i]) > 1e-3f ? 1 : 0;
    }
    QVERIFY2(moved * 500 <= fast.size(), qPrintable(QString::number(moved)));
}

VERGENCE_TEST(TestLightFieldScenes)
#include "tst_light_field_scenes.moc"
