#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/plugins/foveated_vlm/run_numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// A preset with small frames and few clips, so that it lasts seconds.
QStringList smallRun(const QString& preset)
{
    QStringList arguments{"run", "foveated_vlm", "--preset", preset, "--device", "cpu"};
    QStringList settings{"micro_steps=90",  "eval_every=30", "eval_samples=16",
                         "caption_clips=2", "gaze_clips=1",  "size=32"};
    settings << (preset == "demo-gaze" ? "batch=16" : "frames=3");
    for (const QString& setting : settings)
        arguments += {"--set", setting};
    return arguments + QStringList{"--checkpoint-steps", "20"};
}

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
        QTest::addColumn<QString>("preset");
        QTest::addColumn<int>("checkpoint"); ///< dies once this step was saved
        QTest::newRow("before the first test") << "demo-ask" << 20;
        QTest::newRow("after it") << "demo-ask" << 60;
        QTest::newRow("with a control beside") << "demo-gaze" << 60;
    }
    void killedWorkerGoesOnToTheSameNumbers()
    {
        QFETCH(QString, preset);
        QFETCH(int, checkpoint);
        const QString entire = "whole " + preset;
        if (!std::filesystem::exists(folderOf(entire).root)) {
            const test::Outcome whole =
                patiently(smallRun(preset) + QStringList{"--run-dir", path(entire)});
            QVERIFY2(whole.code == 0, qPrintable(whole.err));
        }
        const QString name = QString("killed %1 %2").arg(preset).arg(checkpoint);
        auto process = start(smallRun(preset) + QStringList{"--run-dir", path(name)});
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
        QVERIFY(fvlm::runNumbersOf(folderOf(name)) == fvlm::runNumbersOf(folderOf(entire)));
        for (const char* file : {"weights/model.safetensors", "captions.json", "attention_fine.npy",
                                 "gaze.gif", "verdict.json"})
            QVERIFY2(readFile(folderOf(name).artifacts() / file) ==
                         readFile(folderOf(entire).artifacts() / file),
                     file);
    }

    /// What the demo is for: the gaze finds the cell, one look over everything does not.
    void theGazeWinsInTheDemo()
    {
        const test::Outcome outcome = patiently({"run", "foveated_vlm", "--preset", "demo-gaze",
                                                 "--device", "cpu", "--run-dir", path("demo")});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        const auto read = [&](const char* file) {
            return nlohmann::json::parse(readFile(folderOf("demo").artifacts() / file));
        };
        const nlohmann::json verdict = read("verdict.json"), record = read("evaluation.json");
        QCOMPARE(verdict["outcome"].get<std::string>(), std::string("helps"));
        for (const char* ratio : {"ratio", "matched"})
            QVERIFY2(verdict[ratio]["low"].get<double>() >= 20, verdict.dump().c_str());
        QVERIFY(record["right"].get<int>() >= 0.95 * record["answers"].get<int>());
        QVERIFY(std::filesystem::exists(folderOf("demo").artifacts() / "asked_4294967296.png"));
    }

    void aRunBeforeTheTurnHasNoVerdict()
    {
        const test::Outcome outcome =
            patiently(smallRun("demo-gaze") + QStringList{"--run-dir", path("short")});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        const auto verdict =
            nlohmann::json::parse(readFile(folderOf("short").artifacts() / "verdict.json"));
        QCOMPARE(verdict["outcome"].get<std::string>(), std::string("not_yet_learnt"));
        QVERIFY(verdict["sentence"].get<std::string>().starts_with("Not yet learnt: after 90 "));
    }
};

VERGENCE_TEST(TestFvlmDemo)
#include "tst_fvlm_demo.moc"
