#include <cmath>

#include <QtTest>

#include "app/viewport/scene_camera.h"
#include "tests/support/small_scene.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

using Matrix = std::array<double, 16>;

Point3 column(const Matrix& matrix, int index)
{
    return {matrix[4 * index], matrix[4 * index + 1], matrix[4 * index + 2]};
}

double dot(const Point3& a, const Point3& b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double distance(const Point3& a, const Point3& b)
{
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

double largestDifference(const Matrix& a, const Matrix& b)
{
    double largest = 0;
    for (int i = 0; i < 16; ++i)
        largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

ScenePose poseOfSmallScene()
{
    return readScenePose(test::SmallScene().draw("scene").info).value();
}

/// A pinhole's picture of a world point: offset from the centre in heights of the picture.
QPointF seen(const SceneCamera& camera, const Point3& point)
{
    const Matrix m = camera.viewToWorld();
    const Point3 eye = column(m, 3);
    const Point3 offset{point[0] - eye[0], point[1] - eye[1], point[2] - eye[2]};
    const double z = dot(offset, column(m, 2));
    return {camera.focal() * dot(offset, column(m, 0)) / z,
            camera.focal() * dot(offset, column(m, 1)) / z};
}

} // namespace

class SceneCameraTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void metaIsRead();
    void metaWithoutACameraIsNone_data();
    void metaWithoutACameraIsNone();
    void matrixOfAPoseIsKept_data();
    void matrixOfAPoseIsKept();
    void rollIsTakenOutOnceItMoves();
    void neverRolls();
    void orbitKeepsTargetAndDistance();
    void sceneFollowsTheDrag();
    void steepViewsEndAtThePole();
    void panMovesTheTargetUnderThePointer();
    void dollyKeepsTheDirection();
    void zoomKeepsThePlace();
    void flightGoesAlongTheAxes();
    void targetAtTheEyeIsPutAhead();
};

void SceneCameraTest::metaIsRead()
{
    test::SmallScene scene;
    scene.jump = 3;
    scene.isPreview = true;
    const auto pose = readScenePose(scene.draw("scene").info);
    QVERIFY(pose.has_value());
    QVERIFY(pose->viewToWorld == scene.camera);
    QCOMPARE(pose->focal, 1.2);
    QVERIFY((pose->up == Point3{0, 0, 1}));
    QVERIFY((pose->target == Point3{0, 0, 0.5}));
    QCOMPARE(pose->extent, 4.0);
    QVERIFY(pose->isPreview);
    QVERIFY(pose->jump == 3);
}

void SceneCameraTest::metaWithoutACameraIsNone_data()
{
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("value");
    QTest::newRow("no camera") << "camera"
                               << "null";
    QTest::newRow("short camera") << "camera"
                                  << "[1,0,0,0]";
    QTest::newRow("no rotation") << "camera"
                                 << "[2,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]";
    QTest::newRow("mirror") << "camera"
                            << "[-1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]";
    QTest::newRow("words") << "camera"
                           << R"(["a",0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1])";
    QTest::newRow("no focal length") << "focal"
                                     << "null";
    QTest::newRow("focal length 0") << "focal"
                                    << "[0,0]";
}

void SceneCameraTest::metaWithoutACameraIsNone()
{
    QFETCH(QString, key);
    QFETCH(QString, value);
    FrameInfo info = test::SmallScene().draw("scene").info;
    QVERIFY(readScenePose(info).has_value());
    auto meta = nlohmann::json::parse(info.meta);
    meta[key.toStdString()] = nlohmann::json::parse(value.toStdString());
    info.meta = meta.dump();
    QVERIFY(!readScenePose(info).has_value());
    info.meta = "no JSON";
    QVERIFY(!readScenePose(info).has_value());
}

void SceneCameraTest::matrixOfAPoseIsKept_data()
{
    QTest::addColumn<double>("x");
    QTest::addColumn<double>("y");
    QTest::addColumn<double>("z");
    QTest::newRow("front") << 0.0 << -4.0 << 1.0;
    QTest::newRow("behind") << 0.3 << 5.0 << -2.0;
    QTest::newRow("right") << 7.0 << 0.0 << 0.5;
    QTest::newRow("nearly above") << 0.01 << -0.02 << 9.0;
}

void SceneCameraTest::matrixOfAPoseIsKept()
{
    QFETCH(double, x);
    QFETCH(double, y);
    QFETCH(double, z);
    test::SmallScene scene;
    scene.lookFrom({x, y, z});
    scene.target = {0.2, -0.1, 0.7}; // beside the axis
    SceneCamera camera(readScenePose(scene.draw("scene").info).value());
    QVERIFY(camera.viewToWorld() == scene.camera);
    camera.orbit({}); // a movement of nothing, by which it is computed
    QVERIFY(largestDifference(camera.viewToWorld(), scene.camera) < 1e-12);
    QCOMPARE(camera.focal(), 1.2);
}

void SceneCameraTest::rollIsTakenOutOnceItMoves()
{
    ScenePose pose = poseOfSmallScene();
    const Matrix level = pose.viewToWorld;
    const double c = std::cos(0.3), s = std::sin(0.3);
    for (int i = 0; i < 3; ++i) {
        pose.viewToWorld[i] = c * level[i] + s * level[4 + i];
        pose.viewToWorld[4 + i] = c * level[4 + i] - s * level[i];
    }
    SceneCamera camera(pose);
    QVERIFY(camera.viewToWorld() == pose.viewToWorld);
    camera.zoom(1.1);
    QVERIFY(camera.viewToWorld() == pose.viewToWorld);
    camera.pan({}, 300);
    QVERIFY(largestDifference(camera.viewToWorld(), level) < 1e-12);
}

void SceneCameraTest::neverRolls()
{
    ScenePose pose = poseOfSmallScene();
    pose.up = {0.3, -0.4, 1.2};
    SceneCamera camera(pose);
    for (int i = 0; i < 200; ++i) {
        camera.orbit({i * 3.7, 60 * std::sin(i)});
        camera.pan({5.0 * i, -2.0 * i}, 600);
        camera.fly({0.01 * i, 0.02, -0.01});
        camera.dolly(i % 2 ? 1.3 : 0.8);
        const Matrix m = camera.viewToWorld();
        const Point3 x = column(m, 0), y = column(m, 1), z = column(m, 2);
        QVERIFY(std::abs(dot(x, pose.up)) < 1e-12);
        QVERIFY(dot(y, pose.up) <= 1e-12); // the world's up is never down in the picture
        QVERIFY(std::abs(dot(x, x) - 1) < 1e-12 && std::abs(dot(z, z) - 1) < 1e-12 &&
                std::abs(dot(x, y)) < 1e-12 && std::abs(dot(y, z)) < 1e-12);
    }
}

void SceneCameraTest::orbitKeepsTargetAndDistance()
{
    ScenePose pose = poseOfSmallScene();
    pose.target = {0.4, 0.3, 0.2}; // not in the middle of the picture
    SceneCamera camera(pose);
    const QPointF where = seen(camera, pose.target);
    const double before = distance(camera.eye(), pose.target);
    for (int i = 0; i < 40; ++i) {
        camera.orbit({17, i % 7 - 3.0});
        QVERIFY(camera.target() == pose.target);
        QVERIFY(std::abs(distance(camera.eye(), pose.target) - before) < 1e-12);
        const QPointF moved = seen(camera, pose.target) - where;
        QVERIFY(std::hypot(moved.x(), moved.y()) < 1e-12);
    }
}

void SceneCameraTest::sceneFollowsTheDrag()
{
    SceneCamera camera(poseOfSmallScene());
    const Point3 inFront{0, -0.5, 0.5}; // nearer than the target
    camera.orbit({20, 0});
    QVERIFY(seen(camera, inFront).x() > 0.01);
    camera.orbit({-20, 0});
    const double before = seen(camera, inFront).y();
    camera.orbit({0, 20});
    QVERIFY(seen(camera, inFront).y() > before + 0.01);
}

void SceneCameraTest::steepViewsEndAtThePole()
{
    SceneCamera camera(poseOfSmallScene());
    camera.orbit({0, 10000});
    const Matrix m = camera.viewToWorld();
    QVERIFY(std::abs(column(m, 2)[2] + 1) < 1e-12); // straight down
    QVERIFY(std::abs(column(m, 0)[0] - 1) < 1e-9);  // x still to the right of the first view
    ScenePose pose = poseOfSmallScene();
    pose.viewToWorld = m;
    SceneCamera again(pose);
    again.orbit({});
    QVERIFY(largestDifference(again.viewToWorld(), m) < 1e-9);
}

void SceneCameraTest::panMovesTheTargetUnderThePointer()
{
    SceneCamera camera(poseOfSmallScene());
    const Point3 before = camera.target(), eye = camera.eye();
    camera.pan({60, -30}, 300);
    const QPointF at = seen(camera, before);
    QVERIFY(std::abs(at.x() - 0.2) < 1e-12 && std::abs(at.y() + 0.1) < 1e-12);
    const QPointF target = seen(camera, camera.target());
    QVERIFY(std::hypot(target.x(), target.y()) < 1e-12);
    for (int i = 0; i < 3; ++i)
        QVERIFY(std::abs((camera.eye()[i] - eye[i]) - (camera.target()[i] - before[i])) < 1e-12);
}

void SceneCameraTest::dollyKeepsTheDirection()
{
    SceneCamera camera(poseOfSmallScene());
    const Matrix before = camera.viewToWorld();
    const double far = camera.distance();
    camera.dolly(2);
    QVERIFY(std::abs(camera.distance() - far / 2) < 1e-12);
    QVERIFY(std::abs(distance(camera.eye(), camera.target()) - far / 2) < 1e-12);
    for (int i = 0; i < 12; ++i)
        QVERIFY(std::abs(camera.viewToWorld()[i] - before[i]) < 1e-12);
    for (int i = 0; i < 100; ++i)
        camera.dolly(10);
    QVERIFY(camera.distance() > 0);
    camera.dolly(1e-30);
    QVERIFY(std::isfinite(camera.distance()));
}

void SceneCameraTest::zoomKeepsThePlace()
{
    SceneCamera camera(poseOfSmallScene());
    const Matrix before = camera.viewToWorld();
    camera.zoom(1.5);
    QCOMPARE(camera.focal(), 1.8);
    QVERIFY(camera.viewToWorld() == before);
    camera.zoom(1e9);
    const double longest = camera.focal();
    camera.zoom(2);
    QCOMPARE(camera.focal(), longest);
}

void SceneCameraTest::flightGoesAlongTheAxes()
{
    SceneCamera camera(poseOfSmallScene());
    const Matrix before = camera.viewToWorld();
    camera.fly({0.25, 0.5, -0.75}); // of an extent of 4
    for (int i = 0; i < 3; ++i) {
        const double wanted = 1 * before[i] - 3 * before[8 + i] + (i == 2 ? 2 : 0);
        QVERIFY(std::abs(camera.viewToWorld()[12 + i] - before[12 + i] - wanted) < 1e-12);
    }
}

void SceneCameraTest::targetAtTheEyeIsPutAhead()
{
    ScenePose pose = poseOfSmallScene();
    const Matrix before = pose.viewToWorld;
    pose.target = column(before, 3);
    SceneCamera camera(pose);
    camera.orbit({});
    QVERIFY(largestDifference(camera.viewToWorld(), before) < 1e-12);
    QVERIFY(std::abs(camera.distance() - 4) < 1e-12);
}

VERGENCE_TEST(SceneCameraTest)
#include "tst_scene_camera.moc"
