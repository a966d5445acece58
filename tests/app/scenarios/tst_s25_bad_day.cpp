#include <QDir>
#include <QTest>

#include "core/base/file.h"
#include "tests/support/gui/gui_harness.h"
#include "tests/support/gui/window_process.h"

using namespace vergence;

/// S25: I have a bad day.
class TestBadDay : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void anyPathWillDo()
    {
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.runsFolder = GuiHarness::folder() + "/Übung é 空 (1)";
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 20\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{20});
        QCOMPARE(QDir(options.runsFolder).entryList(QDir::Dirs | QDir::NoDotAndDotDot),
                 QStringList(run));
        gui.restart();
        QVERIFY(gui.waitState(run, RunState::Completed));
    }
    void settingsThatCannotBeKeptStopNothing()
    {
        // A file stands where the folder of settings would be made: unwritable for everybody.
        const QString blocked = GuiHarness::folder() + "/blocked";
        writeFileAtomic(blocked.toStdString(), std::string_view("no folder\n"));
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.settingsFolder = blocked + "/settings";
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        QCOMPARE(GuiHarness::visibleDialogs(), 0);
        gui.window().docks().apply("Inspect");
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.restart();
        QVERIFY(gui.find<QWidget>("centralStack")->isVisible());
    }
    void afterAKillTheRunsAreShownAgain()
    {
        WindowProcess window("chaos", "[run]\nsteps = 100000\nstep_ms = 20\n", "Compare");
        QVERIFY(!window.run().isEmpty());
        QVERIFY(window.kill());
        GuiHarness gui;
        QVERIFY(gui.waitState(window.run(), RunState::Running));
        QTRY_COMPARE(gui.window().currentRun(), window.run());
        QVERIFY(gui.window().views().find(window.run()) != nullptr);
    }
};

VERGENCE_GUI_TEST(TestBadDay)
#include "tst_s25_bad_day.moc"
