#include <QAbstractButton>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QDockWidget>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSet>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTableWidget>
#include <QTest>
#include <QThread>

#include "app/forms/diff_dialog.h"
#include "app/shell/run_view.h"
#include "app/shell/watchdog.h"
#include "app/viewport/control_slider.h"
#include "core/base/file.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

/// A file of this text below the folders of the test; its path.
QString fileOf(const QString& name, const QString& text)
{
    const QString path = GuiHarness::folder() + '/' + name;
    writeFileAtomic(path.toStdString(), text.toStdString());
    return path;
}

} // namespace

/// The window before much runs: layouts, keys, names, the setup.
class TestWindow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layoutsShowTheirDocks_data()
    {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QStringList>("shown");
        QTest::newRow("Setup") << QString("Setup")
                               << QStringList{"runsDock", "setupDock", "problemsDock"};
        QTest::newRow("Train") << QString("Train")
                               << QStringList{"runsDock", "setupDock", "chartsDock", "logDock"};
        QTest::newRow("Inspect") << QString("Inspect") << QStringList{"runsDock", "inspectorDock"};
        QTest::newRow("Compare") << QString("Compare") << QStringList{"runsDock", "chartsDock"};
        QTest::newRow("Present") << QString("Present") << QStringList();
    }
    void layoutsShowTheirDocks()
    {
        QFETCH(QString, layout);
        QFETCH(QStringList, shown);
        GuiHarness gui;
        gui.window().docks().apply(layout);
        QCOMPARE(gui.find<QComboBox>("layoutCombo")->currentText(), layout);
        for (const QString& dock : shown)
            QVERIFY2(!gui.find<QDockWidget>(dock)->isHidden(), qPrintable(dock));
        if (layout == "Present") {
            for (QDockWidget* dock : gui.window().findChildren<QDockWidget*>())
                QVERIFY2(dock->isHidden(), qPrintable(dock->objectName()));
        }
    }
    void layoutSurvivesARestart()
    {
        GuiHarness gui;
        gui.window().docks().apply("Inspect");
        gui.restart();
        QCOMPARE(gui.window().docks().current(), QString("Inspect"));
        QVERIFY(gui.find<QDockWidget>("chartsDock")->isHidden());
        gui.window().docks().apply("Train");
        gui.restart();
    }
    void everyLabWithADemoHasAButton()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const auto text = [&](const QString& name) {
            const auto* button = gui.find<QAbstractButton>(name);
            return button == nullptr ? QString() : button->text();
        };
        QTRY_VERIFY(text("demoButton").contains("Light-field")); // it comes with the program
        QVERIFY(text("demoButton/heat").contains("Heat", Qt::CaseInsensitive));
        QTRY_VERIFY(gui.find<QAbstractButton>("demoButton/heat")->isVisible());
        gui.click("demoButton/heat");
        QTRY_COMPARE(gui.window().setup().plugin(), QString("heat"));
        QTRY_VERIFY(!gui.window().currentRun().isEmpty());
        const QString run = gui.window().currentRun();
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
    }
    void filesMayFollowAFolderOfPlugins()
    {
        const char* const words[] = {
            "vergence-studio", "--plugin-path", "/a", "--plugin-path", "/b", "run.toml"};
        ShellOptions options;
        QVERIFY(!parseShellOptions(static_cast<int>(std::size(words)), const_cast<char**>(words),
                                   options));
        QCOMPARE(options.pluginFolders, QStringList({"/a", "/b"}));
        QCOMPARE(options.files, QStringList("run.toml"));
    }
    void everyPaneIsReachedByKey()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        DockLayout& docks = gui.window().docks();
        const QStringList panes = docks.visiblePanes();
        QVERIFY2(panes.size() >= 4, qPrintable(panes.join(' '))); // runs, centre, setup, charts
        QCOMPARE(gui.findAction("nextPane")->shortcut(), QKeySequence(Qt::Key_F6));
        for (const char* step : {"nextPane", "previousPane"}) {
            QSet<QString> visited;
            for (int i = 0; i < panes.size(); ++i) {
                gui.findAction(step)->trigger();
                visited << docks.paneOf(gui.window().focusWidget());
            }
            QCOMPARE(visited, QSet<QString>(panes.begin(), panes.end()));
        }
    }
    void whatIsTypedIsTakenByEveryAction()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("chaos", {}));
        gui.window().docks().apply("Setup");
        RunQueue& queue = gui.window().queue();
        queue.setPaused(true);
        // Actions of menus and of the tool bar do not take the focus.
        gui.type("steps", "7", false);
        gui.findAction("copyCommandLine")->trigger();
        const QString line = QGuiApplication::clipboard()->text();
        QVERIFY2(line.contains("steps=7"), qPrintable(line));
        gui.type("steps", "8", false);
        gui.findAction("queue")->trigger();
        QCOMPARE(queue.item(0).draft.flags, QStringList("steps=8"));
        queue.remove(0);
        gui.type("steps", "9", false);
        gui.findAction("sweep")->trigger();
        QCOMPARE(gui.window().setup().draft().flags, QStringList("steps=9"));
        for (QDialog* dialog : gui.window().findChildren<QDialog*>())
            dialog->close();
        gui.type("steps", "6", false);
        gui.findAction("start")->trigger();
        const QString run = gui.window().currentRun();
        QVERIFY(gui.waitState(run, RunState::Completed));
        QCOMPARE(gui.window().runs().find(run)->total, 6);
    }
    void theWindowMayGoWhileSomebodyTypes()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("chaos", {}));
        gui.window().docks().apply("Setup");
        gui.type("steps", "7", false); // committed as the form goes
    }
    void historyIsLockedWithTheForm()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        gui.window().setup().choose("chaos", {});
        const QString run = gui.start("chaos", "[run]\nsteps = 4000\nstep_ms = 20\n");
        const auto steps = [&] { return gui.find<QLineEdit>("configForm/steps"); };
        QTRY_VERIFY(steps()->isReadOnly());
        QVERIFY(!gui.findAction("undo")->isEnabled());
        gui.findAction("undo")->trigger();
        QCOMPARE(steps()->text(), QString("4000"));
        gui.findAction("newRun")->trigger();
        QVERIFY(gui.findAction("undo")->isEnabled());
        gui.findAction("undo")->trigger();
        QVERIFY(steps()->text() != "4000");
    }
    void valuesOfARunAreCopiedIntoTheSetup()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        gui.findAction("newRun")->trigger();
        gui.type("steps", "77");
        gui.find<QAction>("compareRun")->trigger();
        auto* dialog = gui.window().findChild<DiffDialog*>();
        QVERIFY(dialog != nullptr);
        auto* table = dialog->findChild<QTableWidget*>();
        QCOMPARE(table->rowCount(), 1);
        gui.type("steps", "78");
        QCOMPARE(table->item(0, 1)->text(), QString("78"));
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->text() == "Copy value left")
                button->click();
        QCOMPARE(gui.find<QLineEdit>("configForm/steps")->text(), QString("5"));
        QCOMPARE(table->rowCount(), 0);
        dialog->close();
    }
    void exportedChartsAreSaid()
    {
        GuiHarness gui;
        auto* charts = gui.window().findChild<ChartsPanel*>();
        Q_EMIT charts->exported("/x/loss.svg");
        QVERIFY(gui.window().statusBar()->currentMessage().contains("/x/loss.svg"));
        const int problems = gui.window().problems().rowCount();
        Q_EMIT charts->exportFailed("The disk is full.");
        QCOMPARE(gui.window().statusBar()->currentMessage(), QString("The disk is full."));
        QCOMPARE(gui.window().problems().rowCount(), problems + 1);
    }
    void whatTheTerminalRefusesReplacesNoDraft_data()
    {
        QTest::addColumn<QString>("toml");
        QTest::addColumn<QStringList>("said");
        QTest::newRow("unclosed") << "plugin = \"chaos\"\n[run\nsteps = 4\n"
                                  << QStringList{"line 2"};
        QTest::newRow("values") << "plugin = \"heat\"\nsize = 2\nsweps = 3\nhot = \"x\"\n"
                                << QStringList{"line 2", "size", "line 3", "`sweeps`", "line 4"};
        QTest::newRow("preset") << "plugin = \"heat\"\npreset = \"dmo\"\n"
                                << QStringList{"`dmo`", "`demo`"};
        QTest::newRow("plugin") << "plugin = \"haet\"\nsize = 24\n" << QStringList{"`haet`"};
    }
    void whatTheTerminalRefusesReplacesNoDraft()
    {
        QFETCH(QString, toml);
        QFETCH(QStringList, said);
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        gui.type("sweeps", "31");
        const std::string draft = gui.window().setup().tomlWithHeader();
        const QString file = fileOf("refused.toml", toml);
        const auto verdict = test::runCommand(
            {"validate", file, "--plugin-path", VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"},
            GuiHarness::folder());
        QVERIFY2(verdict.code == 3 || verdict.code == 4, qPrintable(verdict.out + verdict.err));

        gui.window().openPath(file);
        QCOMPARE(gui.window().setup().plugin(), QString("heat"));
        QCOMPARE(gui.window().setup().tomlWithHeader(), draft);
        QVERIFY(gui.find<QPushButton>("startButton")->isEnabled());
        QVERIFY(gui.textOf("configSummary").startsWith("No errors"));
        QVERIFY(gui.card() != nullptr);
        const CardContent& card = gui.card()->content();
        QVERIFY2(card.whatHappened.contains("refused.toml"), qPrintable(card.whatHappened));
        for (const QString& words : said)
            QVERIFY2(card.why.contains(words), qPrintable(card.why));
        gui.shoot("refused_" + QString(QTest::currentDataTag()));

        gui.window().openPath(fileOf("fine.toml", "plugin = \"heat\"\nsize = 24\n"));
        QVERIFY(gui.card() == nullptr); // what is said of another file has had its time
        QCOMPARE(gui.find<QLineEdit>("configForm/size")->text(), QString("24"));
    }
    void refusalsAreCards()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString empty = GuiHarness::folder() + "/nothing here";
        QDir().mkpath(empty);
        gui.window().openPath(empty);
        QTRY_VERIFY(gui.card() != nullptr);
        QVERIFY2(gui.card()->content().whatHappened.contains("nothing here"),
                 qPrintable(gui.card()->content().whatHappened));
        gui.window().openPath(GuiHarness::folder() + "/gone.toml");
        QVERIFY2(gui.card()->content().whatHappened.contains("gone.toml"),
                 qPrintable(gui.card()->content().whatHappened));
    }
    void messagesAreNotUnderTheProgress()
    {
        QStatusBar bar;
        StatusButtons buttons(bar);
        RunEntry run;
        run.state = RunState::Running;
        run.isLoaded = true;
        run.step = 30;
        run.total = 100;
        bar.show();
        buttons.showRun(&run, 1);
        auto* progress = bar.findChild<QProgressBar*>();
        QVERIFY(progress->isVisible());
        bar.showMessage("The worker has heard: pause.");
        buttons.showRun(&run, 1); // the next heartbeat
        QVERIFY(!progress->isVisible());
        bar.clearMessage();
        QVERIFY(progress->isVisible());
    }
    void aSweepHoldsNoRunThatARuleForbids()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        gui.type("hot", "9");
        gui.type("cold", "3");
        gui.findAction("sweep")->trigger();
        auto* dialog = gui.find<QDialog>("sweepDialog");
        auto* field = dialog->findChild<QComboBox*>("sweepField");
        field->setCurrentIndex(field->findData("hot"));
        auto* add = dialog->findChild<QPushButton*>("sweepAdd");
        auto* summary = dialog->findChild<QLabel*>("sweepSummary");
        dialog->findChild<QLineEdit*>("sweepList")->setText("4, 5, 2, 6");
        QTRY_VERIFY2(summary->text().contains("hot must be above cold"),
                     qPrintable(summary->text()));
        QVERIFY2(summary->text().contains(" 2"), qPrintable(summary->text()));
        QVERIFY(!add->isEnabled());
        dialog->findChild<QLineEdit*>("sweepList")->setText("4, 5, 6");
        QTRY_VERIFY(add->isEnabled());
        QVERIFY2(summary->text().startsWith("3 runs"), qPrintable(summary->text()));
        dialog->close();
    }
    void theListNamesItsMetric()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        const RunListModel& runs = gui.window().runs();
        const QModelIndex cell = runs.index(runs.rowOf(run), RunListModel::Result);
        QTRY_COMPARE(gui.valuesOf(run, "train/loss").size(), std::size_t{5});
        const double last = gui.valuesOf(run, "train/loss").back();
        QTRY_COMPARE(cell.data().toString(), figureText(last) + QString::fromUtf8(" ↓ Loss"));
        QVERIFY(cell.data(Qt::ToolTipRole).toString().contains("lower is better"));
    }
    void comparingWithTheStartLeavesTheControls()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 50\nstep_ms = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        QTRY_VERIFY(gui.find<ControlSlider>("controls/level") != nullptr);
        gui.find<ControlSlider>("controls/level")->setFocus();
        QTest::keyClick(gui.find<ControlSlider>("controls/level"), Qt::Key_Home);
        const double level = gui.find<ControlSlider>("controls/level")->value();
        QTest::keyClick(gui.find<ControlSlider>("controls/level"), Qt::Key_Right);
        QTest::keyClick(gui.find<ControlSlider>("controls/level"), Qt::Key_Right);
        const double moved = gui.find<ControlSlider>("controls/level")->value();
        QVERIFY(moved != level);
        gui.click("successCompare");
        QTRY_VERIFY(gui.find<QWidget>("compareView")->isVisible());
        QCOMPARE(gui.find<ControlSlider>("controls/level")->value(), moved);
    }
    void picturesOfTheNextWorkerAreTaken()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start("chaos", "[run]\nsteps = 200\nstep_ms = 5\n");
        QVERIFY(gui.waitState(run, RunState::Completed));
        auto* view = gui.window().findChild<RunView*>();
        QVERIFY(view != nullptr);
        QTRY_VERIFY(view->pump().framesShown() >= 1);
        QTRY_VERIFY(!gui.find<QLabel>("pictureAge")->isVisible()); // the last one has come
        QSignalSpy gone(&gui.window().runs().find(run)->session->client(),
                        &RunClient::connectionLost);
        gui.window().perform(RunAction::Explore, {run}); // the one that lingers makes way
        QTRY_VERIFY(!gone.isEmpty());
        const int before = view->pump().framesShown();
        QTRY_VERIFY(view->pump().framesShown() > before);
    }
    void theWatchdogSeesABlockedWindow()
    {
        Watchdog watchdog;
        QTest::qWait(50);
        QThread::msleep(150);
        QTRY_VERIFY(watchdog.blockCount() >= 1);
        QVERIFY(watchdog.longestBlockMs() >= 100);
        const QJsonObject report = QJsonDocument::fromJson(watchdog.report()).object();
        const QJsonObject block = report["blocks"].toArray().first().toObject();
        QVERIFY(block["blocked_ms"].toDouble() >= 100);
        QVERIFY(block["busy_ms"].toDouble() < block["blocked_ms"].toDouble()); // it slept
        QVERIFY(!block["stack"].toArray().isEmpty());
    }
    void noShortcutIsTakenTwice()
    {
        GuiHarness gui;
        QSet<QString> taken;
        for (const QAction* action : gui.window().actions().all()) {
            const QString keys = action->shortcut().toString();
            QVERIFY2(keys.isEmpty() || !taken.contains(keys),
                     qPrintable(keys + " of " + action->objectName()));
            taken << keys;
        }
    }
    void everyButtonHasAName()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        for (const QAbstractButton* button : gui.window().findChildren<QAbstractButton*>()) {
            if (!button->isVisible() || button->objectName().startsWith("qt_"))
                continue;
            const QString name = button->text() + button->accessibleName() + button->toolTip();
            QVERIFY2(!name.isEmpty(),
                     qPrintable(button->objectName() + " in " + button->parent()->objectName()));
        }
    }
};

VERGENCE_GUI_TEST(TestWindow)
#include "tst_window.moc"
