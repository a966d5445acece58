#include "tests/app/cli/cli_bench.h"

#include <fstream>

#include "core/artifact/event_export.h"
#include "core/artifact/gif.h"
#include "core/base/file.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// What is done with results: lists, verification, exports.
class CliResultsTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void runsAreListedAndShown();
    void changedArtifactFailsVerification();
    void exportsAreWritten();
    void exportsReplaceNothingUnasked_data();
    void exportsReplaceNothingUnasked();
    void aNameThatIsTakenGetsANumber();
    void dryRunWritesNothing();
    void unknownSeriesIsNamed();
};

void CliResultsTest::runsAreListedAndShown()
{
    const Outcome empty = vergence({"runs", "list"});
    QCOMPARE(empty.code, 0);
    QVERIFY(empty.err.contains("There are no runs"));

    const Outcome made = demoRun();
    const std::string id = fs::path(made.folder()).filename().string();
    const json runs = vergence({"runs", "list", "--json"}).parsed();
    QCOMPARE(runs.size(), std::size_t{1});
    QCOMPARE(runs[0]["id"].get<std::string>(), id);

    const Outcome shown =
        vergence({"runs", "show", QString::fromStdString(id.substr(id.size() - 4))});
    QVERIFY2(shown.out.contains("Completed"), qPrintable(shown.out + shown.err));
    QVERIFY2(shown.out.contains("plate/fade_1.png"), qPrintable(shown.out));
    const json run = vergence({"runs", "show", QString::fromStdString(id), "--json"}).parsed();
    QCOMPARE(run["status"]["step"].get<int>(), 20);
    QVERIFY(run["manifest"].is_object());
}

void CliResultsTest::changedArtifactFailsVerification()
{
    const Outcome made = demoRun();
    QCOMPARE(vergence({"runs", "verify", made.out.trimmed()}).code, 0);

    std::ofstream(fs::path(made.folder()) / "artifacts/plate/fade_1.png", std::ios::app) << "x";

    const Outcome changed = vergence({"runs", "verify", made.out.trimmed(), "--json"});
    QCOMPARE(changed.code, 9);
    QVERIFY2(changed.out.contains("fade_1.png"), qPrintable(changed.out));
}

void CliResultsTest::exportsAreWritten()
{
    const Outcome made = demoRun({"--zip"});
    const QString run = made.out.trimmed();
    QVERIFY2(fs::exists(fs::path(made.folder()) / "exports" /
                        (fs::path(made.folder()).filename().string() + ".zip")),
             qPrintable(made.err));

    const QString zip = path("out/bundle.zip");
    QCOMPARE(vergence({"export", "zip", run, "-o", zip}).out.trimmed(), zip);
    QCOMPARE(vergence({"runs", "verify", zip}).code, 0);

    const QString gif = path("out/fade.gif");
    const Outcome animated =
        vergence({"export", "gif", run, "-o", gif, "--delay", "100", "--scale", "2"});
    QVERIFY2(animated.code == 0, qPrintable(animated.err));
    const GifContent content = readGif(gif.toStdString());
    QCOMPARE(content.frames.size(), std::size_t{3});
    QCOMPARE(content.frames[0].width, 32);
    QCOMPARE(content.delaysCentiseconds[0], 10);
    QVERIFY(content.loops);
    QCOMPARE(vergence({"export", "gif", run, "--images", "artifacts/none_*.png"}).code, 6);

    const Outcome csv = vergence({"export", "csv", run, "--series", "heat/residual"});
    QVERIFY2(csv.out.startsWith("step,wall_s,name,value\n"), qPrintable(csv.out));
    QCOMPARE(csv.out.count("heat/residual"), 20);

    const Outcome events = vergence({"export", "tensorboard", run});
    QVERIFY2(events.code == 0, qPrintable(events.err));
    const QFileInfo file(events.out.trimmed()); // named as TensorBoard looks for it
    QVERIFY2(file.fileName().startsWith("events.out.tfevents.1"), qPrintable(events.out));
    const std::string bytes = readFile(file.filePath().toStdString());
    QCOMPARE(QByteArray::fromStdString(bytes).count("heat/residual"), 20);
    QCOMPARE(bytes, exportEvents({run.toStdString()}).bytes);
}

void CliResultsTest::exportsReplaceNothingUnasked_data()
{
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"zip", "gif", "csv", "tensorboard"})
        QTest::newRow(kind) << kind;
}

void CliResultsTest::exportsReplaceNothingUnasked()
{
    QFETCH(QString, kind);
    const QString run = demoRun().out.trimmed();
    const QString mine = written("mine.out", "mine");
    const Outcome refused = vergence({"export", kind, run, "-o", mine});
    QCOMPARE(refused.code, 8);
    QVERIFY2(refused.err.contains(mine) && refused.err.contains("--force"),
             qPrintable(refused.err));
    QCOMPARE(readFile(mine.toStdString()), std::string("mine"));
    const Outcome forced = vergence({"export", kind, run, "-o", mine, "--force"});
    QVERIFY2(forced.code == 0, qPrintable(forced.err));
    QVERIFY(readFile(mine.toStdString()) != "mine");
}

void CliResultsTest::aNameThatIsTakenGetsANumber()
{
    const QString run = demoRun({"--zip"}).out.trimmed();
    const QString id = QFileInfo(run).fileName();
    const QString zip = run + "/exports/" + id + ".zip";
    const std::string first = readFile(zip.toStdString());
    QCOMPARE(vergence({"export", "zip", run, "--with-checkpoints"}).out.trimmed(),
             run + "/exports/" + id + "-2.zip");
    QCOMPARE(readFile(zip.toStdString()), first);
    // Animations are told apart by what they show.
    QCOMPARE(vergence({"export", "gif", run}).out.trimmed(),
             run + "/exports/" + id + "_plate-fade.gif");
    QCOMPARE(vergence({"export", "gif", run}).out.trimmed(),
             run + "/exports/" + id + "_plate-fade-2.gif");
}

void CliResultsTest::dryRunWritesNothing()
{
    const QString run = demoRun().out.trimmed();
    for (const char* kind : {"zip", "gif", "csv", "tensorboard"}) {
        const Outcome outcome =
            vergence({"export", kind, run, "-o", path("none.out"), "--dry-run"});
        QCOMPARE(outcome.code, 0);
        QVERIFY2(outcome.out.startsWith("Would write "), qPrintable(outcome.out));
    }
    QVERIFY(!QFile::exists(path("none.out")));
}

void CliResultsTest::unknownSeriesIsNamed()
{
    const Outcome outcome =
        vergence({"export", "csv", demoRun().out.trimmed(), "--series", "heat/residul"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("Did you mean `heat/residual`?"), qPrintable(outcome.err));
}

VERGENCE_TEST(CliResultsTest)
#include "tst_cli_results.moc"
