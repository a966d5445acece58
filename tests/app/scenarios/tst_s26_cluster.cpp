#include <algorithm>

#include <QDir>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTextEdit>
#include <QToolButton>

#include "app/shell/target_choice.h"
#include "core/cluster/target.h"
#include "tests/app/scenarios/hands.h"
#include "tests/support/gui/fake_slurm.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::FakeSlurm;

namespace {

const char* const kShort = "[run]\nsteps = 5\n";
const char* const kLong = "[run]\nsteps = 4000\nstep_ms = 10\n";

void makeTarget()
{
    Target target;
    target.name = "bench";
    saveTarget(target);
}

void chooseTarget(GuiHarness& gui, const QString& name)
{
    test::choose(*gui.find<QComboBox>("targetChoice"), name);
    QCOMPARE(gui.find<QComboBox>("targetChoice")->currentText(), name);
}

QStringList runsIn(GuiHarness& gui, RunState state)
{
    QStringList ids;
    for (int row = 0; row < gui.window().runs().rowCount(); ++row)
        if (const RunEntry& run = gui.window().runs().entry(row);
            run.isLoaded && run.state == state)
            ids << run.id;
    return ids;
}

/// Submits `plugin` with the values of `toml` from the form; id of its run once it waits.
QString submit(GuiHarness& gui, const QString& toml)
{
    const QStringList before = runsIn(gui, RunState::Queued);
    gui.start("chaos", toml);
    QString id;
    const auto isThere = [&] {
        for (const QString& queued : runsIn(gui, RunState::Queued))
            if (!before.contains(queued) && gui.window().currentRun() == queued)
                id = queued;
        return !id.isEmpty();
    };
    static_cast<void>(test::waitFor(isThere));
    return id;
}

QString textOf(GuiHarness& gui, const QString& run)
{
    const RunEntry* entry = gui.window().runs().find(run);
    return entry == nullptr ? QString() : stateText(*entry);
}

QString statusText(GuiHarness& gui)
{
    return gui.find<QToolButton>("statusRun")->text();
}

} // namespace

/// S26: runs go to the queue of a cluster and are watched from the window.
class TestCluster : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { makeTarget(); }
    void cleanup()
    {
        StudioSettings().setTarget({});
        for (const std::string& name : targetNames())
            removeTarget(name);
    }

    void aRunWaitsWorksAndEndsWhereTheWindowSeesIt()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        QVERIFY(!gui.find<QPushButton>("queueButton")->isEnabled());
        QVERIFY(!gui.findAction("queue")->isEnabled());
        const QString run = submit(gui, "[run]\nsteps = 300\nstep_ms = 10\n");
        QVERIFY(!run.isEmpty());
        QCOMPARE(slurm.arrays(), QStringList{""});
        QCOMPARE(gui.window().statusBar()->currentMessage(), QString("Submitted as job 1."));
        QTRY_COMPARE(textOf(gui, run), QString("Queued (other jobs go first)"));
        QVERIFY2(statusText(gui).endsWith("job 1 (bench)"), qPrintable(statusText(gui)));
        QVERIFY(gui.findAction("stop")->isEnabled() && !gui.findAction("resume")->isEnabled());
        gui.shoot("cluster_queued");
        slurm.setReason("Resources");
        QTRY_COMPARE(textOf(gui, run), QString("Queued (it waits for free nodes)"));
        slurm.letBegin();
        QVERIFY(gui.waitState(run, RunState::Running));
        const QString host = QString::fromStdString(currentHost());
        QVERIFY2(textOf(gui, run).startsWith("Running on " + host), qPrintable(textOf(gui, run)));
        QTRY_VERIFY2(statusText(gui).contains("on " + host + ", job 1 (bench)"),
                     qPrintable(statusText(gui)));
        gui.window().docks().reveal("inspectorDock");
        QTRY_VERIFY(gui.find<QTextEdit>("inspectorFacts")->toPlainText().contains("1 (bench)"));
        gui.shoot("cluster_running");
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{300});
        QTRY_VERIFY(slurm.queued().isEmpty());
    }
    void aQueuedRunIsTakenOutOfTheQueue()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        const QString run = submit(gui, kShort);
        QTRY_VERIFY(gui.findAction("stop")->isEnabled());
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QVERIFY(slurm.queued().isEmpty());
        // It can go there again, or here.
        QVERIFY(gui.findAction("resume")->isEnabled() && gui.findAction("resumeHere")->isEnabled());
        gui.findAction("resume")->trigger();
        QVERIFY(gui.waitState(run, RunState::Queued));
        QTRY_COMPARE(slurm.arrays().size(), qsizetype{2});
        QTRY_VERIFY(gui.findAction("stop")->isEnabled());
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        gui.findAction("resumeHere")->trigger();
        QVERIFY(gui.waitState(run, RunState::Completed));
        QVERIFY(!gui.window().runs().find(run)->isElsewhere());
    }
    void aLiveRunStopsAndGoesOnInTheQueue()
    {
        const FakeSlurm slurm;
        slurm.letBegin();
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        gui.start("chaos", kLong);
        QTRY_VERIFY(!runsIn(gui, RunState::Running).isEmpty());
        const QString run = gui.window().currentRun();
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        slurm.hold();
        gui.findAction("resume")->trigger();
        QVERIFY(gui.waitState(run, RunState::Queued));
        slurm.letBegin();
        QVERIFY(gui.waitState(run, RunState::Running));
        QCOMPARE(gui.window().runs().find(run)->slurmJob, QString("slurm 2"));
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
    }
    void aRunWhoseTimeIsUpWaitsAndGoesOn()
    {
        const FakeSlurm slurm;
        slurm.letBegin();
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        gui.start("chaos", "[run]\nsteps = 400\nstep_ms = 10\n");
        QTRY_VERIFY(!runsIn(gui, RunState::Running).isEmpty());
        const QString run = gui.window().currentRun();
        QTRY_VERIFY(gui.valuesOf(run, "train/loss").size() > 20);
        slurm.endTime("1");
        QVERIFY(gui.waitState(run, RunState::Queued));
        QVERIFY(!gui.findAction("resume")->isEnabled()); // it does so by itself
        slurm.letBegin();
        QVERIFY(gui.waitState(run, RunState::Running));
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{400});
    }
    void runsInTheFolderOfATargetAreListed()
    {
        const QTemporaryDir shared;
        Target target;
        target.name = "bench";
        target.folder = shared.path().toStdString();
        saveTarget(target);
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        const QString run = submit(gui, kShort);
        QVERIFY(QDir(shared.filePath(run)).exists());
        slurm.letBegin();
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.restart();
        QVERIFY(gui.waitState(run, RunState::Completed));
    }
    void whatTheClusterRefusesIsACard()
    {
        Target target;
        target.name = "bench";
        target.partition = "gpu";
        saveTarget(target);
        const FakeSlurm slurm;
        slurm.refuse("sbatch: error: invalid partition specified: gpu\n"
                     "sbatch: error: Batch job submission failed: Invalid partition name "
                     "specified\n");
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        const int before = gui.window().runs().rowCount();
        gui.start("chaos", kShort);
        QTRY_VERIFY(gui.card() != nullptr);
        QCOMPARE(gui.card()->content().id, QString("E-CLUSTER"));
        const QString said = gui.card()->content().whatHappened + gui.card()->content().why;
        QVERIFY2(said.contains("no partition `gpu`"), qPrintable(said));
        gui.shoot("cluster_refused");
        QTRY_COMPARE(gui.window().runs().rowCount(), before);
        QVERIFY(gui.find<QPushButton>("startButton")->isEnabled());
        QTest::mouseClick(gui.card()->findChild<QPushButton*>("card_targets"), Qt::LeftButton);
        auto* dialog = gui.find<QDialog>("targetsDialog");
        QVERIFY(dialog != nullptr && dialog->isVisible());
        dialog->close();
    }
    void aQueuedRunIsFoundAgain()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        const QString run = submit(gui, "[run]\nsteps = 300\nstep_ms = 10\n");
        QVERIFY(!run.isEmpty());
        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QTRY_COMPARE(textOf(gui, run), QString("Queued (other jobs go first)"));
        QCOMPARE(gui.window().setup().place().target(), QString("bench"));
        QVERIFY(gui.window().runs().find(run)->session == nullptr);
        slurm.letBegin();
        QVERIFY(gui.waitState(run, RunState::Running));
        QVERIFY(gui.window().runs().find(run)->session != nullptr);
        QVERIFY(gui.waitState(run, RunState::Completed));
    }
    void aSweepIsOneArray()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        gui.window().actions().newRun->trigger();
        gui.window().setup().choose("chaos", {});
        chooseTarget(gui, "bench");
        const QStringList before = runsIn(gui, RunState::Completed);
        gui.findAction("sweep")->trigger();
        auto* dialog = gui.find<QDialog>("sweepDialog");
        QVERIFY(dialog != nullptr);
        auto* field = dialog->findChild<QComboBox*>("sweepField");
        field->setCurrentIndex(field->findData("steps"));
        dialog->findChild<QLineEdit*>("sweepList")->setText("4, 5, 6");
        auto* add = dialog->findChild<QPushButton*>("sweepAdd");
        QTRY_VERIFY(add->isEnabled());
        QCOMPARE(add->text(), QString("Submit to bench"));
        gui.shoot("cluster_sweep");
        QTest::mouseClick(add, Qt::LeftButton);
        QTRY_COMPARE(runsIn(gui, RunState::Queued).size(), qsizetype{3});
        QCOMPARE(slurm.arrays(), QStringList{"2"});
        QStringList values;
        for (const QString& id : runsIn(gui, RunState::Queued))
            values << gui.window().runs().find(id)->sweep->value;
        std::ranges::sort(values);
        QCOMPARE(values, QStringList({"4", "5", "6"}));
        QCOMPARE(gui.window().queue().waitingCount(), 0);
        slurm.letBegin();
        QTRY_COMPARE(runsIn(gui, RunState::Completed).size(), before.size() + 3);
    }
    void aJobThatNeverBeganIsACard()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        const QString run = submit(gui, kShort);
        QTRY_COMPARE(textOf(gui, run), QString("Queued (other jobs go first)"));
        slurm.drop("1", "NODE_FAIL");
        QVERIFY(gui.waitState(run, RunState::Failed));
        QTRY_VERIFY(gui.card() != nullptr);
        QCOMPARE(gui.card()->content().id, QString("E-JOB"));
        QVERIFY2(gui.card()->content().whatHappened.contains("its node failed"),
                 qPrintable(gui.card()->content().whatHappened));
        gui.shoot("cluster_job_failed");
        gui.restart(); // on disk too
        QVERIFY(gui.waitState(run, RunState::Failed));
        QCOMPARE(gui.window().runs().find(run)->problemId, QString("E-JOB"));
    }
    void aQueueThatDoesNotAnswerIsToldAndNothingIsLost()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        const QString run = submit(gui, kShort);
        slurm.setSilent(true);
        QTRY_VERIFY2(textOf(gui, run).startsWith("Queued (the queue has not answered since "),
                     qPrintable(textOf(gui, run)));
        QCOMPARE(gui.window().problems().problem(0).id, QString("E-QUEUE"));
        gui.shoot("cluster_silent");
        slurm.setSilent(false);
        QTRY_COMPARE(textOf(gui, run), QString("Queued (other jobs go first)"));
        slurm.letBegin();
        QVERIFY(gui.waitState(run, RunState::Completed));
    }
    void runsOfAClusterDoNotHoldUpTheQueueOfThisComputer()
    {
        const FakeSlurm slurm;
        slurm.letBegin();
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        chooseTarget(gui, "bench");
        gui.start("chaos", kLong);
        QTRY_VERIFY(!runsIn(gui, RunState::Running).isEmpty());
        const QString away = gui.window().currentRun();
        chooseTarget(gui, "This computer");
        gui.window().actions().newRun->trigger();
        gui.window().setup().loadToml(kShort, "test", "chaos");
        QVERIFY(gui.find<QPushButton>("queueButton")->isEnabled());
        gui.click("queueButton");
        const QString here = gui.window().queue().item(0).runId;
        QVERIFY(gui.waitState(here, RunState::Completed));
        QCOMPARE(gui.window().queue().item(0).state, RunQueue::ItemState::Done);
        QCOMPARE(gui.window().runs().find(away)->state, RunState::Running);
        gui.window().perform(RunAction::Stop, {away});
        QVERIFY(gui.waitState(away, RunState::Stopped));
    }
    void aTargetIsDescribedAndTried()
    {
        const FakeSlurm slurm;
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        cleanup();
        gui.findAction("targets")->trigger();
        auto* dialog = gui.find<QDialog>("targetsDialog");
        QVERIFY(dialog != nullptr);
        gui.shoot("targets_none");
        const auto button = [&](const char* name) { return dialog->findChild<QPushButton*>(name); };
        QTest::mouseClick(button("targetNew"), Qt::LeftButton);
        auto* names = dialog->findChild<QListWidget*>("targetNames");
        auto* name = names->viewport()->findChild<QLineEdit*>();
        QVERIFY(name != nullptr);
        QTest::keyClicks(name, "uni");
        QTest::keyClick(name, Qt::Key_Return);
        QTRY_COMPARE(targetNames(), std::vector<std::string>{"uni"});

        auto* time = dialog->findChild<QLineEdit*>("target/time");
        QTest::keyClicks(time, "soon");
        QTest::keyClick(time, Qt::Key_Return);
        QVERIFY(!button("targetSave")->isEnabled() && !button("targetTry")->isEnabled());
        gui.shoot("targets_wrong");
        time->selectAll();
        QTest::keyClicks(time, "4:00:00");
        QTest::keyClick(time, Qt::Key_Return);
        QVERIFY(button("targetSave")->isEnabled());
        QTest::mouseClick(button("targetTry"), Qt::LeftButton);
        QCOMPARE(readTarget("uni").target.time, std::string("4:00:00"));
        auto* lines = dialog->findChild<QListWidget*>("targetLines");
        QTRY_VERIFY(lines->count() > 0 && lines->item(0)->text() == "Slurm 99.1.2 answers.");
        QVERIFY(lines->count() > 2);
        gui.shoot("targets_tried");

        slurm.refuse("sbatch: error: Batch job submission failed: Requested time limit is invalid "
                     "(missing or exceeds some limit)\n");
        QTest::mouseClick(button("targetTry"), Qt::LeftButton);
        const auto hasTold = [&] {
            for (int row = 0; row < lines->count(); ++row)
                if (lines->item(row)->text().contains("The time 4:00:00 is longer"))
                    return true;
            return false;
        };
        QTRY_VERIFY(hasTold());
        gui.shoot("targets_refused");
        dialog->close();
        chooseTarget(gui, "uni");
        gui.shoot("targets_chosen");
        chooseTarget(gui, "This computer");
    }
};

VERGENCE_GUI_TEST(TestCluster)
#include "tst_s26_cluster.moc"
