#include <QTest>

#include "plugins/sugar/compute/camera.h"
#include "tests/support/test_program.h"

using namespace vergence::sugar;

class SugarCameraTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void centreInvertsTheTransform()
    {
        const Camera camera = lookingAt({2, -1, 3}, {0, 0, 0.5}, {0, 0, 1}, 100, 64, 48);
        const auto centre = camera.centre();
        QVERIFY(std::abs(centre[0] - 2) < 1e-12);
        QVERIFY(std::abs(centre[1] + 1) < 1e-12);
        QVERIFY(std::abs(centre[2] - 3) < 1e-12);
    }

    void targetIsInTheMiddleAndUpIsUp()
    {
        const Camera camera = lookingAt({0, -2, 0}, {0, 0, 0}, {0, 0, 1}, 100, 64, 48);
        // A point above the target lies at a smaller v, one to the east at a larger u.
        const auto project = [&](double x, double y, double z) {
            const auto& r = camera.rotation;
            const auto& d = camera.translation;
            const double tx = r[0] * x + r[1] * y + r[2] * z + d[0];
            const double ty = r[3] * x + r[4] * y + r[5] * z + d[1];
            const double tz = r[6] * x + r[7] * y + r[8] * z + d[2];
            return std::array<double, 3>{camera.fx * tx / tz + camera.cx,
                                         camera.fy * ty / tz + camera.cy, tz};
        };
        const auto middle = project(0, 0, 0);
        QCOMPARE(middle[0], 32.0);
        QCOMPARE(middle[1], 24.0);
        QCOMPARE(middle[2], 2.0);
        QVERIFY(project(0, 0, 0.1)[1] < 24);
        QVERIFY(project(0.1, 0, 0)[0] > 32);
    }

    void resizingScalesEachAxisByItsRatio()
    {
        Camera camera = lookingAt({0, -2, 0}, {0, 0, 0}, {0, 0, 1}, 100, 533, 949);
        const Camera half = resized(camera, 266, 474);
        QCOMPARE(half.fx, 100 * 266.0 / 533);
        QCOMPARE(half.cy, 949 / 2.0 * 474 / 949);
        QCOMPARE(half.rotation, camera.rotation);
    }
};

VERGENCE_TEST(SugarCameraTest)
#include "tst_sugar_camera.moc"
