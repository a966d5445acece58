#include <csignal>
#include <set>

#include <QPushButton>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

/// S11: my plugin crashes.
class TestCrash : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { StudioSettings().setCheckpointSeconds(1); }

    void aCrashIsACardThatResumes()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start(
            "chaos", "[run]\nsteps = 80\nstep_ms = 60\n[chaos]\nsegv_at = 50\nonly_once = true\n");
        QVERIFY(!run.isEmpty());
        QVERIFY(gui.waitState(run, RunState::Crashed, 60'000));
        QVERIFY(gui.window().isVisible()); // the window lives
        QTRY_VERIFY(gui.card() != nullptr);
        const CardContent content = gui.card()->content();
        QCOMPARE(content.id, QString("E-CRASH"));
        QVERIFY2(content.whatHappened.contains("signal 11"), qPrintable(content.whatHappened));
        QVERIFY2(content.whatHappened.contains("step"), qPrintable(content.whatHappened));
        gui.shoot("crash_card");

        const RunFolder folder = gui.window().runs().find(run)->folder;
        const auto report = nlohmann::json::parse(readFile(folder.root / "crash.json"));
        QCOMPARE(report.at("signal").get<int>(), SIGSEGV);
        QVERIFY(!report.at("sentence").get<std::string>().empty());

        const auto checkpoint = loadNewestCheckpoint(folder);
        QVERIFY(checkpoint && checkpoint->step > 0 && checkpoint->step <= 50);
        auto* resume = gui.card()->findChild<QPushButton*>("card_resume");
        QVERIFY(resume != nullptr);
        QCOMPARE(resume->text(), QString("Resume from step %1").arg(checkpoint->step));
        QTest::mouseClick(resume, Qt::LeftButton);
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        QTRY_VERIFY(gui.card() == nullptr);
        // One curve, every step once.
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{80});
        const Series* loss =
            gui.window().runs().session(run)->client().metrics().find("train/loss");
        const std::set<std::int64_t> steps(loss->steps().begin(), loss->steps().end());
        QCOMPARE(steps.size(), std::size_t{80});
    }
    void aKilledWorkerIsACrashToo()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 4000\nstep_ms = 20\n");
        QVERIFY(gui.waitState(run, RunState::Running));
        const RunFolder folder = gui.window().runs().find(run)->folder;
        QTRY_VERIFY(!listCheckpoints(folder).empty());
        ::kill(readStatus(folder).pid, SIGKILL);
        QVERIFY(gui.waitState(run, RunState::Crashed));
        QTRY_VERIFY(gui.card() != nullptr);
        QCOMPARE(gui.card()->content().id, QString("E-CRASH"));
        QVERIFY2(gui.card()->content().whatHappened.contains("signal 9"),
                 qPrintable(gui.card()->content().whatHappened));
        QVERIFY(gui.card()->findChild<QPushButton*>("card_resume") != nullptr);
    }
    void memoryThatRunsOutIsNamed()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 10\n[chaos]\nbad_alloc_at = 3\n");
        QVERIFY(gui.waitState(run, RunState::Failed, 60'000));
        QTRY_VERIFY(gui.card() != nullptr);
        QCOMPARE(gui.card()->content().id, QString("E-OOM"));
        QTRY_COMPARE(gui.window().runs().find(run)->exitCode, std::optional(5));
    }
    void theQueueGoesOn()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        queue.add({"chaos", {}, {"segv_at=1", "steps=3"}, {}});
        queue.add({"chaos", {}, {"steps=3"}, {}});
        queue.setPaused(false);
        QTRY_COMPARE(queue.item(1).state, RunQueue::ItemState::Done);
        QCOMPARE(queue.item(0).state, RunQueue::ItemState::Failed);
        QTRY_VERIFY(queue.index(0, RunQueue::Status).data().toString().contains("signal 11"));
    }
};

VERGENCE_GUI_TEST(TestCrash)
#include "tst_s11_crash.moc"
