#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QTreeView>
#include <QTreeWidget>

#include "core/artifact/artifact_store.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "tests/support/environment.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::ScopedVariable;

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
                                         "metrics": {"loss": {"min": 0.25, "max": 4, "last": 0.25}}})"));
    return run;
}

/// The row of a run in the list, once it is read.
QModelIndex rowOf(const GuiHarness& gui, const QString& id)
{
    const QAbstractItemModel& rows = *gui.find<QTreeView>("runsView")->model();
    for (int row = 0; row < rows.rowCount(); ++row)
        if (rows.index(row, 0).data(RunListModel::IdRole).toString() == id)
            return rows.index(row, 0);
    return {};
}

/// The line in which a cell of the list of runs is being edited.
QLineEdit* cellEditor(const GuiHarness& gui)
{
    auto* list = gui.find<QTreeView>("runsView");
    for (QLineEdit* line : list->viewport()->findChildren<QLineEdit*>())
        if (line->isVisible())
            return line;
    return nullptr;
}

/// What the context menu of a run offers; it is closed again.
QStringList menuOf(const GuiHarness& gui, const QString& id)
{
    auto* list = gui.find<QTreeView>("runsView");
    list->setCurrentIndex(rowOf(gui, id));
    Q_EMIT list->customContextMenuRequested(list->visualRect(rowOf(gui, id)).center());
    QStringList texts;
    for (QMenu* menu : gui.find<QWidget>("runsDock")->findChildren<QMenu*>()) {
        for (const QAction* action : menu->actions())
            texts << QString(action->text()).remove('&');
        menu->close();
    }
    return texts;
}

/// Makes a run that has ended and waits until the list has read it.
bool listEnded(GuiHarness& gui, const QString& id)
{
    endedRun(gui.window().runs().folder() + '/' + id);
    gui.window().runs().rescan();
    return gui.waitState(id, RunState::Completed);
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
        QTRY_VERIFY(points() > 20);
        const std::size_t before = points();
        gui.restart();
        QVERIFY(gui.waitState(run, RunState::Running));
        QTRY_VERIFY(points() >= before);
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
        QTRY_COMPARE(gui.window().currentRun(), QString("first"));
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
        QTRY_VERIFY(gui.window().views().current()->pump().framesShown() >= 1);
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
    void aRunIsRenamedByKeyWhicheverCellIsCurrent()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(listEnded(gui, "to-be-named"));
        auto* list = gui.find<QTreeView>("runsView");
        for (const int column : {RunListModel::State, RunListModel::Name, RunListModel::Step}) {
            list->setFocus();
            list->setCurrentIndex(rowOf(gui, "to-be-named").siblingAtColumn(column));
            QTest::keyClick(list, Qt::Key_F2);
            QLineEdit* editor = nullptr;
            QTRY_VERIFY2((editor = cellEditor(gui)) != nullptr,
                         qPrintable(QString::number(column)));
            const QString name = QString("named in column %1").arg(column);
            QTest::keyClicks(editor, name);
            QTest::keyClick(editor, Qt::Key_Return);
            QTRY_COMPARE(gui.window().runs().find("to-be-named")->name, name);
            QTRY_VERIFY(cellEditor(gui) == nullptr);
        }
        QVERIFY(menuOf(gui, "to-be-named").contains("Rename…"));
        QVERIFY(gui.findAction("rename") != nullptr && gui.findAction("rename")->isEnabled());
    }
    void whatIsTypedOutlivesChangesOfTheList()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString folder = gui.window().runs().folder();
        QVERIFY(listEnded(gui, "renamed"));
        auto* list = gui.find<QTreeView>("runsView");
        list->setFocus();
        list->setCurrentIndex(rowOf(gui, "renamed").siblingAtColumn(RunListModel::Name));
        QTest::keyClick(list, Qt::Key_F2);
        QTRY_VERIFY(cellEditor(gui) != nullptr);
        QTest::keyClicks(cellEditor(gui), "a name ");
        gui.window().runs().reload("renamed"); // its row changes
        QVERIFY(cellEditor(gui) != nullptr);
        QTest::keyClicks(cellEditor(gui), "typed ");
        QVERIFY(listEnded(gui, "going"));
        std::filesystem::remove_all((folder + "/going").toStdString());
        QVERIFY(listEnded(gui, "coming")); // runs go and come
        QVERIFY(gui.window().runs().find("going") == nullptr);
        QVERIFY(cellEditor(gui) != nullptr);
        const QRect row =
            list->visualRect(rowOf(gui, "renamed").siblingAtColumn(RunListModel::Name));
        QCOMPARE(cellEditor(gui)->geometry().center().y(), row.center().y());
        QTest::keyClicks(cellEditor(gui), "at leisure");
        QTest::keyClick(cellEditor(gui), Qt::Key_Return);
        QTRY_COMPARE(gui.window().runs().find("renamed")->name, QString("a name typed at leisure"));
        gui.restart();
        QTRY_VERIFY(gui.window().runs().find("renamed") != nullptr);
        QTRY_COMPARE(gui.window().runs().find("renamed")->name, QString("a name typed at leisure"));
    }
    void aNameGivenAtTheStartIsKept()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        gui.window().runs().rename(run, "named at once"); // before the worker has made the folder
        gui.window().runs().setTags(run, {"early"});
        QVERIFY(gui.waitState(run, RunState::Completed));
        QCOMPARE(gui.window().runs().find(run)->name, QString("named at once"));
        auto* tabs = gui.find<QTabWidget>("viewTabs");
        QTRY_COMPARE(tabs->tabText(tabs->currentIndex()), QString("named at once"));
        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Completed));
        QCOMPARE(gui.window().runs().find(run)->name, QString("named at once"));
        QCOMPARE(gui.window().runs().find(run)->tags, QStringList{"early"});
    }
    void tagsAreTyped()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(listEnded(gui, "tagged"));
        gui.window().perform(RunAction::Tag, {"tagged"}); // as the menu of the run does
        QTRY_VERIFY(cellEditor(gui) != nullptr);
        QTest::keyClicks(cellEditor(gui), "for the paper, fig 3,, for the paper");
        QTest::keyClick(cellEditor(gui), Qt::Key_Return);
        const QStringList tags{"for the paper", "fig 3"};
        QTRY_COMPARE(gui.window().runs().find("tagged")->tags, tags);
        QVERIFY(menuOf(gui, "tagged").contains("Tags…"));
        gui.restart();
        QTRY_VERIFY(gui.window().runs().find("tagged") != nullptr);
        QTRY_COMPARE(gui.window().runs().find("tagged")->tags, tags);
    }
    void aStoppedRunIsResumedWhereItIsMet()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 200\nstep_ms = 20\n");
        QVERIFY(gui.waitState(run, RunState::Running));
        QTRY_VERIFY(gui.findAction("stop")->isEnabled());
        gui.findAction("stop")->trigger();
        QVERIFY(gui.waitState(run, RunState::Stopped));
        QTRY_VERIFY(!listCheckpoints(gui.window().runs().find(run)->folder).empty());
        // Of the run that is looked at; others may be open too.
        const auto resume = [&gui]() -> QPushButton* {
            for (auto* button : gui.window().findChildren<QPushButton*>("successResume"))
                if (button->isVisible())
                    return button;
            return nullptr;
        };
        QTRY_VERIFY(resume() != nullptr && resume()->text().startsWith("Resume from step "));
        QTRY_COMPARE(gui.findAction("pause")->text(), QString("Resume")); // in the toolbar
        QVERIFY(gui.findAction("pause")->isEnabled());
        QVERIFY(menuOf(gui, run).contains("Resume from checkpoint"));
        gui.shoot("stopped_run");
        gui.restart(); // and for a run that is opened later
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.waitState(run, RunState::Stopped));
        gui.window().openRun(run, false);
        QTRY_VERIFY(resume() != nullptr);
        resume()->click();
        QVERIFY(gui.waitState(run, RunState::Completed));
        QVERIFY(resume() == nullptr);
        QVERIFY(!menuOf(gui, run).contains("Resume from checkpoint"));
    }
    void devicesAndStatusBarCountTheSameRuns()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString folder = gui.window().runs().folder();
        const TerminalRun first(folder + "/counted-1"), second(folder + "/counted-2");
        QVERIFY(gui.waitState("counted-1", RunState::Running));
        QVERIFY(gui.waitState("counted-2", RunState::Running));
        gui.restart(); // both are going on when this window first looks
        QVERIFY(gui.waitState("counted-1", RunState::Running));
        QVERIFY(gui.waitState("counted-2", RunState::Running));
        const auto devices = [&] {
            QStringList texts;
            for (const QLabel* label : gui.find<QWidget>("devicesView")->findChildren<QLabel*>())
                texts << label->text();
            return texts.join('\n');
        };
        const auto status = [&] { return gui.find<QAbstractButton>("statusRun")->text(); };
        QTRY_VERIFY2(status().contains("2 runs going on"), qPrintable(status()));
        QTRY_VERIFY2(devices().contains("counted-1") && devices().contains("counted-2"),
                     qPrintable(devices()));
    }
    void aFolderThatTakesNoRunIsExplained()
    {
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.runsFolder = "/proc/sys"; // nobody may write there, the administrator neither
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        QTRY_VERIFY(gui.card() != nullptr);
        const CardContent card = gui.card()->content();
        QCOMPARE(card.id, QString("E-OUTPUT"));
        QVERIFY2(card.whatHappened.contains("/proc/sys/"), qPrintable(card.whatHappened));
        QCOMPARE(gui.window().runs().find(run)->exitCode.value_or(-1), 8);
        gui.shoot("read_only_folder");
        auto* choose = gui.card()->findChild<QPushButton*>("card_runs_folder");
        auto* again = gui.card()->findChild<QPushButton*>("card_use_config");
        QVERIFY(choose != nullptr && again == nullptr); // no configuration was written either
        const QString free = GuiHarness::folder() + "/writable";
        gui.window().runs().setFolder(free);
        gui.click("card_start_again");
        QTRY_VERIFY(gui.window().currentRun() != run);
        QVERIFY(gui.waitState(gui.window().currentRun(), RunState::Completed));
        QVERIFY(QString::fromStdString(
                    gui.window().runs().find(gui.window().currentRun())->folder.root.string())
                    .startsWith(free));
    }
    void exportsGoWhereTheLastOneWent()
    {
        const QString elsewhere = GuiHarness::folder() + "/exported";
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(listEnded(gui, "exported-1") && listEnded(gui, "exported-2"));
        gui.window().openRun("exported-1", false);
        gui.findAction("export")->trigger();
        gui.find<QLineEdit>("exportDestination")->setText(elsewhere);
        gui.click("exportButton");
        QTRY_VERIFY(gui.textOf("exportResult").contains("Written"));
        gui.click("exportCancelButton");
        QTRY_VERIFY(gui.find<QDialog>("exportDialog") == nullptr);
        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QTRY_VERIFY(gui.window().runs().find("exported-2") != nullptr);
        gui.window().openRun("exported-2", false);
        QTRY_VERIFY(gui.findAction("export")->isEnabled());
        gui.findAction("export")->trigger();
        QCOMPARE(gui.find<QLineEdit>("exportDestination")->text(), elsewhere);
    }
    void anArchivedRunComesBack()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(listEnded(gui, "archived"));
        const RunFolder run = gui.window().runs().find("archived")->folder;
        QVERIFY(gui.findAction("restore") != nullptr && !gui.findAction("restore")->isEnabled());
        QTimer::singleShot(0, [] { // the question
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            box->button(QMessageBox::Yes)->click();
        });
        gui.window().perform(RunAction::Trash, {"archived"});
        QVERIFY(!std::filesystem::exists(run.root));
        QVERIFY(gui.window().runs().find("archived") == nullptr);
        gui.findAction("restore")->trigger();
        QVERIFY(std::filesystem::exists(run.status()));
        QTRY_VERIFY(gui.window().runs().find("archived") != nullptr);
        QVERIFY(!gui.findAction("restore")->isEnabled());
    }
    void resultsAreToldApartAndOpened()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const RunFolder run = endedRun(gui.window().runs().folder() + "/alike");
        ArtifactStore store(run);
        for (const char* name : {"ab/report.csv", "ab/report.json"})
            store.writeText(name, "1\n", "report", "A/B run");
        store.writeText("drift.csv", "1\n", "table", "Drift");
        writeManifest(run, readManifest(run), store.list());
        gui.window().runs().rescan();
        QVERIFY(gui.waitState("alike", RunState::Completed));
        gui.window().openRun("alike", false);
        gui.window().docks().reveal("inspectorDock");
        auto* results = gui.find<QTreeWidget>("artifactsView");
        QTRY_COMPARE(results->topLevelItemCount(), 3);
        QSet<QString> rows;
        for (int i = 0; i < 3; ++i)
            rows << results->topLevelItem(i)->text(0);
        QCOMPARE(rows, QSet<QString>({"A/B run – ab/report.csv", "A/B run – ab/report.json",
                                      "Drift – drift.csv"}));
        gui.shoot("results");
        {
            // A desktop without a program that opens folders.
            const ScopedVariable programs("PATH", "/nowhere");
            Q_EMIT results->itemActivated(results->topLevelItem(0), 0);
        }
        QVERIFY2(gui.textOf("inspectorNote").contains(QString::fromStdString(run.root.string())),
                 qPrintable(gui.textOf("inspectorNote")));
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
        runs.setHeadlines({{"chaos", {{"loss", "Loss", "", MetricDecl::Better::Lower, true}}}});
        QVERIFY(runs.find(id)->isLoaded && runs.find("here")->isLoaded);
        QVERIFY(scans.wait());
        QVERIFY(runs.find(id)->isLoaded);
        QCOMPARE(runs.find(id)->result.value_or(-1), 0.25);
        QCOMPARE(runs.find("here")->result.value_or(-1), 0.25);
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
        runs.setHeadlines({{"chaos", {{"loss", "Loss", "", MetricDecl::Better::Lower, true}}}});
        while (runs.isScanning())
            QVERIFY(scans.wait());
        QCOMPARE(runs.rowCount(), 300);
        for (int row = 0; row < runs.rowCount(); ++row)
            QCOMPARE(runs.entry(row).result.value_or(-1), 0.25);
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
        QTRY_COMPARE(gui.window().runs().rowCount(), 10'000);
        QTRY_VERIFY(gui.window().runs().entry(9'999).isLoaded);
    }
};

VERGENCE_GUI_TEST(TestWindowRuns)
#include "tst_window_runs.moc"
