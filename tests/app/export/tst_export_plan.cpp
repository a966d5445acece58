#include <atomic>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "app/export/artifact_tree.h"
#include "app/export/export_job.h"
#include "app/export/export_plan.h"
#include "app/export/image_sequences.h"
#include "core/artifact/event_export.h"
#include "core/base/error.h"
#include "tests/app/export/sample_run.h"
#include "tests/support/environment.h"
#include "tests/support/test_program.h"

using namespace vergence;
using test::ScopedVariable;

class ExportPlanTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void numbersAreOrderedByValue_data()
    {
        QTest::addColumn<QString>("a");
        QTest::addColumn<QString>("b");
        QTest::addColumn<bool>("isLess");
        QTest::newRow("digits") << QStringLiteral("n2/eye") << QStringLiteral("n10/eye") << true;
        QTest::newRow("zeros") << QStringLiteral("n002") << QStringLiteral("n10") << true;
        QTest::newRow("equal") << QStringLiteral("n2") << QStringLiteral("n2") << false;
        QTest::newRow("prefix") << QStringLiteral("n") << QStringLiteral("n2") << true;
        QTest::newRow("letters") << QStringLiteral("b1") << QStringLiteral("a2") << false;
    }

    void numbersAreOrderedByValue()
    {
        QFETCH(QString, a);
        QFETCH(QString, b);
        QFETCH(bool, isLess);
        QCOMPARE(naturalLess(a.toStdString(), b.toStdString()), isLess);
    }

    void sequencesAreFoundOverFoldersAndNumbers()
    {
        const test::SampleRun run;
        const auto found = findImageSequences(run.folder());
        QCOMPARE(found.size(), std::size_t(2));
        QCOMPARE(found[0].pattern, std::string("artifacts/planes/plane-#.png"));
        QCOMPARE(found[0].frames.size(), std::size_t(12));
        QCOMPARE(found[0].frames[9].filename().string(), std::string("plane-10.png"));
        QCOMPARE(found[1].pattern, std::string("artifacts/boards/*/eye.png"));
        QCOMPARE(found[1].frames[0].parent_path().filename().string(), std::string("n2"));
        QCOMPARE(found[1].frames[2].parent_path().filename().string(), std::string("n26"));
    }

    void runWithoutPicturesHasNoSequence()
    {
        QTemporaryDir place;
        QVERIFY(findImageSequences(RunFolder{place.path().toStdString()}).empty());
    }

    void placeholdersAreFilled()
    {
        const ScopedVariable epoch("SOURCE_DATE_EPOCH", "0");
        const RunFolder folder{"/data/bunny/runs/2026-run"};
        QCOMPARE(fileName(QStringLiteral("{project}_{run}_{plugin}_{what}_{date}"), folder,
                          QStringLiteral("light_field"), ZipPlan{}),
                 QStringLiteral("bunny_2026-run_light_field_results_1970-01-01.zip"));
        QCOMPARE(fileName(QStringLiteral("../a/b"), folder, {}, MetricsPlan{}),
                 QStringLiteral("-a-b.csv"));
        QCOMPARE(fileName(QString(), folder, {}, PngPlan{}), QStringLiteral("view.png"));
    }

    void animationsAreNamedAfterTheirPictures_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("word");
        QTest::newRow("board") << QStringLiteral("artifacts/boards/n26/plane-#.png")
                               << QStringLiteral("boards-n26-plane");
        QTest::newRow("over boards")
            << QStringLiteral("artifacts/boards/*/eye.png") << QStringLiteral("boards-eye");
        QTest::newRow("previews") << QStringLiteral("previews/gaze_#.png")
                                  << QStringLiteral("previews-gaze");
        QTest::newRow("number alone")
            << QStringLiteral("artifacts/#.png") << QStringLiteral("animation");
    }
    void animationsAreNamedAfterTheirPictures()
    {
        QFETCH(QString, pattern);
        QFETCH(QString, word);
        GifPlan plan;
        plan.sequence.pattern = pattern.toStdString();
        QCOMPARE(wordOf(plan), word);
    }

    void commandIsQuotedForTheShell()
    {
        QCOMPARE(
            shellLine({QStringLiteral("vergence"), QStringLiteral("a b"), QStringLiteral("it's")}),
            QStringLiteral("vergence 'a b' 'it'\\''s'"));
    }

    void largeGifIsSeenBeforehand()
    {
        GifPlan plan;
        plan.sequence.frames.resize(24);
        plan.size = {320, 240};
        QVERIFY(estimatedBytes(plan, {}) < kLargeGifBytes);
        plan.scale = 4;
        QVERIFY(estimatedBytes(plan, {}) > kLargeGifBytes);
    }

    void metricsKeepEveryValue()
    {
        const test::SampleRun run;
        QTemporaryDir out;
        const auto write = [&](MetricsPlan::Format format) {
            const std::filesystem::path path = out.filePath(QStringLiteral("m")).toStdString();
            const std::atomic<bool> cancelled{false};
            writeExport(
                run.folder(), MetricsPlan{format}, path, [](auto, auto) {}, cancelled);
            return readFile(path);
        };
        QCOMPARE(write(MetricsPlan::Format::CsvRows), readFile(run.folder().metrics()));
        QCOMPARE(write(MetricsPlan::Format::CsvColumns),
                 std::string("step,train/loss,train/psnr\n0,1.5,20\n10,nan,\n"));
        QCOMPARE(write(MetricsPlan::Format::TensorBoard), exportEvents(run.folder()).bytes);
        const auto json = nlohmann::json::parse(write(MetricsPlan::Format::Json));
        QCOMPARE(json["series"]["train/loss"]["value"][0].get<double>(), 1.5);
        QCOMPARE(json["series"]["train/loss"]["value"][1].get<std::string>(), std::string("nan"));
    }

    void unwritableTargetIsAnOutputError()
    {
        const test::SampleRun run;
        const std::atomic<bool> cancelled{false};
        QVERIFY_EXCEPTION_THROWN(
            writeExport(
                run.folder(), MetricsPlan{}, "/proc/none/m.csv", [](auto, auto) {}, cancelled),
            OutputError);
    }

    void bundleFilesLeaveOutCheckpointsAndExports()
    {
        const test::SampleRun run;
        writeFileAtomic(run.folder().exports() / "old.zip", std::string_view("x"));
        for (const auto& [path, bytes] : bundleFiles(run.folder()))
            QVERIFY2(!path.starts_with("exports") && !path.starts_with("checkpoints"),
                     path.c_str());
        QVERIFY(!checkpointFiles(run.folder()).empty());
    }
};

VERGENCE_TEST(ExportPlanTest)
#include "tst_export_plan.moc"
