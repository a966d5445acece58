#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QSet>
#include <QStackedWidget>
#include <QTest>
#include <QThread>
#include <QTreeWidget>

#include "app/shell/watchdog.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

int visibleDialogs()
{
    int count = 0;
    for (QWidget* widget : QApplication::topLevelWidgets())
        count += qobject_cast<QDialog*>(widget) != nullptr && widget->isVisible() ? 1 : 0;
    return count;
}

} // namespace

/// The window before anything runs: start page, layouts, setup, plugins.
class TestWindow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void firstStartShowsTheStartPageAndFillsItsLines()
    {
        GuiHarness gui;
        QVERIFY(gui.find<QWidget>("startPage")->isVisible());
        QCOMPARE(visibleDialogs(), 0);
        QTRY_VERIFY_WITH_TIMEOUT(gui.find<QLabel>("computerLine")->text().contains("core"), 10'000);
        QTRY_VERIFY_WITH_TIMEOUT(gui.find<QLabel>("pluginLine")->text().contains("ready"), 30'000);
        QTRY_VERIFY(gui.find<QPushButton>("demoButton")->isEnabled());
        QVERIFY(gui.find<QPushButton>("demoButton")->isDefault());
        QCOMPARE(visibleDialogs(), 0);
        gui.shoot("start_page");
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
    void nothingIsWrittenOutsideTheXdgFolders()
    {
        {
            GuiHarness gui;
            QVERIFY(gui.waitForPlugins());
        }
        const QDir home(GuiHarness::folder() + "/home");
        QCOMPARE(home.entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot),
                 QStringList());
    }
    void withoutADisplayOneLineAndExitCode7()
    {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
            environment.remove(name);
        process.setProcessEnvironment(environment);
        process.start(VERGENCE_BINARY_DIR "/bin/vergence-studio", QStringList());
        QVERIFY(process.waitForFinished(10'000));
        QCOMPARE(process.exitCode(), 7);
        QCOMPARE(process.readAllStandardError().count('\n'), 1);
    }
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
    void aWrongNumberBlocksStartAndIsListed()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        auto* editor = gui.find<QLineEdit>("configForm/sweeps");
        QVERIFY(editor != nullptr);
        editor->setFocus();
        editor->selectAll();
        QTest::keyClicks(editor, "-5");
        QTest::keyClick(editor, Qt::Key_Return);
        auto* startButton = gui.find<QPushButton>("startButton");
        QTRY_VERIFY(!startButton->isEnabled());
        QTRY_VERIFY(gui.window().problems().errorCount() > 0);
        QVERIFY(gui.window().problems().problem(0).sentence.contains("weeps"));
        QCOMPARE(gui.window().startDraft(), QString());
        gui.shoot("wrong_number");
        editor->selectAll();
        QTest::keyClicks(editor, "30");
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_VERIFY(startButton->isEnabled());
        QTRY_COMPARE(gui.window().problems().errorCount(), 0);
    }
    void refusedPluginsHaveTheirSentence()
    {
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        const QString broken = GuiHarness::folder() + "/broken";
        QDir().mkpath(broken);
        QFile text(broken + "/libvergence-plugin-text.so");
        QVERIFY(text.open(QIODevice::WriteOnly));
        text.write("not a library");
        text.close();
        options.pluginFolders << broken;
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        gui.findAction("pluginManager")->trigger();
        auto* table = gui.find<QTreeWidget>("pluginTable");
        QVERIFY(table != nullptr);
        QSet<QString> states;
        for (int row = 0; row < table->topLevelItemCount(); ++row) {
            const QTreeWidgetItem* item = table->topLevelItem(row);
            states << item->text(3);
            const bool isReady =
                item->text(3) == QString::fromStdString(nameOf(PluginState::Ready));
            QVERIFY2(isReady || !item->text(4).isEmpty(), qPrintable(item->text(0)));
        }
        QVERIFY(states.contains(QString::fromStdString(nameOf(PluginState::Ready))));
        QVERIFY(states.contains(QString::fromStdString(nameOf(PluginState::Refused))));
        gui.shoot("plugin_manager");
    }
    void safeModeOpensNoPlugin()
    {
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.isSafeMode = true;
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        for (const PluginInfo& plugin : gui.window().catalog().plugins())
            QVERIFY(!plugin.isUsable());
        QVERIFY(!gui.find<QPushButton>("demoButton")->isEnabled());
    }
    void theWatchdogSeesABlockedWindow()
    {
        Watchdog watchdog;
        QTest::qWait(50);
        QThread::msleep(150);
        QTRY_VERIFY(watchdog.blockCount() >= 1);
        QVERIFY(watchdog.longestBlockMs() >= 100);
        QVERIFY(watchdog.report().contains("longest_block_ms"));
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
