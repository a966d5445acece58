#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>
#include <QUndoStack>
#include <QWheelEvent>

#include "core/base/file.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

void turnWheelOver(QWidget* widget, int delta)
{
    const QPointF place = widget->rect().center();
    QWheelEvent wheel(place, widget->mapToGlobal(place), {}, QPoint(0, delta), Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&wheel); // as from a mouse
    qApp->notify(widget, &wheel);
}

} // namespace

/// S6: I scroll through the form, and type numbers as people write them.
class TestFormEntry : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { QLocale::setDefault(QLocale::c()); }

    void theWheelChangesNoUnfocusedEditor()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("light_field", "demo"));
        gui.window().docks().apply("Setup");
        gui.find<QComboBox>("configLevel")->setCurrentIndex(1); // every setting
        gui.find<QLineEdit>("configSearch")->setFocus();
        const std::string before = gui.window().setup().form().toml();
        int editors = 0;
        for (QWidget* widget : gui.window().setup().form().findChildren<QWidget*>()) {
            if (!widget->objectName().startsWith("configForm/") || widget->hasFocus())
                continue;
            ++editors;
            for (const int delta : {-120, 120, 120}) {
                turnWheelOver(widget, delta);
                for (QWidget* part : widget->findChildren<QWidget*>())
                    turnWheelOver(part, delta);
            }
        }
        QVERIFY(editors > 30);
        QCOMPARE(gui.window().setup().form().toml(), before);
        for (QComboBox* combo : gui.window().setup().findChildren<QComboBox*>())
            turnWheelOver(combo, -120); // plugin and preset as well
        QCOMPARE(gui.window().setup().plugin(), QString("light_field"));
        QCOMPARE(gui.window().setup().form().presetName(), QString("demo"));
    }
    void numbersReachTheRunExactly()
    {
        QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        gui.type("hot", "1.6e-5");
        gui.type("size", "2^5");
        gui.type("sweeps", "10k");
        QCOMPARE(gui.find<QLineEdit>("configForm/sweeps")->text(), QString("10000"));
        gui.click("startButton");
        const QString run = gui.window().currentRun();
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        const RunFolder folder = gui.window().runs().find(run)->folder;
        const auto shown = test::runCommand(
            {"config", "show", QString::fromStdString(folder.config().string()), "--json",
             "--plugin-path", VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"},
            GuiHarness::folder());
        const auto values = shown.parsed()["values"];
        QVERIFY2(values.is_object(), qPrintable(shown.err));
        QVERIFY(values["hot"].get<double>() == 1.6e-5);
        QCOMPARE(values["size"].get<int>(), 32);
        QCOMPARE(values["sweeps"].get<int>(), 10'000);
    }
    void aCommaIsRefusedWithAHint()
    {
        QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        gui.type("hot", "0,5");
        QVERIFY2(gui.textOf("configSummary").contains("0.5"),
                 qPrintable(gui.textOf("configSummary")));
        QVERIFY(!gui.find<QPushButton>("startButton")->isEnabled());
        QCOMPARE(gui.find<QLineEdit>("configForm/hot")->text(), QString("0,5"));
        const std::string toml = gui.window().setup().form().toml();
        for (const char* misread : {"hot = 5", "hot = 0", "hot = 0.5"})
            QVERIFY2(toml.find(misread) == std::string::npos, toml.c_str());
    }
    void escapeRestoresWhatStoodThere()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        const std::string before = gui.window().setup().form().toml();
        const int history = gui.window().setup().form().undoStack()->count();
        gui.type("sweeps", "77", false);
        auto* editor = gui.find<QLineEdit>("configForm/sweeps");
        QTest::keyClick(editor, Qt::Key_Escape);
        QCOMPARE(editor->text(), QString("20"));
        QCOMPARE(gui.window().setup().form().toml(), before);
        QCOMPARE(gui.window().setup().form().undoStack()->count(), history);
    }
};

VERGENCE_GUI_TEST(TestFormEntry)
#include "tst_s06_form_entry.moc"
