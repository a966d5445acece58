#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QStatusBar>
#include <QTest>

#include "app/shell/error_card.h"
#include "core/base/file.h"
#include "tests/app/scenarios/dropped_data.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

/// Empty files of these names: what a folder holds is told by names alone.
QString folderOf(const QString& name, const QStringList& files)
{
    const QDir folder(GuiHarness::folder() + '/' + name);
    folder.mkpath(".");
    for (const QString& file : files)
        writeFileAtomic(folder.filePath(file).toStdString(), std::string_view());
    return folder.path();
}

QString colmapFolder(const QString& name)
{
    const QString path = GuiHarness::folder() + '/' + name;
    if (!QDir(path).exists())
        test::writeTinyColmap(path.toStdString());
    return path;
}

} // namespace

/// S3: I drop my COLMAP folder on the window.
class TestDrop : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whatWasFoundBelongsToItsDraft()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = colmapFolder("mine");
        QVERIFY(test::dropOn(gui.window(), path));
        QTRY_COMPARE(gui.textOf("importSummary"),
                     QString("COLMAP, 5 images, 1 camera, 212 points"));
        SetupPanel& setup = gui.window().setup();
        QVERIFY(setup.choose("sugar", "demo")); // is about data of its own
        QVERIFY(setup.form().fieldText("scene") != path);
        QCOMPARE(gui.textOf("importSummary"), QString());
    }
    void anyDockLeadsToTheSetup()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = colmapFolder(QString::fromUtf8("Übung é 空 (1)"));
        SetupPanel& setup = gui.window().setup();
        gui.find<QDockWidget>("logDock")->setFloating(true);
        for (const char* dock : {"runsDock", "inspectorDock", "logDock"}) {
            QVERIFY(setup.choose("light_field", {}));
            QVERIFY(gui.textOf("importSummary").isEmpty());
            QVERIFY2(test::dropOn(*gui.find<QDockWidget>(dock)->widget(), path), dock);
            QCOMPARE(setup.plugin(), QString("sugar"));
            QCOMPARE(setup.form().presetName(), QString("small_photographs"));
            QCOMPARE(setup.form().fieldText("scene"), path);
            QTRY_COMPARE(gui.textOf("importSummary"),
                         QString("COLMAP, 5 images, 1 camera, 212 points"));
            QVERIFY(gui.find<QLabel>("importSummary")->isVisible());
            QCOMPARE(gui.window().problems().rowCount(), 0);
        }
        gui.find<QDockWidget>("logDock")->setFloating(false);
        gui.shoot("drop_summary");
        QCOMPARE(gui.window().runs().rowCount(), 0); // nothing starts by itself
        QCOMPARE(GuiHarness::visibleDialogs(), 0);
    }

    void aSecondDropSaysThatItIsThere()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = colmapFolder("garden");
        QVERIFY(test::dropOn(gui.window(), path));
        ConfigForm& form = gui.window().setup().form();
        form.assign({"iterations=77"}, "test");
        QVERIFY(test::dropOn(gui.window(), path + '/'));
        const QString message = gui.window().statusBar()->currentMessage();
        QVERIFY2(message.contains("garden is already"), qPrintable(message));
        QCOMPARE(form.fieldText("iterations"), QString("77")); // and touches nothing
        QCOMPARE(GuiHarness::visibleDialogs(), 0);

        // Another folder for the same lab changes the folder alone; undo takes it back.
        QVERIFY(test::dropOn(gui.window(), colmapFolder("meadow")));
        QVERIFY(form.fieldText("scene").endsWith("/meadow"));
        QCOMPARE(form.fieldText("iterations"), QString("77"));
        gui.findAction("undo")->trigger();
        QCOMPARE(form.fieldText("scene"), path);
    }

    void aSearchLineLeavesFilesToTheWindow()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        for (const char* name : {"runsFilter", "configSearch", "configForm/iterations"}) {
            QVERIFY(gui.window().setup().choose("light_field", {}));
            auto* line = gui.find<QLineEdit>(name);
            const QString text = line->text();
            QVERIFY2(test::dropOn(*line, colmapFolder("garden")), name);
            QCOMPARE(gui.window().setup().plugin(), QString("sugar"));
            if (gui.find<QLineEdit>(name) == line) // editors go with their lab
                QCOMPARE(line->text(), text);
        }
    }

    void severalLabsAreAMenu()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = folderOf("pictures", {"a.PNG", "notes.txt"});
        QVERIFY(test::dropOn(gui.window(), path));
        auto* menu = gui.find<QMenu>("dropMenu");
        QVERIFY(menu != nullptr && menu->isVisible());
        QStringList titles;
        QAction* live = nullptr;
        for (QAction* action : menu->actions()) {
            if (!action->isSeparator())
                titles << action->text();
            if (action->text().startsWith("Live"))
                live = action;
        }
        titles.sort();
        QCOMPARE(titles, (QStringList{"Live-stream diffusion", "MC embedding study"}));
        gui.shoot("drop_menu");
        live->trigger();
        menu->close();
        SetupPanel& setup = gui.window().setup();
        QCOMPARE(setup.plugin(), QString("live_diffusion"));
        QCOMPARE(setup.form().fieldText("source"), QString("images"));
        QCOMPARE(setup.form().fieldText("path"), path);
        QCOMPARE(gui.window().runs().rowCount(), 0);
    }

    void videosAreForOneLab()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = folderOf("films", {"a.mp4"});
        QVERIFY(test::dropOn(gui.window(), path));
        QCOMPARE(gui.window().setup().plugin(), QString("foveated_vlm"));
        QCOMPARE(gui.window().setup().form().fieldText("clips"), path);
    }

    void aFolderForNobodyIsOneSentence()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString plugin = gui.window().setup().plugin();
        QVERIFY(test::dropOn(gui.window(), folderOf("letters", {"a.txt"})));
        QVERIFY(gui.card() != nullptr);
        const QString message = gui.card()->content().whatHappened;
        QVERIFY2(message.startsWith("letters is neither"), qPrintable(message));
        QCOMPARE(gui.window().setup().plugin(), plugin);
        QCOMPARE(GuiHarness::visibleDialogs(), 0);
    }

    void aFolderOnTheCommandLineWaitsForThePlugins()
    {
        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.files << colmapFolder("garden");
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        QTRY_COMPARE(gui.window().setup().plugin(), QString("sugar"));
        QTRY_VERIFY(gui.textOf("importSummary").startsWith("COLMAP, 5 images"));
    }
};

VERGENCE_GUI_TEST(TestDrop)
#include "tst_s03_drop.moc"
