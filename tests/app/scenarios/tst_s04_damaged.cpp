#include <QLabel>
#include <QPushButton>
#include <QTest>

#include "core/base/file.h"
#include "tests/app/scenarios/dropped_data.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

/// The tiny model with a seventh line of images.txt that is no line of keypoints, and without one
/// photograph.
QString damagedFolder()
{
    const std::filesystem::path folder = (GuiHarness::folder() + "/colmap_broken").toStdString();
    test::writeTinyColmap(folder);
    const auto file = folder / "sparse/0/images.txt";
    QStringList lines = QString::fromStdString(readFile(file)).split('\n');
    lines[6] = "1.5 oops 3";
    writeFileAtomic(file, lines.join('\n').toStdString());
    const QString name = lines[9].section(' ', -1);
    std::filesystem::remove(folder / "images" / name.toStdString());
    return QString::fromStdString(folder.string());
}

/// "id: sentence" of each row of Problems, errors first.
QStringList problemsOf(GuiHarness& gui)
{
    QStringList rows;
    for (int row = 0; row < gui.window().problems().rowCount(); ++row) {
        const Problem& problem = gui.window().problems().problem(row);
        rows << problem.id + ": " + problem.sentence;
    }
    return rows;
}

/// Value of a row of the run's table "Data".
QString figureOf(const RunEntry& run, const std::string& name)
{
    for (const nlohmann::json& table : run.session->client().tables())
        if (table.value("id", "") == "data")
            for (const nlohmann::json& row : table["rows"])
                if (row[0] == name)
                    return QString::fromStdString(row[1].get<std::string>());
    return {};
}

} // namespace

/// S4: I drop a damaged data set.
class TestDamaged : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { m_path = damagedFolder(); }

    void aCardNamesFileAndLineAndTheRunGoesOnWithout()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        QVERIFY(test::dropOn(gui.window(), m_path));
        QTRY_VERIFY(gui.card() != nullptr);
        QCOMPARE(gui.card()->content().id, QString("E-DATA"));
        const QString what = gui.card()->content().whatHappened;
        QVERIFY2(what.contains("images.txt line 7") && what.contains("oops"), qPrintable(what));
        QCOMPARE(gui.textOf("importSummary"),
                 QString("COLMAP, 4 of 5 images, 1 camera, 212 points"));
        const QStringList problems = problemsOf(gui);
        QCOMPARE(problems.size(), 2);
        QVERIFY2(problems[0].startsWith("E-DATA: "), qPrintable(problems[0]));
        QVERIFY2(problems[1].startsWith("E-MISSING: 1 of 5"), qPrintable(problems[1]));
        QVERIFY(!gui.find<QPushButton>("startButton")->isEnabled());
        QVERIFY(gui.textOf("configSummary").startsWith("1 error: sparse/0/images.txt line 7"));
        gui.shoot("damaged_card");

        // The same words from the terminal.
        const test::Outcome outcome =
            test::runCommand({"validate", "sugar", "--set", "scene=" + m_path}, m_path);
        QCOMPARE(outcome.code, 6);
        for (const QString& problem : problems)
            QVERIFY2(outcome.out.contains(problem), qPrintable(outcome.out));

        gui.click("card_continue_without");
        QTRY_VERIFY(gui.find<QPushButton>("startButton")->isEnabled());
        QVERIFY(gui.card() == nullptr);
        QCOMPARE(gui.textOf("importSummary"),
                 QString("COLMAP, 4 of 5 images, 1 camera, 212 points"));
        QCOMPARE(gui.window().problems().errorCount(), 0);
        QCOMPARE(gui.window().problems().rowCount(), 2);
        gui.shoot("damaged_continued");

        gui.window().setup().form().assign({"iterations=2", "turntable_frames=0"}, "test");
        const QString run = gui.window().startDraft();
        QVERIFY(gui.waitState(run, RunState::Completed, 120'000));
        const QString pictures = figureOf(*gui.window().runs().find(run), "pictures");
        QVERIFY2(pictures.startsWith("4, "), qPrintable(pictures));
    }

    void validateSpeaksJsonToo()
    {
        const auto validated = [this](const QStringList& more) {
            return test::runCommand(
                QStringList{"validate", "sugar", "--json", "--set", "scene=" + m_path} + more,
                m_path);
        };
        const test::Outcome broken = validated({});
        QCOMPARE(broken.code, 6);
        const nlohmann::json data = broken.parsed()["data"];
        QVERIFY(broken.parsed()["valid"] == false);
        QVERIFY(data["remedy"] == "damaged_lines=skip");
        QVERIFY(data["issues"][0]["rule"] == "E-DATA");
        QVERIFY(data["issues"][0]["line"] == 7);
        QVERIFY(data["issues"][1]["rule"] == "E-MISSING");

        const test::Outcome mended = validated({"--set", "damaged_lines=skip"});
        QCOMPARE(mended.code, 0);
        QVERIFY(mended.parsed()["valid"] == true);
        QCOMPARE(mended.parsed()["data"]["issues"].size(), 2u);
    }

    void aRunDoesNotBeginWithIt()
    {
        const test::Outcome outcome =
            test::runCommand({"run", "sugar", "--preset", "small_photographs", "--set",
                              "scene=" + m_path, "--run-dir", GuiHarness::folder() + "/refused"},
                             m_path);
        QCOMPARE(outcome.code, 6);
        QVERIFY2(outcome.err.contains("images.txt:7"), qPrintable(outcome.err));
    }

private:
    QString m_path;
};

VERGENCE_GUI_TEST(TestDamaged)
#include "tst_s04_damaged.moc"
