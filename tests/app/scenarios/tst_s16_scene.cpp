#include <QComboBox>
#include <QMouseEvent>
#include <QTest>

#include "app/viewport/scene_camera.h"
#include "tests/app/scenarios/hands.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::choose;
using test::moveTo;

namespace {

const std::string kScene = "scene";

} // namespace

/// S16: I look at results in 3D. A worker draws the scene; the window only says from where.
class TestScene : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theWorkerDrawsWhereTheViewerLooks()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "scene = true\nsteps = 1000000\nstep_ms = 20\n");
        QVERIFY(!run.isEmpty() && gui.waitState(run, RunState::Running));
        auto* modes = gui.find<QComboBox>("viewModeCombo");
        ViewPanel& panel = gui.window().views().current()->panel();
        // The mode can be chosen once the worker has said that it has such a stream.
        QTRY_VERIFY(modes->findText("3-D scene") >= 0);
        const std::vector<std::string> sceneAlone{kScene};
        QTRY_VERIFY((choose(*modes, "3-D scene"), panel.visibleStreams() == sceneAlone));
        QWidget* canvas = gui.find<QWidget>("viewport");
        if (canvas == nullptr)
            canvas = gui.find<QWidget>("softwareView");
        const auto frame = [&] { return panel.frameWithPixels(kScene); };
        const auto widthOfPicture = [&] {
            const auto shown = frame();
            return shown ? static_cast<int>(shown->info.width) : 0;
        };
        const auto full = [&] { return qRound(canvas->width() * canvas->devicePixelRatioF()); };
        QTRY_VERIFY(frame().has_value());
        QTRY_COMPARE(widthOfPicture(), full());
        const auto before = readScenePose(frame()->info);
        gui.shoot("scene");

        const QPoint middle = canvas->rect().center();
        QTest::mousePress(canvas, Qt::LeftButton, {}, middle);
        moveTo(*canvas, middle + QPoint(120, 30));
        QTRY_VERIFY(widthOfPicture() < full()); // reduced while it moves
        gui.shoot("scene_moving");
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, middle + QPoint(120, 30));
        QTRY_COMPARE(widthOfPicture(), full());
        const auto after = readScenePose(frame()->info);
        QVERIFY(after->viewToWorld != before->viewToWorld);
        QVERIFY(after->target == before->target);

        QTest::keyClick(canvas, Qt::Key_F); // the run chooses the place
        QTRY_VERIFY(readScenePose(frame()->info)->jump.has_value());
        gui.shoot("scene_fitted");
        QTest::keyClick(canvas, Qt::Key_Home);
        QTRY_VERIFY(std::abs(readScenePose(frame()->info)->viewToWorld[13] + 4) < 1e-9);
        gui.endRuns();
    }
};

VERGENCE_GUI_TEST(TestScene)
#include "tst_s16_scene.moc"
