#include <QInputDialog>
#include <QLabel>
#include <QPushButton>
#include <QRandomGenerator>
#include <QTest>

#include "app/shell/error_card.h"
#include "app/shell/watchdog.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

const char* const kLongRun = "[run]\nsteps = 4000\nstep_ms = 20\n";

ErrorCard* cardIn(MainWindow& window)
{
    for (ErrorCard* card : window.findChildren<ErrorCard*>())
        if (card->isVisible())
            return card;
    return nullptr;
}

} // namespace

/// What a person does with runs: the demo, crashes, restarts of the window, impatience.
class TestWindowRuns : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theBigButtonEndsInAResult()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QTest::mouseClick(gui.find<QPushButton>("demoButton"), Qt::LeftButton);
        QCOMPARE(gui.window().docks().current(), QString("Train"));
        const QString run = gui.window().currentRun();
        QVERIFY(!run.isEmpty());
        QVERIFY(gui.waitState(run, RunState::Running));
        const auto frames = [&] { return gui.window().views().current()->pump().framesShown(); };
        QTRY_VERIFY_WITH_TIMEOUT(frames() >= 3, 60'000);
        gui.shoot("demo_running");
        QVERIFY(gui.waitState(run, RunState::Completed, 120'000));
        QTRY_VERIFY(gui.find<QWidget>("successBar")->isVisible());
        const QString sentence = gui.find<QLabel>("successSentence")->text();
        QVERIFY2(sentence.startsWith("Done in"), qPrintable(sentence));
        QVERIFY2(sentence.contains("→"), qPrintable(sentence));
        gui.shoot("demo_done");
        gui.window().docks().reveal("inspectorDock");
        gui.window().docks().reveal("logDock");
        gui.shoot("demo_facts");
    }
    void aCrashIsACardAndResumes()
    {
        StudioSettings().setCheckpointSeconds(1);
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start(
            "chaos", "[run]\nsteps = 60\nstep_ms = 60\n[chaos]\nsegv_at = 45\nonly_once = true\n");
        QVERIFY(!run.isEmpty());
        QVERIFY(gui.waitState(run, RunState::Crashed, 60'000));
        QTRY_VERIFY(cardIn(gui.window()) != nullptr);
        ErrorCard* card = cardIn(gui.window());
        QCOMPARE(card->content().id, QString("E-CRASH"));
        QVERIFY2(card->content().whatHappened.contains("signal 11"),
                 qPrintable(card->content().whatHappened));
        gui.shoot("crash_card");
        auto* resume = card->findChild<QPushButton*>("card_resume");
        QVERIFY2(resume != nullptr, "a checkpoint was written before the crash");
        QTest::mouseClick(resume, Qt::LeftButton);
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        QTRY_VERIFY(cardIn(gui.window()) == nullptr);
    }
    void memoryThatRunsOutIsNamed()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 10\n[chaos]\nbad_alloc_at = 3\n");
        QVERIFY(gui.waitState(run, RunState::Failed, 60'000));
        QTRY_VERIFY(cardIn(gui.window()) != nullptr);
        QCOMPARE(cardIn(gui.window())->content().id, QString("E-OOM"));
    }
    void aRunSurvivesTheWindow()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", kLongRun);
        QVERIFY(gui.waitState(run, RunState::Running));
        const auto points = [&]() -> std::size_t {
            const RunEntry* entry = gui.window().runs().find(run);
            const Series* loss = entry == nullptr || entry->session == nullptr
                                     ? nullptr
                                     : entry->session->client().metrics().find("train/loss");
            return loss == nullptr ? 0 : loss->size();
        };
        QTRY_VERIFY_WITH_TIMEOUT(points() > 20, 20'000);
        const std::size_t before = points();
        gui.restart();
        QVERIFY(gui.waitState(run, RunState::Running));
        QTRY_VERIFY_WITH_TIMEOUT(points() >= before, 10'000);
        QTRY_COMPARE(gui.window().currentRun(), run);
        QTRY_VERIFY(gui.findAction("stop")->isEnabled());
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
    }
    void aRunWithoutAWorkerIsLostAndCanBeMarked()
    {
        const RunFolder folder =
            RunFolder::create((GuiHarness::folder() + "/runs").toStdString(), "chaos");
        RunStatus status;
        status.state = "Running";
        status.plugin = "chaos";
        status.pid = 999'999;
        status.bootId = "another boot";
        status.step = 30;
        status.total = 100;
        writeStatus(folder, status);
        const QString run = QString::fromStdString(folder.id());
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Lost));
        gui.window().openRun(run, false);
        QTRY_VERIFY(cardIn(gui.window()) != nullptr);
        QCOMPARE(cardIn(gui.window())->content().id, QString("E-LOST"));
        gui.shoot("lost_card");
        QTest::mouseClick(cardIn(gui.window())->findChild<QPushButton*>("card_mark_stopped"),
                          Qt::LeftButton);
        QVERIFY(gui.waitState(run, RunState::Stopped));
    }
    void aFloodOfLinesReachesTheLog()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        Watchdog watchdog;
        const QString run =
            gui.start("chaos", "[run]\nsteps = 60\nstep_ms = 20\n[chaos]\nflood = 5000\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        LogModel& log = gui.window().runs().session(run)->log();
        QTRY_VERIFY2(log.rowCount() > 3000, qPrintable(QString::number(log.rowCount())));
        qInfo("%s", watchdog.report().constData());
    }
    void aFinishedRunCanBeExplored()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.restart(); // nobody watches any more, so the worker of the run ends
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.window().openRun(run, true);
        QTRY_VERIFY_WITH_TIMEOUT(gui.window().views().current()->pump().framesShown() >= 1, 30'000);
        QCOMPARE(gui.window().runs().find(run)->state, RunState::Completed);
        gui.window().views().closeRun(run);
    }
    void aCompletedRunCanBeExtended()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 7\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.window().perform(RunAction::Extend, {run});
        auto* dialog = gui.find<QInputDialog>("extendDialog");
        QVERIFY(dialog != nullptr);
        dialog->setIntValue(5);
        dialog->accept();
        QTRY_COMPARE_WITH_TIMEOUT(gui.window().runs().find(run)->total, 12, 30'000);
        QVERIFY(gui.waitState(run, RunState::Completed));
        const auto pointsOfLoss = [&] {
            const auto& metrics = gui.window().runs().find(run)->session->client().metrics();
            const Series* loss = metrics.find("train/loss"); // null until the history is read
            return loss != nullptr ? loss->size() : 0;
        };
        QTRY_COMPARE(pointsOfLoss(), 12u);
    }
    void impatienceBreaksNothing()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 2000\nstep_ms = 5\nsave_ms = 50\n");
        gui.findAction("pause")->trigger();
        QRandomGenerator random(7);
        const QStringList ids{"pause",     "checkpoint", "fullScreen", "resetLayout",
                              "startPage", "newRun",     "nextProblem"};
        for (int click = 0; click < 100; ++click) {
            QAction* action = gui.findAction(ids[random.bounded(static_cast<int>(ids.size()))]);
            if (action->isEnabled())
                action->trigger();
            QTest::qWait(10);
        }
        if (gui.window().isFullScreen())
            gui.findAction("fullScreen")->trigger();
        const auto isSettled = [&] {
            const RunState state = gui.window().runs().find(run)->state;
            return state == RunState::Running || state == RunState::Paused || isFinal(state);
        };
        QTRY_VERIFY_WITH_TIMEOUT(isSettled(), 20'000);
        gui.window().perform(RunAction::Stop, {run});
        QTRY_VERIFY_WITH_TIMEOUT(isFinal(gui.window().runs().find(run)->state), 30'000);
        QVERIFY(!isWorkerAlive(readStatus(gui.window().runs().find(run)->folder)) ||
                gui.window().runs().find(run)->state == RunState::Completed ||
                gui.window().runs().find(run)->state == RunState::Stopped);
    }
    void tenThousandRunsAreListed()
    {
        const QString folder = GuiHarness::folder() + "/many";
        RunStatus status;
        status.state = "Completed";
        status.plugin = "chaos";
        for (int i = 0; i < 10'000; ++i) {
            const RunFolder run{
                (folder + QString("/2026-01-01T00-00-00Z-chaos-%1").arg(i, 5, 10, QChar('0')))
                    .toStdString()};
            std::filesystem::create_directories(run.root);
            const std::string text = status.toJson().dump();
            QFile file(QString::fromStdString(run.status().string()));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.data(), static_cast<qint64>(text.size()));
        }
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.runsFolder = folder;
        GuiHarness gui(options);
        QTRY_COMPARE_WITH_TIMEOUT(gui.window().runs().rowCount(), 10'000, 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(gui.window().runs().entry(9'999).isLoaded, 60'000);
    }
};

VERGENCE_GUI_TEST_MAIN(TestWindowRuns)
#include "tst_window_runs.moc"
