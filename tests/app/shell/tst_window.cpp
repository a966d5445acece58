#include <QAbstractButton>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QPushButton>
#include <QSet>
#include <QStatusBar>
#include <QTableWidget>
#include <QTest>
#include <QThread>

#include "app/forms/diff_dialog.h"
#include "app/shell/watchdog.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

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

VERGENCE_GUI_TEST_MAIN(TestWindow)
#include "tst_window.moc"
