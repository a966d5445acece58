#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QStatusBar>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

#include "app/shell/target_choice.h"
#include "core/base/file.h"
#include "core/cluster/target.h"
#include "tests/app/scenarios/hands.h"
#include "tests/support/fake_programs.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

const char* const kLongRun = "[run]\nsteps = 4000\nstep_ms = 10\n";

/// Another computer: what ssh runs has a host name, a home and a disk of its own.
class FarComputer {
public:
    FarComputer()
    {
        m_programs.addSsh();
        const std::string text = m_programs.text("ssh");
        const auto exec = text.rfind("exec sh -c \"$*\"");
        writeFileAtomic(m_programs.folder() / "ssh",
                        text.substr(0, exec) +
                            "[ -e \"$FAKES/broken\" ] && { echo 'ssh: connect to host h1 port 22: "
                            "Connection timed out' >&2; exit 255; }\n"
                            "export HOME=\"$FAKES/home\" XDG_STATE_HOME=\"$FAKES/home/state\" "
                            "XDG_RUNTIME_DIR=\"$FAKES/home\"\nunset VERGENCE_RUNS\n"
                            "exec unshare --map-root-user --uts sh -c 'hostname h1 && exec sh -c "
                            "\"$1\"' sh \"$*\"\n");
        std::filesystem::permissions(m_programs.folder() / "ssh",
                                     std::filesystem::perms::owner_all);
        std::filesystem::create_directories(m_programs.folder() / "home");
        Target target;
        target.name = target.login = "h1";
        target.scheduler = Scheduler::Lanes;
        target.disk = Disk::Own;
        target.folder = (m_programs.folder() / "disk" / "runs").string();
        target.vergence = VERGENCE_BINARY_DIR "/bin/vergence";
        target.lanes = {"cpu"};
        saveTarget(target);
    }

    /// Whether this system gives processes host names of their own.
    static bool isPossible()
    {
        return QProcess::execute("unshare", {"--map-root-user", "--uts", "hostname", "h1"}) == 0;
    }
    void setBroken(bool broken)
    {
        const auto file = m_programs.folder() / "broken";
        broken ? writeFileAtomic(file, "") : void(std::filesystem::remove(file));
    }
    RunFolder folderOf(const QString& run) const
    {
        return {m_programs.folder() / "disk" / "runs" / run.toStdString()};
    }

private:
    test::FakePrograms m_programs;
};

/// Starts a lab from the form with h1 chosen; id of its run once it is listed as submitted.
QString startOnH1(GuiHarness& gui, const QString& toml)
{
    test::choose(*gui.find<QComboBox>("targetChoice"), "h1");
    const QString before = gui.window().currentRun();
    gui.start("chaos", toml);
    const auto isThere = [&] {
        const RunEntry* run = gui.window().runs().find(gui.window().currentRun());
        return run != nullptr && run->id != before && run->remote;
    };
    return test::waitFor(isThere) ? gui.window().currentRun() : QString();
}

QString textThere(GuiHarness& gui, const QString& run)
{
    const RunEntry* entry = gui.window().runs().find(run);
    return entry == nullptr ? QString() : stateText(*entry);
}

} // namespace

/// S27: runs work on a computer with a disk of its own and are watched from the window.
class TestRemote : public QObject {
    Q_OBJECT

    std::unique_ptr<FarComputer> m_far;

private Q_SLOTS:
    void init()
    {
        if (!FarComputer::isPossible())
            QSKIP("This system gives no host names of their own to processes.");
        m_far = std::make_unique<FarComputer>();
    }
    void cleanup()
    {
        StudioSettings().setTarget({});
        for (const std::string& name : targetNames())
            removeTarget(name);
        m_far.reset();
    }

    void aForecastIsMadeWhereTheRunWouldWork()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        test::choose(*gui.find<QComboBox>("targetChoice"), "h1");
        gui.window().actions().newRun->trigger();
        gui.window().setup().choose("chaos", {});
        QVERIFY(gui.window()
                    .setup()
                    .loadToml("[run]\nsteps = 60\nstep_ms = 10\n", "test", "chaos")
                    .empty());
        gui.findAction("forecast")->trigger();
        QVERIFY(!gui.findAction("forecast")->isEnabled());
        QVERIFY(gui.window().statusBar()->currentMessage().endsWith("on h1…"));
        QTRY_VERIFY(gui.find<QMessageBox>("forecastBox") != nullptr);
        auto* box = gui.find<QMessageBox>("forecastBox");
        QVERIFY2(box->text().contains(": 60 steps of"), qPrintable(box->text()));
        gui.shoot("remote_forecast");
        box->accept();
        QVERIFY(gui.findAction("forecast")->isEnabled());
        QCOMPARE(gui.window().runs().rowCount(), 0);

        m_far->setBroken(true);
        gui.findAction("forecast")->trigger();
        QTRY_VERIFY(gui.card() != nullptr);
    }

    void aRunWorksThereStopsAndGoesOnThereAndHere()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = startOnH1(gui, kLongRun);
        QVERIFY(!run.isEmpty());
        QCOMPARE(gui.window().statusBar()->currentMessage(), QString("Submitted to h1."));
        QVERIFY(gui.waitState(run, RunState::Running));
        QTRY_COMPARE(textThere(gui, run), QString("Running on h1"));
        QTRY_VERIFY(gui.valuesOf(run, "train/loss").size() > 20);
        const QString status = gui.find<QToolButton>("statusRun")->text();
        QVERIFY2(status.endsWith("on h1, target h1"), qPrintable(status));
        gui.shoot("remote_running");
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QVERIFY(gui.findAction("fetch")->isEnabled());
        gui.findAction("resume")->trigger();
        QVERIFY(gui.waitState(run, RunState::Running));
        QTRY_COMPARE(textThere(gui, run), QString("Running on h1"));
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QTRY_VERIFY(gui.findAction("resumeHere")->isEnabled());
        gui.findAction("resumeHere")->trigger();
        QVERIFY(gui.waitState(run, RunState::Running));
        const RunEntry& home = *gui.window().runs().find(run);
        QVERIFY(!home.isElsewhere() && !home.remote && !home.job);
        QCOMPARE(readStatus(m_far->folderOf(run)).state, std::string("Stopped"));
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
    }
    void aLinkThatBreaksIsToldAndLosesNothing()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = startOnH1(gui, "[run]\nsteps = 1500\nstep_ms = 10\n");
        QVERIFY(gui.waitState(run, RunState::Running));
        QTRY_VERIFY(gui.valuesOf(run, "train/loss").size() > 20);
        m_far->setBroken(true);
        QTRY_VERIFY2(textThere(gui, run).startsWith("Running on h1, not reached since "),
                     qPrintable(textThere(gui, run)));
        QCOMPARE(gui.window().problems().problem(0).id, QString("E-LINK"));
        const QModelIndex where = gui.window().problems().index(0, ProblemList::Where);
        QCOMPARE(where.data().toString(), QString("Targets"));
        gui.window().docks().reveal("problemsDock");
        gui.shoot("remote_not_reached");
        m_far->setBroken(false);
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{1500});
        const auto result = gui.window().runs().find(run)->folder.artifacts() / "summary.txt";
        QTRY_VERIFY(std::filesystem::exists(result));
        std::filesystem::remove(result);
        gui.restart();
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.window().openRun(run, false);
        gui.window().docks().reveal("inspectorDock");
        auto* fetch = gui.find<QPushButton>("inspectorFetch");
        QTRY_VERIFY(fetch->isVisible());
        gui.shoot("remote_results_there");
        QTest::mouseClick(fetch, Qt::LeftButton);
        QTRY_VERIFY(std::filesystem::exists(result));
        QTRY_VERIFY(!fetch->isVisible());
    }
    void aRunThatWaitsForTheLaneIsTakenOutOfTheLine()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString first = startOnH1(gui, kLongRun);
        QVERIFY(gui.waitState(first, RunState::Running));
        gui.window().actions().newRun->trigger();
        const QString second = startOnH1(gui, "[run]\nsteps = 5\n");
        QVERIFY(!second.isEmpty() && second != first);
        QTRY_VERIFY2(textThere(gui, second).startsWith("Queued ("),
                     qPrintable(textThere(gui, second)));
        gui.shoot("remote_waiting");
        gui.window().perform(RunAction::Stop, {second});
        QVERIFY(gui.waitState(second, RunState::Stopped));
        QCOMPARE(gui.window().runs().find(first)->state, RunState::Running);
        gui.window().perform(RunAction::Stop, {first});
        QVERIFY(gui.waitState(first, RunState::Stopped));
    }
    void aTargetThatIsNotReachedRefusesWithACard()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        test::choose(*gui.find<QComboBox>("targetChoice"), "h1");
        m_far->setBroken(true);
        const int before = gui.window().runs().rowCount();
        gui.start("chaos", kLongRun);
        QTRY_VERIFY(gui.card() != nullptr);
        const QString said = gui.card()->content().whatHappened + gui.card()->content().why;
        QVERIFY2(said.contains("h1"), qPrintable(said));
        gui.shoot("remote_refused");
        QTRY_COMPARE(gui.window().runs().rowCount(), before);
    }
    void aTargetWithLanesAndADiskIsDescribed()
    {
        m_far->setBroken(true);
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        test::choose(*gui.find<QComboBox>("targetChoice"), "h1");
        gui.findAction("targets")->trigger();
        auto* dialog = gui.find<QDialog>("targetsDialog");
        QVERIFY(dialog != nullptr);
        auto* time = dialog->findChild<QLineEdit*>("target/time");
        auto* scheduler = dialog->findChild<QComboBox*>("target/scheduler");
        auto* install = dialog->findChild<QPushButton*>("targetInstall");
        auto* lines = dialog->findChild<QListWidget*>("targetLines");
        QVERIFY(!time->isVisible() && install->isVisible());
        gui.shoot("targets_lanes");
        QTest::mouseClick(install, Qt::LeftButton); // nobody answers
        QTRY_VERIFY(install->isEnabled() && lines->count() > 0);
        const QString told = lines->item(lines->count() - 1)->text();
        QVERIFY2(told.contains("h1"), qPrintable(told));
        gui.shoot("targets_install");
        test::choose(*scheduler, "slurm");
        QVERIFY(time->isVisible());
        QVERIFY(dialog->findChild<QWidget*>("target/lanes")->isVisible()); // they must go first
        QVERIFY(!dialog->findChild<QPushButton*>("targetSave")->isEnabled());
        gui.shoot("targets_slurm_with_lanes");
        test::choose(*scheduler, "lanes");
        dialog->findChild<QPushButton*>("targetSave")->click();
        dialog->close();
    }
};

VERGENCE_GUI_TEST(TestRemote)
#include "tst_s27_remote.moc"
