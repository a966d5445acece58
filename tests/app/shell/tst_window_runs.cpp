#include <QLineEdit>
#include <QProcess>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QTreeView>

#include "core/base/file.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

const char* const kLongRun = "[run]\nsteps = 4000\nstep_ms = 20\n";

/// A long run that somebody has begun in a terminal, until it is out of scope.
class TerminalRun {
public:
    explicit TerminalRun(const QString& folder)
    {
        m_process.start(VERGENCE_BINARY_DIR "/bin/vergence",
                        {"run", "chaos", "--set", "steps=4000", "--set", "step_ms=20", "--quiet",
                         "--run-dir", folder, "--plugin-path",
                         VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"});
    }
    ~TerminalRun()
    {
        m_process.kill();
        m_process.waitForFinished();
    }

private:
    QProcess m_process;
};

/// A run that has ended, with a loss in its manifest.
RunFolder endedRun(const QString& folder)
{
    const RunFolder run{folder.toStdString()};
    std::filesystem::create_directories(run.root);
    RunStatus status;
    status.state = "Completed";
    status.plugin = "chaos";
    writeFileAtomic(run.status(), std::string_view(status.toJson().dump()));
    writeFileAtomic(run.manifest(), std::string_view(R"({"format": "vergence-manifest/1",
                                         "metrics": {"loss": {"min": 0.25, "max": 4}}})"));
    return run;
}

} // namespace

/// What a person does with runs: restarts of the window, results explored, long lists.
class TestWindowRuns : public QObject {
    Q_OBJECT
private Q_SLOTS:
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
        // Its settings are in the form, locked but for those that may be moved meanwhile.
        QVERIFY(gui.waitForPlugins());
        const auto steps = [&] { return gui.find<QLineEdit>("configForm/steps"); };
        QTRY_VERIFY(steps() != nullptr && steps()->isReadOnly());
        QCOMPARE(steps()->text(), QString("4000"));
        QTRY_VERIFY(gui.findAction("stop")->isEnabled());
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
    }
    void aRunThatBeginsElsewhereIsOpenedWhereNothingElseIs()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QTRY_VERIFY(!gui.window().runs().isScanning());
        const QString open = gui.window().currentRun();
        QVERIFY2(open.isEmpty(), qPrintable(open));
        const QString folder = gui.window().runs().folder();
        const TerminalRun first(folder + "/first");
        QTRY_COMPARE_WITH_TIMEOUT(gui.window().currentRun(), QString("first"), 30'000);
        const TerminalRun second(folder + "/second");
        QVERIFY(gui.waitState("second", RunState::Running));
        QCOMPARE(gui.window().currentRun(), QString("first")); // nobody is interrupted
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
    void aRunOpenedFromTheListHasALog()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Completed));
        auto* list = gui.find<QTreeView>("runsView");
        QTRY_VERIFY(!gui.window().runs().isScanning());
        for (int row = 0; row < list->model()->rowCount(); ++row)
            if (list->model()->index(row, 0).data(RunListModel::IdRole).toString() == run)
                list->setCurrentIndex(list->model()->index(row, 0)); // the first press
        QCOMPARE(gui.window().currentRun(), run);
        QVERIFY(gui.window().runs().find(run)->session == nullptr);
        Q_EMIT list->doubleClicked(list->currentIndex());
        auto* log = gui.find<QTableView>("logView");
        QTRY_VERIFY(log->model()->rowCount() > 0);
        gui.window().views().closeRun(run);
    }
    void runsFromElsewhereStayKnownWhenPluginsAnswer()
    {
        const QString folder = GuiHarness::folder() + "/listed";
        endedRun(folder + "/here");
        const RunFolder elsewhere = endedRun(GuiHarness::folder() + "/elsewhere/there");
        RunListModel runs;
        QSignalSpy scans(&runs, &RunListModel::scanFinished);
        runs.setFolder(folder);
        QVERIFY(scans.wait());
        const QString id = runs.addFolder(elsewhere);
        runs.session(id);
        runs.setHeadlines({{"chaos", {"loss", false}}});
        QVERIFY(runs.find(id)->isLoaded && runs.find("here")->isLoaded);
        QVERIFY(scans.wait());
        QVERIFY(runs.find(id)->isLoaded);
        QCOMPARE(runs.find(id)->best.value_or(-1), 0.25);
        QCOMPARE(runs.find("here")->best.value_or(-1), 0.25);
    }
    void pluginsThatAnswerDuringAScanAreHeard()
    {
        const QString folder = GuiHarness::folder() + "/scanned";
        for (int i = 0; i < 300; ++i)
            endedRun(folder + QString("/run-%1").arg(i));
        RunListModel runs;
        QSignalSpy scans(&runs, &RunListModel::scanFinished);
        runs.setFolder(folder);
        QVERIFY(runs.isScanning());
        runs.setHeadlines({{"chaos", {"loss", false}}});
        while (runs.isScanning())
            QVERIFY(scans.wait());
        QCOMPARE(runs.rowCount(), 300);
        for (int row = 0; row < runs.rowCount(); ++row)
            QCOMPARE(runs.entry(row).best.value_or(-1), 0.25);
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
