#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/plugins/foveated_vlm/run_numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// The demo with small frames and few clips, so that it lasts seconds.
const QStringList kSmallDemo{"run",
                             "foveated_vlm",
                             "--preset",
                             "demo-ask",
                             "--device",
                             "cpu",
                             "--set",
                             "frames=3",
                             "--set",
                             "size=32",
                             "--set",
                             "micro_steps=90",
                             "--set",
                             "eval_every=30",
                             "--set",
                             "eval_samples=16",
                             "--set",
                             "caption_clips=2",
                             "--set",
                             "gaze_clips=1",
                             "--checkpoint-steps",
                             "20"};

} // namespace

/// The lab as a user starts it.
class TestFvlmDemo : public test::CliBench {
    Q_OBJECT

    RunFolder folderOf(const QString& name) const { return RunFolder{path(name).toStdString()}; }

private Q_SLOTS:
    void initTestCase() { makeHome(); }

    /// A worker that dies without a word goes on from its checkpoint to the same numbers, weights
    /// and answers.
    void killedWorkerGoesOnToTheSameNumbers_data()
    {
        QTest::addColumn<int>("checkpoint"); ///< dies once this step was saved
        QTest::newRow("before the first test") << 20;
        QTest::newRow("after it") << 60;
    }
    void killedWorkerGoesOnToTheSameNumbers()
    {
        QFETCH(int, checkpoint);
        if (!std::filesystem::exists(folderOf("whole").root)) {
            const test::Outcome whole =
                patiently(kSmallDemo + QStringList{"--run-dir", path("whole")});
            QVERIFY2(whole.code == 0, qPrintable(whole.err));
        }
        const QString name = QString("killed %1").arg(checkpoint);
        auto process = start(kSmallDemo + QStringList{"--run-dir", path(name)});
        const auto isSaved = [&] {
            const auto saved = listCheckpoints(folderOf(name));
            return !saved.empty() &&
                   std::stoi(saved.back().filename().string().substr(5)) >= checkpoint;
        };
        QTRY_VERIFY_WITH_TIMEOUT(isSaved() || process->state() == QProcess::NotRunning,
                                 test::kWaitMilliseconds);
        QCOMPARE(process->state(), QProcess::Running);
        process->kill();
        process->waitForFinished();
        QVERIFY(!std::filesystem::exists(folderOf(name).artifacts() / "verdict.json"));
        const test::Outcome rest = patiently({"run", path(name), "--resume"});
        QVERIFY2(rest.code == 0, qPrintable(rest.err));
        QVERIFY(fvlm::runNumbersOf(folderOf(name)) == fvlm::runNumbersOf(folderOf("whole")));
        for (const char* file :
             {"weights/model.safetensors", "captions.json", "attention_fine.npy", "gaze.gif"})
            QVERIFY2(readFile(folderOf(name).artifacts() / file) ==
                         readFile(folderOf("whole").artifacts() / file),
                     file);
    }
};

VERGENCE_TEST(TestFvlmDemo)
#include "tst_fvlm_demo.moc"
