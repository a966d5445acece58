#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>

#include "tests/support/gui/gui_harness.h"

using namespace vergence;

/// S5: I type a wrong number and press Start.
class TestWrongNumber : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void startIsOffAndTheSummarySaysWhy()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("light_field", "demo"));
        gui.window().docks().apply("Setup");
        auto* start = gui.find<QPushButton>("startButton");
        QTRY_VERIFY(start->isVisible() && start->isEnabled());

        gui.type("iterations", "-5");
        QVERIFY(!start->isEnabled());
        QTest::mouseClick(start, Qt::LeftButton);
        gui.findAction("start")->trigger(); // Ctrl+R finds the same wall
        QCOMPARE(gui.window().currentRun(), QString());
        QCOMPARE(gui.window().runs().rowCount(), 0);
        const QString summary = gui.textOf("configSummary");
        QVERIFY2(summary.contains("iterations"), qPrintable(summary)); // the field
        QVERIFY2(summary.contains("-5") && summary.contains("at least 1"),
                 qPrintable(summary)); // the rule
        QVERIFY(start->toolTip().contains("iterations"));
        QTRY_VERIFY(gui.window().problems().errorCount() > 0);

        gui.find<QLineEdit>("configSearch")->setFocus();
        QTest::mouseClick(gui.find<QLabel>("configSummary"), Qt::LeftButton);
        auto* editor = gui.find<QLineEdit>("configForm/iterations");
        QTRY_VERIFY(editor->hasFocus());
        QVERIFY(editor->isVisible());

        gui.type("iterations", "5");
        QTRY_VERIFY(start->isEnabled());
        QTRY_COMPARE(gui.window().problems().errorCount(), 0);
    }
    void twoLinkedFieldsGiveOneError()
    {
        // The rule over both fields is the plugin's own: the window asks a `vergence validate`.
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        auto* start = gui.find<QPushButton>("startButton");
        gui.type("cold", "3");
        gui.type("hot", "2");
        QTRY_VERIFY(!start->isEnabled());
        QCOMPARE(gui.window().problems().errorCount(), 1);
        const QString summary = gui.textOf("configSummary");
        QVERIFY2(summary.startsWith("1 error") && summary.contains("hot must be above cold"),
                 qPrintable(summary));
        gui.type("cold", "1");
        QTRY_VERIFY(start->isEnabled());
        QTRY_COMPARE(gui.window().problems().errorCount(), 0);
    }
};

VERGENCE_GUI_TEST(TestWrongNumber)
#include "tst_s05_wrong_number.moc"
