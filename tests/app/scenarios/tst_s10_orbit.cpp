#include <QComboBox>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <QTest>

#include "app/shell/watchdog.h"
#include "tests/app/scenarios/hands.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::choose;
using test::moveTo;

namespace {

constexpr qint64 kWatchMs = 5000;

/// Steps of the run per second while `act` is called 60 times a second.
template <class Act>
double stepsPerSecond(GuiHarness& gui, const QString& run, Act act)
{
    const std::int64_t before = gui.window().runs().find(run)->step;
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < kWatchMs) {
        act(timer.elapsed());
        QTest::qWait(16);
    }
    return 1000.0 * static_cast<double>(gui.window().runs().find(run)->step - before) /
           static_cast<double>(timer.elapsed());
}

} // namespace

/// S10: I orbit while it trains. Looking at a run must not stop it. The bounds leave room for a
/// computer that is busy with builds; the figures are printed.
class TestOrbit : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theRunGoesOnWhileIOrbit()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        gui.window().actions().newRun->trigger();
        gui.window().setup().choose("light_field", "demo");
        gui.type("iterations", "10000");
        const QString run = gui.window().startDraft();
        QVERIFY(!run.isEmpty() && gui.waitState(run, RunState::Running, 60'000));
        auto* modes = gui.find<QComboBox>("viewModeCombo");
        ViewPanel& panel = gui.window().views().current()->panel();
        QTRY_VERIFY(modes->findText("Stack in 3-D") >= 0);
        const std::vector<std::string> planes{"planes"};
        QTRY_VERIFY((choose(*modes, "Stack in 3-D"), panel.visibleStreams() == planes));
        QTRY_VERIFY(panel.frameWithPixels("planes").has_value());
        QTRY_VERIFY(gui.window().runs().find(run)->step > 2);
        QWidget* canvas = gui.find<QWidget>("viewport");
        QVERIFY2(canvas != nullptr, "this test needs OpenGL 3.3");

        std::vector<RunState> states;
        connect(&gui.window().runs(), &RunListModel::runStateChanged, this,
                [&](const QString&, RunState state) { states.push_back(state); });
        const double alone = stepsPerSecond(gui, run, [](qint64) {});

        const QPoint middle = canvas->rect().center();
        const QImage before = panel.grabView();
        const int painted = panel.paintCount();
        Watchdog watchdog;
        QTest::mousePress(canvas, Qt::LeftButton, {}, middle);
        const double orbiting = stepsPerSecond(gui, run, [&](qint64 elapsed) {
            moveTo(*canvas, middle + QPoint(static_cast<int>(elapsed / 25), 20));
        });
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, middle + QPoint(200, 20));
        const double frames = 1000.0 * (panel.paintCount() - painted) / kWatchMs;
        qInfo("%.1f steps/s alone, %.1f while orbiting, %.0f frames/s; %s", alone, orbiting, frames,
              watchdog.report().left(160).constData());
        gui.shoot("orbit");

        QVERIFY(states.empty()); // neither paused nor ended
        QVERIFY2(orbiting > 0.3 * alone,
                 qPrintable(QString("%1 of %2 steps/s").arg(orbiting).arg(alone)));
        QVERIFY2(frames >= 5, qPrintable(QString::number(frames)));
        QVERIFY2(watchdog.longestBusyMs() < 200, watchdog.report().constData());
        QVERIFY(panel.grabView() != before);
        gui.endRuns();
    }
};

VERGENCE_GUI_TEST(TestOrbit)
#include "tst_s10_orbit.moc"
