#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/io/scene_readers.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
namespace fs = std::filesystem;

namespace {

double worstDifference(std::span<const double> a, std::span<const double> b)
{
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
}

Scene parse(const std::string& text)
{
    return parseTransforms(text, "/nowhere/transforms.json",
                           [](const fs::path&) { return std::optional<ImageHeader>(); })
        .scene;
}

const char* const kIdentity = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]";

std::string oneFrame(const std::string& globals, const std::string& more = {})
{
    return "{" + globals +
           ", \"frames\": [{\"file_path\": \"a.png\", \"transform_matrix\": " + kIdentity + more +
           "}]}";
}

std::array<double, 4> randomQuaternion(const Rng& random, std::uint64_t first)
{
    std::array<double, 4> q{};
    double norm = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        q[i] = random.uniform(first + i) - 0.5;
        norm += q[i] * q[i];
    }
    for (double& value : q)
        value /= std::sqrt(norm);
    return q;
}

} // namespace

class SugarSceneTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void quaternionsAndRotationsAgree();
    void identityMatrixLooksAlongMinusZ();
    void focalOfAngle();
    void intrinsicsAreOverriddenPerFrame();
    void lensesHaveTheirNames_data();
    void lensesHaveTheirNames();
    void faultsNameFrameAndKey_data();
    void faultsNameFrameAndKey();
    void sameSceneComesBackInEveryFormat_data();
    void sameSceneComesBackInEveryFormat();
    void lensesSurviveTransforms();
    void splitFilesMarkTestViews();
    void missingEndingsAreFound();
    void extentFollowsTheRule();
    void everyEighthViewIsForTesting();
};

void SugarSceneTest::quaternionsAndRotationsAgree()
{
    const Rng random(3);
    for (std::uint64_t i = 0; i < 500; ++i) {
        auto q = randomQuaternion(random, 4 * i);
        if (i % 5 == 0)
            q = {0, q[1] / std::hypot(q[1], q[2]), q[2] / std::hypot(q[1], q[2]), 0};
        const Matrix3 r = rotationOf(q);
        QVERIFY(worstDifference(rotationOf(quaternionOf(r)), r) < 1e-14);
    }
}

void SugarSceneTest::identityMatrixLooksAlongMinusZ()
{
    const Scene scene = parse(oneFrame("\"w\": 8, \"h\": 6, \"fl_x\": 9"));
    const SourceView& view = scene.views.at(0);
    const Matrix3 expected{1, 0, 0, 0, -1, 0, 0, 0, -1};
    QVERIFY(worstDifference(view.rotation, expected) == 0);
    const Vector3 t = plus(times(view.rotation, {0, 0, -1}), view.translation);
    QVERIFY(worstDifference(t, Vector3{0, 0, 1}) == 0);
    QVERIFY(scene.cameras.at(0).isPinhole());
    QCOMPARE(scene.cameras[0].cx(), 4.0);
    QCOMPARE(scene.cameras[0].fy(), 9.0);
}

void SugarSceneTest::focalOfAngle()
{
    const Scene scene = parse(oneFrame("\"w\": 800, \"h\": 600, \"camera_angle_x\": 0.6911112"));
    QVERIFY(std::abs(scene.cameras.at(0).fx() - 1111.111) < 1e-3);
    QCOMPARE(scene.cameras[0].fy(), scene.cameras[0].fx());
    const Scene both = parse(oneFrame("\"w\": 800, \"h\": 600, \"camera_angle_x\": 0.6911112, "
                                      "\"camera_angle_y\": 1.5707963267948966"));
    QVERIFY(std::abs(both.cameras.at(0).fy() - 300) < 1e-9);
}

void SugarSceneTest::intrinsicsAreOverriddenPerFrame()
{
    const std::string frame = std::string("{\"transform_matrix\": ") + kIdentity + ", ";
    const Scene scene = parse("{\"w\": 8, \"h\": 6, \"fl_x\": 9, \"cx\": 3, \"frames\": [" + frame +
                              "\"file_path\": \"a.png\"}," + frame +
                              "\"file_path\": \"b.png\", \"fl_x\": 7, \"w\": 16}," + frame +
                              "\"file_path\": \"c.png\"}], \"aabb_scale\": 4}");
    QCOMPARE(scene.cameras.size(), 2u);
    QCOMPARE(scene.views[0].camera, scene.views[2].camera);
    const SourceCamera& own = scene.cameras.at(static_cast<std::size_t>(scene.views[1].camera));
    QCOMPARE(own.fx(), 7.0);
    QCOMPARE(own.width, 16);
    QCOMPARE(own.cx(), 3.0);
    QCOMPARE(*scene.boxScale, 4.0);
}

void SugarSceneTest::lensesHaveTheirNames_data()
{
    QTest::addColumn<QString>("keys");
    QTest::addColumn<QString>("model");
    QTest::newRow("none") << ""
                          << "PINHOLE";
    QTest::newRow("zeros") << ", \"k1\": 0, \"p1\": 0.0"
                           << "PINHOLE";
    QTest::newRow("k1") << ", \"k1\": 0.1"
                        << "OPENCV";
    QTest::newRow("negative") << ", \"k2\": -0.1"
                              << "OPENCV";
    QTest::newRow("k3") << ", \"k3\": 0.1"
                        << "FULL_OPENCV";
    QTest::newRow("flag") << ", \"is_fisheye\": true"
                          << "OPENCV_FISHEYE";
    QTest::newRow("name") << ", \"camera_model\": \"OPENCV_FISHEYE\", \"k1\": 1"
                          << "OPENCV_FISHEYE";
    QTest::newRow("simple") << ", \"camera_model\": \"SIMPLE_PINHOLE\""
                            << "PINHOLE";
}

void SugarSceneTest::lensesHaveTheirNames()
{
    QFETCH(QString, keys);
    QFETCH(QString, model);
    const Scene scene = parse(oneFrame("\"w\": 8, \"h\": 6, \"fl_x\": 9" + keys.toStdString()));
    QCOMPARE(nameOf(scene.cameras.at(0).model), model.toStdString());
}

void SugarSceneTest::faultsNameFrameAndKey_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("complaint");
    const auto row = [](const char* name, const std::string& text, const char* complaint) {
        QTest::newRow(name) << QString::fromStdString(text) << complaint;
    };
    row("no JSON", "{", "not valid JSON");
    row("no frames", "{\"w\": 3}", "no list \"frames\"");
    row("empty", "{\"frames\": []}", "is empty");
    row("array", "[1]", "no list \"frames\"");
    row("frame", "{\"frames\": [3]}", "frame 0: the frame is no object");
    row("no size", oneFrame("\"fl_x\": 9"), "frame 0: w and h are missing");
    row("no focal", oneFrame("\"w\": 8, \"h\": 6"), "frame 0: the focal length is missing");
    row("text", oneFrame("\"w\": 8, \"h\": 6, \"fl_x\": \"9\""), "fl_x is no number");
    row("angle", oneFrame("\"w\": 8, \"h\": 6, \"camera_angle_x\": 4"), "between 0 and π");
    row("negative", oneFrame("\"w\": 8, \"h\": 6, \"fl_x\": -9"), "not above 0");
    row("size", oneFrame("\"w\": -8, \"h\": 6, \"fl_x\": 9"), "no size of a picture");
    row("model", oneFrame("\"w\": 8, \"h\": 6, \"fl_x\": 9, \"camera_model\": \"EQUI\""),
        "camera_model EQUI is unknown");
    row("no path",
        std::string("{\"w\":8,\"h\":6,\"fl_x\":9,\"frames\":[{\"transform_matrix\":") + kIdentity +
            "}]}",
        "frame 0: file_path is missing");
    row("no matrix", "{\"frames\": [{\"file_path\": \"a\"}]}", "transform_matrix is missing");
    row("rows", "{\"frames\": [{\"file_path\": \"a\", \"transform_matrix\": [[1,0,0,0]]}]}",
        "no matrix of 3 or 4 rows");
    row("mirrored",
        "{\"frames\": [{\"file_path\": \"a\", \"transform_matrix\": "
        "[[-1,0,0,0],[0,1,0,0],[0,0,1,0]]}]}",
        "holds no rotation");
}

void SugarSceneTest::faultsNameFrameAndKey()
{
    QFETCH(QString, text);
    QFETCH(QString, complaint);
    const QString found = test::thrown<InputError>([&] { parse(text.toStdString()); });
    QVERIFY2(found.contains(complaint), qPrintable(found));
    QVERIFY(found.contains("/nowhere/transforms.json"));
}

void SugarSceneTest::sameSceneComesBackInEveryFormat_data()
{
    QTest::addColumn<SceneFormat>("format");
    QTest::addColumn<QString>("kind");
    QTest::newRow("binary") << SceneFormat::ColmapBinary << "COLMAP binary";
    QTest::newRow("text") << SceneFormat::ColmapText << "COLMAP text";
    QTest::newRow("transforms") << SceneFormat::TransformsJson << "transforms.json";
}

void SugarSceneTest::sameSceneComesBackInEveryFormat()
{
    QFETCH(SceneFormat, format);
    QFETCH(QString, kind);
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    const Scene scene = syntheticScene({32, 24, false, 1});
    writeScene(root, scene, format);
    const Scene read = readScene(root);
    QCOMPARE(read.kind, kind.toStdString());
    QVERIFY(read.findings.empty());
    QCOMPARE(read.views.size(), 28u);
    for (std::size_t i = 0; i < 28; ++i) {
        const std::string prefix = format == SceneFormat::TransformsJson ? "images/" : "";
        QCOMPARE(read.views[i].name, prefix + scene.views[i].name);
        QVERIFY(worstDifference(read.views[i].rotation, scene.views[i].rotation) < 1e-12);
        QVERIFY(worstDifference(read.views[i].translation, scene.views[i].translation) < 1e-12);
        const Image drawn = scene.painter(pinholeCamera(scene.cameras[0], scene.views[i]));
        const Image again = scene.painter(pinholeCamera(read.cameras[0], read.views[i]));
        QVERIFY(drawn.pixels == again.pixels);
        QVERIFY(readPng(read.views[i].image).pixels == drawn.pixels);
        if (format == SceneFormat::TransformsJson)
            QCOMPARE(read.views[i].isTest, scene.views[i].isTest);
    }
    QCOMPARE(read.points.size(), scene.points.size());
    for (std::size_t i = 0; i < scene.points.size(); ++i) {
        QVERIFY(read.points[i].position == scene.points[i].position);
        QVERIFY(read.points[i].colour == scene.points[i].colour);
        if (format != SceneFormat::TransformsJson)
            QVERIFY(read.points[i].trackLength == 3 || scene.points[i].position[2] < 0.05);
    }
}

void SugarSceneTest::lensesSurviveTransforms()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    Scene scene = syntheticScene({16, 12, false, 1});
    scene.cameras = {{1, CameraModel::OpenCv, 16, 12, {17, 18, 8, 6, .1, -.02, .003, .004}},
                     {2, CameraModel::Radial, 16, 12, {17, 8, 6, .1, -.02}},
                     {3, CameraModel::SimpleRadialFisheye, 16, 12, {17, 8, 6, .1}}};
    for (std::size_t i = 0; i < scene.views.size(); ++i)
        scene.views[i].camera = static_cast<int>(i % 3);
    writeScene(root, scene, SceneFormat::TransformsJson);
    const Scene read = readScene(root);
    QCOMPARE(read.cameras.size(), 3u);
    for (std::size_t i = 0; i < scene.views.size(); ++i) {
        const SourceCamera& a = scene.cameras[static_cast<std::size_t>(scene.views[i].camera)];
        const SourceCamera& b = read.cameras[static_cast<std::size_t>(read.views[i].camera)];
        QVERIFY(worstDifference(a.distort(.3, -.2), b.distort(.3, -.2)) < 1e-15);
        QCOMPARE(a.fy(), b.fy());
    }
    scene.cameras[1] = {2, CameraModel::Fov, 16, 12, {17, 17, 8, 6, .5}};
    QVERIFY_THROWS_EXCEPTION(OutputError, writeScene(root, scene, SceneFormat::TransformsJson));
}

void SugarSceneTest::splitFilesMarkTestViews()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    const auto write = [&](const char* name, const char* view) {
        writeFileAtomic(root / name,
                        std::string("{\"camera_angle_x\": 0.7, \"w\": 8, \"h\": 8, \"frames\": [{"
                                    "\"file_path\": \"./") +
                            view + "\", \"transform_matrix\": " + kIdentity + "}]}");
    };
    write("transforms_train.json", "train/r_0");
    write("transforms_val.json", "val/r_0");
    Scene scene = readScene(root);
    QCOMPARE(scene.views.size(), 2u);
    QCOMPARE(scene.views[0].name, "train/r_0.png");
    QVERIFY(testViews(scene, 8) == std::vector<bool>({false, true}));
    write("transforms_test.json", "test/r_0");
    scene = readScene(root);
    QCOMPARE(scene.views.size(), 2u);
    QCOMPARE(scene.views[0].name, "test/r_0.png");
    QVERIFY(testViews(scene, 8) == std::vector<bool>({true, false}));
    QCOMPARE(scene.cameras.size(), 1u);
}

void SugarSceneTest::missingEndingsAreFound()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeJpeg(root / "photo.v2.jpg", makeImage(20, 10, 3));
    writeFileAtomic(root / "transforms.json",
                    std::string("{\"fl_x\": 9, \"frames\": [{\"file_path\": \".\\\\photo.v2\", "
                                "\"transform_matrix\": ") +
                        kIdentity + "}]}");
    const Scene scene = readScene(root);
    QCOMPARE(scene.views.at(0).name, "photo.v2.jpg");
    QCOMPARE(scene.cameras.at(0).width, 20); // from the photograph
    QCOMPARE(scene.cameras.at(0).height, 10);
}

void SugarSceneTest::extentFollowsTheRule()
{
    const auto at = [](double x) { return lookingAt({x, 0, 0}, {x, 5, 0}, {0, 0, 1}, 9, 8, 8); };
    QVERIFY(std::abs(sceneExtent({at(0), at(1), at(5)}, {}) - 1.1 * 3) < 1e-12);
    std::vector<ScenePoint> line;
    for (int i = 0; i <= 100; ++i)
        line.push_back({{i / 10.0, 0, 0}, {}, 0, 2});
    QVERIFY(std::abs(sceneExtent({at(3)}, line) - 1.1 * 4.5) < 1e-9); // 5 to 95 of 0…10
    QVERIFY(std::abs(sceneExtent({at(3), at(3)}, line) - 1.1 * 4.5) < 1e-9);
    QCOMPARE(sceneExtent({}, {}), 1.0);
}

void SugarSceneTest::everyEighthViewIsForTesting()
{
    Scene scene;
    scene.views.resize(17);
    const auto isTest = testViews(scene, 8);
    for (std::size_t i = 0; i < 17; ++i)
        QCOMPARE(isTest[i], i % 8 == 0);
    QVERIFY(testViews(scene, 0) == std::vector<bool>(17, false));
    scene.views[3].isTest = true;
    const auto own = testViews(scene, 8);
    QCOMPARE(std::count(own.begin(), own.end(), true), 1);
    QVERIFY(own[3]);
}

VERGENCE_TEST(SugarSceneTest)
#include "tst_sugar_scene.moc"
