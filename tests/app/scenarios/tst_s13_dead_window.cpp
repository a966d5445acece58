#include <csignal>
#include <sstream>

#include <QElapsedTimer>
#include <QPushButton>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/support/gui/gui_harness.h"
#include "tests/support/gui/window_process.h"
#include "tests/support/silent_run.h"

using namespace vergence;

namespace {

RunFolder folderOf(const QString& run)
{
    return RunFolder{(GuiHarness::folder() + "/runs/" + run).toStdString()};
}

std::int64_t stepOf(const RunFolder& folder)
{
    return std::filesystem::exists(folder.status()) ? readStatus(folder).step : -1;
}

/// Texts of the run's log as the window holds them, repeats counted, in alphabetical order. Without
/// the source "run": the window writes changes of the state there as well.
QStringList shownLines(GuiHarness& gui, const QString& run)
{
    const LogModel& log = gui.window().runs().session(run)->log();
    QStringList lines;
    for (int row = 0; row < log.rowCount(); ++row)
        for (int i = 0; i < log.row(row).repeats && log.row(row).source != "run"; ++i)
            lines << log.row(row).text;
    lines.sort();
    return lines;
}

QStringList keptLines(const RunFolder& folder)
{
    QStringList lines;
    std::istringstream file(readFile(folder.log()));
    for (std::string line; std::getline(file, line);)
        if (const auto json = nlohmann::json::parse(line); json.value("area", "") != "run")
            lines << QString::fromStdString(json.value("text", ""));
    lines.sort();
    return lines;
}

} // namespace

/// S13: the window dies, the run must not.
class TestDeadWindow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { StudioSettings().setCheckpointSeconds(1); }

    void aRunOutlivesItsWindowAndIsFoundAgain()
    {
        WindowProcess window("chaos", "[run]\nsteps = 400\nstep_ms = 20\n[chaos]\nflood = 20\n");
        const QString run = window.run();
        QVERIFY(!run.isEmpty());
        const RunFolder folder = folderOf(run);
        QTRY_VERIFY(stepOf(folder) >= 30);
        const int worker = readStatus(folder).pid;
        QVERIFY(window.kill());
        const std::int64_t atDeath = stepOf(folder);
        QVERIFY(atDeath < 400);
        QTRY_VERIFY(stepOf(folder) > atDeath); // the worker goes on
        QCOMPARE(readStatus(folder).pid, worker);
        QVERIFY(isWorkerAlive(readStatus(folder)));

        QElapsedTimer timer;
        timer.start();
        GuiHarness gui;
        QVERIFY(gui.waitState(run, RunState::Running));
        qInfo("found running after %lld ms", timer.elapsed());
        QCOMPARE(gui.window().currentRun(), run);
        QVERIFY(gui.findAction("stop")->isEnabled());
        // The whole history, from the first step on.
        const auto& charts = *gui.window().findChild<ChartsPanel*>();
        const auto firstStep = [&]() -> std::int64_t {
            const Series* loss =
                gui.window().runs().session(run)->client().metrics().find("train/loss");
            return loss == nullptr ? -1 : loss->steps().front();
        };
        QTRY_VERIFY(charts.pointCount("train/loss") > atDeath);
        QCOMPARE(firstStep(), std::int64_t{0});

        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        QTRY_COMPARE(charts.pointCount("train/loss"), 400);
        const Series* loss =
            gui.window().runs().session(run)->client().metrics().find("train/loss");
        for (std::size_t i = 0; i < loss->size(); ++i)
            QCOMPARE(loss->steps()[i], static_cast<std::int64_t>(i));
        const std::string onDisk = readFile(folder.metrics());
        QCOMPARE(QByteArrayView(onDisk).toByteArray().count(",train/loss,"), 400);
        QTRY_COMPARE(shownLines(gui, run), keptLines(folder));
        QVERIFY(keptLines(folder).size() > 20);
    }
    void afterARestartOfTheComputerItIsLostAndCanBeResumed()
    {
        WindowProcess window("chaos", "[run]\nsteps = 150\nstep_ms = 20\n"
                                      "[chaos]\nhang_at = 140\nonly_once = true\n");
        const QString run = window.run();
        QVERIFY(!run.isEmpty());
        const RunFolder folder = folderOf(run);
        QTRY_VERIFY(!listCheckpoints(folder).empty());
        QVERIFY(window.kill());
        const int worker = readStatus(folder).pid;
        ::kill(worker, SIGKILL);
        QTRY_VERIFY(!isWorkerAlive(readStatus(folder)));
        RunStatus status = readStatus(folder);
        status.bootId = "another boot"; // as if the computer had restarted since
        writeStatus(folder, status);
        test::silence(folder, 60);

        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Lost));
        gui.window().openRun(run, false);
        QTRY_VERIFY(gui.card() != nullptr);
        QCOMPARE(gui.card()->content().id, QString("E-LOST"));
        gui.shoot("lost_card");
        QVERIFY(gui.card()->findChild<QPushButton*>("card_mark_stopped") != nullptr);
        auto* resume = gui.card()->findChild<QPushButton*>("card_resume");
        QVERIFY(resume != nullptr && resume->isEnabled());
        QTest::mouseClick(resume, Qt::LeftButton);
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{150});
    }
    void aLostRunCanBeMarkedAsStopped()
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
        test::silence(folder, 60);
        const QString run = QString::fromStdString(folder.id());
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Lost));
        gui.window().openRun(run, false);
        QTRY_VERIFY(gui.card() != nullptr);
        QTest::mouseClick(gui.card()->findChild<QPushButton*>("card_mark_stopped"), Qt::LeftButton);
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QTRY_VERIFY(gui.card() == nullptr);
        gui.restart();
        QVERIFY(gui.waitState(run, RunState::Stopped)); // on disk too
    }
};

VERGENCE_GUI_TEST(TestDeadWindow)
#include "tst_s13_dead_window.moc"
