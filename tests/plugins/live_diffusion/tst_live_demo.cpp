#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/run_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// A small network learns, streams what it has learnt and follows a closed loop. Plans are not
/// timed (tuned=false), so that all processes compute the same bits.
const QStringList kSmallRun{"run",
                            "live_diffusion",
                            "--device",
                            "cpu",
                            "--set",
                            "parts=[\"train\", \"stream\", \"drift\"]",
                            "--set",
                            "model_size=nano",
                            "--set",
                            "frame_size=32",
                            "--set",
                            "weights=trained",
                            "--set",
                            "tuned=false",
                            "--set",
                            "train_updates=60",
                            "--set",
                            "warmup=10",
                            "--set",
                            "train_clips=4",
                            "--set",
                            "sample_every=20",
                            "--set",
                            "stream_frames=40",
                            "--set",
                            "drift_frames=30",
                            "--set",
                            "drift_grid=false",
                            "--set",
                            "export_overlay=false",
                            "--checkpoint-steps",
                            "10"};

std::map<std::string, std::vector<double>> numbersOf(const RunFolder& folder)
{
    auto numbers = test::timelessNumbers(folder);
    for (const char* timed : {"frame_ms", "fps", "fps_mean", "updates_per_s"})
        numbers.erase(timed);
    return numbers;
}

} // namespace

/// The lab as a user starts it.
class TestLiveDemo : public test::CliBench {
    Q_OBJECT

    RunFolder folderOf(const QString& name) const { return RunFolder{path(name).toStdString()}; }

private Q_SLOTS:
    void initTestCase() { makeHome(); }

    /// A worker that dies without a word goes on from its checkpoint to the same weights, pictures
    /// and verdict.
    void killedWorkerGoesOnToTheSameResults_data()
    {
        QTest::addColumn<int>("checkpoint"); ///< dies once this step was saved
        QTest::newRow("while it learns") << 20;
        QTest::newRow("while it streams") << 70;
    }
    void killedWorkerGoesOnToTheSameResults()
    {
        QFETCH(int, checkpoint);
        if (!std::filesystem::exists(folderOf("whole").root)) {
            const test::Outcome whole =
                patiently(kSmallRun + QStringList{"--run-dir", path("whole")});
            QVERIFY2(whole.code == 0, qPrintable(whole.err));
        }
        const QString name = QString("killed %1").arg(checkpoint);
        auto process = start(kSmallRun + QStringList{"--run-dir", path(name)});
        const auto isSaved = [&] {
            const auto saved = listCheckpoints(folderOf(name));
            return !saved.empty() &&
                   std::stoi(saved.back().filename().string().substr(5)) >= checkpoint;
        };
        QTRY_VERIFY_WITH_TIMEOUT(isSaved() || process->state() == QProcess::NotRunning,
                                 test::kWaitMilliseconds);
        process->kill();
        process->waitForFinished();
        const test::Outcome rest = patiently({"run", path(name), "--resume"});
        QVERIFY2(rest.code == 0, qPrintable(rest.err));
        for (const char* file : {"weights/model.safetensors", "stream.gif", "drift/drift.csv"})
            QVERIFY2(readFile(folderOf(name).artifacts() / file) ==
                         readFile(folderOf("whole").artifacts() / file),
                     file);
        const auto whole = numbersOf(folderOf("whole")), mine = numbersOf(folderOf(name));
        QVERIFY(!whole.at("loss").empty());
        QVERIFY(mine.at("loss") == whole.at("loss"));
        QVERIFY(mine.at("held_out_psnr") == whole.at("held_out_psnr"));
    }

    /// The shipped network colours the film better than it came in, and says so.
    void shippedNetworkStreams()
    {
        const test::Outcome outcome =
            patiently({"run", "live_diffusion", "--device", "cpu", "--set", "stream_frames=48",
                       "--set", "export_clip=none", "--run-dir", path("shipped")});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        const auto report =
            nlohmann::json::parse(readFile(folderOf("shipped").artifacts() / "stream/stream.json"));
        QVERIFY(report.at("trained").get<bool>());
        QCOMPARE(report.at("generated").get<int>(), 48);
        QVERIFY(report.at("psnr").get<double>() > 16); // the input has about 14.5 dB
    }

    /// No other film takes its place, and nothing is trained or measured before it is found out.
    void unusableSourcesEndWithSix_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("name");
        QTest::newRow("no video") << "video"
                                  << "broken.mp4";
        QTest::newRow("missing video") << "video"
                                       << "missing.mp4";
        QTest::newRow("empty folder") << "images"
                                      << "empty";
    }
    void unusableSourcesEndWithSix()
    {
        QFETCH(QString, source);
        QFETCH(QString, name);
        written("broken.mp4", "no video");
        QDir(home()).mkpath("empty");
        const QStringList named{"--set", "source=" + source,
                                "--set", "path=\"" + path(name) + "\"",
                                "--set", "parts=[\"train\", \"stream\"]"};
        const test::Outcome validated = vergence(QStringList{"validate", "live_diffusion"} + named);
        QVERIFY2(validated.code == 6, qPrintable(validated.out + validated.err));
        QVERIFY2(validated.out.contains(name), qPrintable(validated.out));
        const test::Outcome outcome =
            patiently(QStringList{"run", "live_diffusion", "--device", "cpu", "--run-dir",
                                  path("run-" + name)} +
                      named);
        QVERIFY2(outcome.code == 6, qPrintable(outcome.err));
        QVERIFY2(outcome.err.contains(name), qPrintable(outcome.err));
        QVERIFY(!QFile::exists(path("run-" + name) + "/artifacts/weights/model.safetensors"));
    }

    /// Keys and values of the examples are the lab's own.
    void examplesOfBenchAreValid()
    {
        const QString help = vergence({"bench", "--help"}).out;
        int examples = 0;
        for (const QString& line : help.split('\n')) {
            QStringList words = line.simplified().split(' ');
            if (!line.contains("vergence bench live_diffusion"))
                continue;
            QStringList settings;
            for (int i = 0; i + 1 < words.size(); ++i)
                if (words[i] == "--set")
                    settings << words[i] << words[i + 1];
            const test::Outcome outcome =
                vergence(QStringList{"validate", "live_diffusion"} + settings);
            QVERIFY2(outcome.code == 0, qPrintable(line + "\n" + outcome.out));
            ++examples;
        }
        QVERIFY(examples >= 3);
    }

    void drawnFilmsAreDescribedToo()
    {
        const test::Outcome outcome = vergence({"validate", "live_diffusion"});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        QVERIFY2(outcome.out.contains("orbits, 64×64 px"), qPrintable(outcome.out));
    }
};

VERGENCE_TEST(TestLiveDemo)
#include "tst_live_demo.moc"
