#include <QAction>
#include <QInputDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QStatusBar>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <QUndoStack>

#include "app/forms/diff_dialog.h"
#include "core/base/file.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

int dotsIn(const QWidget& form)
{
    int count = 0;
    for (const QToolButton* dot : form.findChildren<QToolButton*>("changedDot"))
        count += dot->isHidden() ? 0 : 1;
    return count;
}

/// The values alone: the heading names the preset that they came from.
std::string valuesIn(const ConfigForm& form)
{
    const std::string toml = form.toml();
    const std::size_t start = toml.find("\n[");
    return toml.substr(start == std::string::npos ? 0 : start);
}

} // namespace

/// Saves the draft as a person would; what the dialog proposed as the name.
QString savePreset(GuiHarness& gui, const QString& name)
{
    gui.find<QAction>("savePreset")->trigger();
    auto* dialog = gui.find<QInputDialog>("savePresetDialog");
    const QString proposed = dialog->textValue();
    dialog->setTextValue(name);
    dialog->accept();
    QCoreApplication::sendPostedEvents(dialog, QEvent::DeferredDelete);
    return proposed;
}

/// S7: I keep my settings.
class TestPresets : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aSavedPresetComesBackExactly()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", {}));
        gui.window().docks().apply("Setup");
        gui.type("hot", "1.6e-5");
        gui.type("size", "24");
        gui.type("sweeps", "77");
        QCOMPARE(dotsIn(gui.window().setup().form()), 3);
        const std::string draft = valuesIn(gui.window().setup().form());
        savePreset(gui, "warm edge");

        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "warm edge"));
        gui.window().docks().apply("Setup");
        QCOMPARE(valuesIn(gui.window().setup().form()), draft);
        QCOMPARE(gui.find<QLineEdit>("configForm/hot")->text().toDouble(), 1.6e-5);
        QCOMPARE(dotsIn(gui.window().setup().form()), 3);

        gui.find<QAction>("compareDefault")->trigger();
        auto* diff = gui.window().findChild<DiffDialog*>();
        QVERIFY(diff != nullptr);
        QCOMPARE(diff->findChild<QTableWidget*>()->rowCount(), 3);
        diff->close();
    }
    void aSavedPresetIsStarted()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", {}));
        gui.window().docks().apply("Setup");
        gui.type("sweeps", "30");
        savePreset(gui, "thirty sweeps");
        QVERIFY(gui.window().setup().choose("heat", "thirty sweeps"));
        gui.type("size", "24");
        const std::filesystem::path file = (GuiHarness::folder() + "/mine.toml").toStdString();
        writeFileAtomic(file, std::string_view(gui.window().setup().tomlWithHeader()));
        const auto verdict =
            test::runCommand({"validate", QString::fromStdString(file.string()), "--plugin-path",
                              VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"},
                             GuiHarness::folder());
        QVERIFY2(verdict.code == 0, qPrintable(verdict.out + verdict.err));
        gui.click("startButton");
        const QString run = gui.window().currentRun();
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        QCOMPARE(gui.window().runs().find(run)->total, 30);
    }
    void savingKeepsTheDraftAndTheName()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        SetupPanel& setup = gui.window().setup();
        QVERIFY(setup.choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        gui.type("sweeps", "31");
        gui.type("hot", "hotter"); // wrong, and mended later
        const int steps = setup.form().undoStack()->count();
        QCOMPARE(savePreset(gui, "demo"), QString("demo mine"));
        QCOMPARE(setup.form().presetName(), QString("demo mine"));
        QVERIFY(gui.window().statusBar()->currentMessage().contains("“demo mine”"));
        QCOMPARE(gui.find<QLineEdit>("configForm/hot")->text(), QString("hotter"));
        QCOMPARE(setup.form().undoStack()->count(), steps);
        gui.type("hot", "1");
        QCOMPARE(savePreset(gui, "v1.2 für später"), QString("demo mine"));
        QCOMPARE(setup.form().presetName(), QString("v1.2 für später"));
        QVERIFY(!setup.form().isPresetModified());
        savePreset(gui, "../a/b?");
        QCOMPARE(setup.form().presetName(), QString("_._a_b_"));
        QVERIFY(setup.draft().configFile.endsWith("/presets/heat/_._a_b_.toml"));
        savePreset(gui, QString(300, QChar(0x4e16)));
        QVERIFY(QFile::exists(setup.draft().configFile));
        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "v1.2 für später"));
        QCOMPARE(gui.find<QLineEdit>("configForm/sweeps")->text(), QString("31"));
    }
    void theTerminalReadsTheSame()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().setup().choose("heat", "demo"));
        gui.window().docks().apply("Setup");
        gui.type("hot", "1.6e-5");
        const std::filesystem::path file = (GuiHarness::folder() + "/draft.toml").toStdString();
        writeFileAtomic(file, std::string_view(gui.window().setup().tomlWithHeader()));
        gui.click("startButton");
        const QString run = gui.window().currentRun();
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        const auto typed =
            test::runCommand({"run", QString::fromStdString(file.string()), "--plugin-path",
                              VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"},
                             GuiHarness::folder());
        QVERIFY2(typed.code == 0, qPrintable(typed.err));
        const std::filesystem::path resolved = gui.window().runs().find(run)->folder.config();
        QCOMPARE(readFile(RunFolder{typed.folder()}.config()), readFile(resolved));
    }
};

VERGENCE_GUI_TEST(TestPresets)
#include "tst_s07_presets.moc"
