#include <algorithm>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/artifact/gif.h"
#include "core/artifact/image.h"
#include "core/artifact/safetensors.h"
#include "plugins/foveated_vlm/foveated_vlm_run.h"
#include "tests/plugins/foveated_vlm/run_numbers.h"
#include "tests/plugins/foveated_vlm/stopping_run.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::RunOutcome;

namespace {

const std::vector<std::string> kTiny{
    "vit=tiny",          "llm=tiny",      "query_dim=16",     "frames=3",
    "size=32",           "batch=2",       "grad_accum=3",     "micro_steps=18",
    "samples=0",         "eval_every=3",  "eval_samples=6",   "log_every=1",
    "caption_clips=2",   "gaze_clips=2",  "caption_tokens=4", "gaze_size=32",
    "lr_connector=1e-3", "lr_vit=1e-3",   "lr_llm=1e-3",      "order=prompt_frames_answer",
    "lambda_coarse=0.2", "precision=fp32"};

/// What the run left for other programs, without what depends on time.
std::map<std::string, std::string> exportedNumbers(const RunFolder& folder)
{
    const auto json = nlohmann::json::parse(readFile(folder.artifacts() / "metrics.json"));
    std::map<std::string, std::string> numbers;
    for (const auto& series : json.at("series"))
        numbers[series.at("name")] = series.at("steps").dump() + series.at("values").dump();
    for (const char* timed : kTimedSeries)
        numbers.erase(timed);
    return numbers;
}

} // namespace

/// Whole runs of the foveated VLM trainer on drawn clips and on files.
class TestFvlmRun : public QObject {
    Q_OBJECT

    QTemporaryDir m_temporary;
    std::shared_ptr<test::StopMoment> m_stop; ///< of the next run; null: it goes to its end
    test::RunBench m_bench{m_temporary.path().toStdString(), foveatedVlmSchema(),
                           [this](const Config& config) -> std::unique_ptr<Run> {
                               auto run =
                                   std::make_unique<FoveatedVlmRun>(readFoveatedVlmConfig(config));
                               if (!m_stop)
                                   return run;
                               return std::make_unique<test::StoppingRun>(std::move(run), m_stop);
                           },
                           kTiny};

    std::filesystem::path pathOf(const std::string& name) const
    {
        return std::filesystem::path(m_temporary.path().toStdString()) / name;
    }

    RunOutcome stoppedAt(const RunFolder& folder, const Config& config, std::int64_t step) const
    {
        return m_bench.run(folder, config, false, [&](RunController& controller) {
            if (controller.step() >= step)
                controller.requestStop();
        });
    }

    /// Within step `step`, at the `poll`-th question whether to stop. `asked`: how often that was
    /// asked in the step.
    RunOutcome stoppedWithin(const RunFolder& folder, const Config& config, std::int64_t step,
                             int poll, int* asked = nullptr)
    {
        m_stop = std::make_shared<test::StopMoment>();
        m_stop->step = step;
        m_stop->poll = poll;
        RunOutcome outcome = m_bench.run(
            folder, config, false, [&](RunController& controller) { m_stop->serve(controller); });
        if (asked)
            *asked = m_stop->polls;
        m_stop.reset();
        return outcome;
    }

    /// A straight run, and one that was stopped and went on, have the same results.
    void verifySame(const RunFolder& parts, const RunFolder& whole) const
    {
        QCOMPARE(runNumbersOf(parts), runNumbersOf(whole));
        QVERIFY(exportedNumbers(parts) == exportedNumbers(whole));
        for (const char* file :
             {"weights/model.safetensors", "weights/best.safetensors", "evaluation.json",
              "gaze.gif", "attention_fine.npy", "captions.json"})
            QVERIFY2(!std::filesystem::exists(whole.artifacts() / file) ||
                         readFile(parts.artifacts() / file) == readFile(whole.artifacts() / file),
                     file);
    }

    /// Four folders of three frames, a square that moves, with a caption each.
    std::filesystem::path frameFolders(const std::string& name, int folders) const
    {
        for (int clip = 0; clip < folders; ++clip) {
            const auto folder = pathOf(name) / ("clip" + std::to_string(clip));
            std::filesystem::create_directories(folder);
            for (int frame = 0; frame < 3; ++frame) {
                Image image{40, 40, 3, std::vector<std::uint8_t>(40 * 40 * 3, 90), {}};
                for (int y = 10; y < 20; ++y) {
                    for (int x = 0; x < 10; ++x)
                        image.pixels[static_cast<std::size_t>(3 * (40 * y + x + 10 * frame) +
                                                              clip % 3)] = 255;
                }
                writePng(folder / ("f" + std::to_string(frame) + ".png"), image);
            }
            writeFileAtomic(pathOf(name) / ("clip" + std::to_string(clip) + ".txt"),
                            "a square moves right");
        }
        return pathOf(name);
    }

private Q_SLOTS:
    void finishedRunHasAllOutputs()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(folder, m_bench.configOf());
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QCOMPARE(outcome.steps, std::int64_t(18));
        for (const char* file :
             {"weights/model.safetensors", "weights/hf/vit/model.safetensors",
              "weights/hf/llm/config.json", "weights/hf/connector.safetensors", "captions.json",
              "verdict.png", "verdict.json", "evaluation.json", "metrics.json", "loss.png",
              "loss.svg", "attention_fine.npy", "gaze.gif"})
            QVERIFY2(std::filesystem::exists(folder.artifacts() / file), file);
        const auto numbers = runNumbersOf(folder);
        QCOMPARE(numbers.at("loss").size(), std::size_t(6));
        QCOMPARE(numbers.at("val_fine").size(), std::size_t(2));
        QCOMPARE(numbers.at("val_seq").size(), std::size_t(2));
        QVERIFY(numbers.contains("entropy_f") && numbers.contains("query_sim"));
        QVERIFY(readGif(folder.artifacts() / "gaze.gif").frames.size() == 3);
    }

    /// Specification, section 16.7, case 6: a run that was stopped goes on as if nothing had been,
    /// also within an accumulation.
    void resumedRunIsTheSame_data()
    {
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<int>("stopAt");
        QTest::newRow("within an accumulation") << QStringList{} << 7;
        QTest::newRow("between updates, at a test") << QStringList{} << 9;
        QTest::newRow("latents") << QStringList{"variant=A", "task=next", "lambda_coarse=1",
                                                "head_widths=[4]"}
                                 << 8;
        QTest::newRow("joint, refined")
            << QStringList{"variant=joint", "refinements=2", "head_widths=[4]"} << 4;
        QTest::newRow("the matched control") << QStringList{"control=coarse_only"} << 10;
        QTest::newRow("a control beside")
            << QStringList{"task=cell", "frames=1", "first_query=prompt", "control=beside"} << 7;
        QTest::newRow("controls of more tokens beside")
            << QStringList{"task=letter",           "frames=1",
                           "first_query=prompt",    "control=beside",
                           "control_tokens=[1, 4]", "ema=0.9"}
            << 10;
        QTest::newRow("moving average") << QStringList{"ema=0.9"} << 11;
        QTest::newRow("16 bits") << QStringList{"precision=bf16"} << 7;
        QTest::newRow("16 bits, latents") << QStringList{"precision=bf16", "variant=A", "task=next",
                                                         "lambda_coarse=1", "head_widths=[4]"}
                                          << 8;
        QTest::newRow("double") << QStringList{"precision=fp64"} << 7;
    }
    void resumedRunIsTheSame()
    {
        QFETCH(QStringList, more);
        QFETCH(int, stopAt);
        std::vector<std::string> assignments;
        for (const QString& assignment : more)
            assignments.push_back(assignment.toStdString());
        const Config config = m_bench.configOf(assignments);
        const RunFolder whole = m_bench.newFolder(), parts = m_bench.newFolder();
        const RunOutcome straight = m_bench.run(whole, config);
        QVERIFY2(straight.code == ExitCode::Success, straight.problems().c_str());
        QCOMPARE(stoppedAt(parts, config, stopAt).state, RunState::Stopped);
        const RunOutcome second = m_bench.run(parts, config, true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        verifySame(parts, whole);
    }

    /// Stopped in the last test, a run is not complete: it says so, and goes on in the test.
    void aStopInTheLastTestGoesOnInIt_data()
    {
        QTest::addColumn<int>("poll");
        QTest::newRow("before it") << 1;
        QTest::newRow("within a batch") << 3;
        QTest::newRow("later") << 9;
        QTest::newRow("at its end") << 0;
    }
    void aStopInTheLastTestGoesOnInIt()
    {
        QFETCH(int, poll);
        const Config config = m_bench.configOf();
        static const RunFolder whole = m_bench.newFolder();
        static int asked = 0;
        const RunFolder parts = m_bench.newFolder();
        constexpr int kNever = 1'000'000;
        if (asked == 0)
            QCOMPARE(stoppedWithin(whole, config, 17, kNever, &asked).code, ExitCode::Success);
        QVERIFY2(asked >= 16, qPrintable(QString::number(asked))); // many times in a batch
        const RunOutcome first = stoppedWithin(parts, config, 17, poll > 0 ? poll : asked);
        QCOMPARE(first.state, RunState::Stopped);
        QCOMPARE(first.code, ExitCode::Interrupted);
        QVERIFY(std::filesystem::exists(parts.artifacts() / "weights/model.safetensors"));
        const RunOutcome second = m_bench.run(parts, config, true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        verifySame(parts, whole);
    }

    /// Every type of products ends with all results.
    void everyPrecisionHasItsResults_data()
    {
        QTest::addColumn<QStringList>("more");
        const QStringList latents{"variant=A", "task=next", "lambda_coarse=1", "head_widths=[4]"};
        QTest::newRow("double, text") << QStringList{"precision=fp64"};
        QTest::newRow("double, latents") << (QStringList{"precision=fp64"} + latents);
        const QString bf16 = "precision=bf16";
        QTest::newRow("text") << QStringList{bf16};
        QTest::newRow("latents") << (QStringList{bf16} + latents);
        QTest::newRow("joint") << QStringList{bf16, "variant=joint", "head_widths=[4]",
                                              "refinements=2"};
        QTest::newRow("shallow") << QStringList{bf16, "query_mode=shallow_avg"};
        QTest::newRow("control") << QStringList{bf16, "control=coarse_only"};
        QTest::newRow("preferences") << QStringList{bf16, "variant=dpo"};
        QTest::newRow("sharpened")
            << QStringList{bf16, "lambda_contrast=0.1", "entropy_margin=0.5"};
    }
    void everyPrecisionHasItsResults()
    {
        QFETCH(QStringList, more);
        std::vector<std::string> assignments{"micro_steps=6"};
        for (const QString& assignment : more)
            assignments.push_back(assignment.toStdString());
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, m_bench.configOf(assignments), false,
                        [](RunController& controller) { controller.setWatched(true); });
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY2(outcome.problems().find("could not be drawn") == std::string::npos,
                 outcome.problems().c_str());
        for (const char* file : {"weights/model.safetensors", "verdict.json", "evaluation.json",
                                 "loss.png", "gaze.gif"})
            QVERIFY2(std::filesystem::exists(folder.artifacts() / file), file);
        for (const char* stream : {"gaze", "strip", "losses"})
            QVERIFY2(std::ranges::any_of(outcome.messages,
                                         [&](const auto& message) {
                                             return message.at("type") == "frame" &&
                                                    message.at("stream") == stream;
                                         }),
                     stream);
    }

    /// The last test is told as a phase of its own, with how far it is.
    void testsAreToldAsPhases()
    {
        const RunOutcome outcome = m_bench.run(m_bench.newFolder(), m_bench.configOf());
        std::vector<std::string> phases;
        for (const auto& message : outcome.messages) {
            if (message.at("type") == "phase")
                phases.push_back(message.at("name"));
        }
        const auto isTold = [&](const std::string& name) {
            return std::ranges::find(phases, name) != phases.end();
        };
        QVERIFY(isTold("testing, 0 of 6 clips"));
        QVERIFY(isTold("writing answers, 0 of 2 clips"));
        QVERIFY(isTold("writing results"));
        QVERIFY(phases.back().empty()); // it is over
    }

    /// A saved moment belongs to the settings that decide which samples come when and what the
    /// weights mean; other settings are refused, not learnt on with.
    void changedSettingsAreRefused_data()
    {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("said");
        QTest::newRow("shorter accumulation") << "grad_accum=2"
                                              << "grad_accum was 64 and is 2";
        QTest::newRow("no accumulation") << "grad_accum=1"
                                         << "grad_accum was 64 and is 1";
        QTest::newRow("batch") << "batch=1"
                               << "batch was 2 and is 1";
        QTest::newRow("seed") << "seed=7"
                              << "seed was 42 and is 7";
        QTest::newRow("budget") << "frames_per_batch=3"
                                << "frames_per_batch was 256 and is 3";
        QTest::newRow("text alone") << "text_only=0.5"
                                    << "text_only was";
        QTest::newRow("mask") << "text_mask=all"
                              << "text_mask was \"answer\" and is \"all\"";
        QTest::newRow("order") << "order=frames_text"
                               << "order was";
        QTest::newRow("control") << "control=coarse_only"
                                 << "control was";
        QTest::newRow("held out") << "hold_out=0.5"
                                  << "hold_out was";
        QTest::newRow("scores") << "temperature=2"
                                << "temperature was";
        QTest::newRow("rate") << "lr_vit=1e-4"
                              << "";
        QTest::newRow("longer") << "micro_steps=128"
                                << "";
        QTest::newRow("weight of coarse") << "lambda_coarse=0.5"
                                          << "";
        QTest::newRow("more tests") << "eval_every=1"
                                    << "";
    }
    void changedSettingsAreRefused()
    {
        QFETCH(QString, change);
        QFETCH(QString, said);
        const std::vector<std::string> files{"clips=" + frameFolders("changed", 8).string(),
                                             "max_epochs=1000", "hold_out=0.3", "grad_accum=64",
                                             "micro_steps=64"};
        const RunFolder folder = m_bench.newFolder();
        QCOMPARE(stoppedAt(folder, m_bench.configOf(files), 3).state, RunState::Stopped);
        std::vector<std::string> changed = files;
        changed.push_back(change.toStdString());
        const RunOutcome outcome = m_bench.run(folder, m_bench.configOf(changed), true);
        QCOMPARE(outcome.code, said.isEmpty() ? ExitCode::Success : ExitCode::InputUnreadable);
        QVERIFY2(
            outcome.problems().find(said.toStdString()) != std::string::npos &&
                (said.isEmpty() || outcome.problems().find("Set these back") != std::string::npos),
            outcome.problems().c_str());
    }

    /// Checkpoints of earlier versions know no settings; their numbers are checked all the same.
    void olderCheckpointsGoOn()
    {
        const std::vector<std::string> files{"clips=" + frameFolders("older", 8).string(),
                                             "max_epochs=1000", "grad_accum=64", "micro_steps=64"};
        const RunFolder folder = m_bench.newFolder();
        QCOMPARE(stoppedAt(folder, m_bench.configOf(files), 3).state, RunState::Stopped);
        Checkpoint checkpoint = *loadNewestCheckpoint(folder);
        QVERIFY(checkpoint.state.erase("facts") == 1);
        ++checkpoint.step; // beside the one that is there
        saveCheckpoint(folder, checkpoint);
        std::vector<std::string> changed = files;
        changed.push_back("grad_accum=2");
        const RunOutcome refused = m_bench.run(folder, m_bench.configOf(changed), true);
        QCOMPARE(refused.code, ExitCode::InputUnreadable);
        QVERIFY2(refused.problems().find("damaged") != std::string::npos,
                 refused.problems().c_str());
        const RunOutcome outcome = m_bench.run(folder, m_bench.configOf(files), true);
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
    }

    void checkpointStartsAnotherRun()
    {
        const RunFolder first = m_bench.newFolder(), second = m_bench.newFolder();
        QCOMPARE(m_bench.run(first, m_bench.configOf({"micro_steps=6"})).code, ExitCode::Success);
        const std::string file = (first.artifacts() / "weights/model.safetensors").string();
        const RunOutcome outcome = m_bench.run(
            second, m_bench.configOf({"micro_steps=3", "weights=checkpoint", "checkpoint=" + file,
                                      "lr_connector=0", "lr_vit=0", "lr_llm=0"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(runNumbersOf(second).at("val_fine").back() ==
                runNumbersOf(first).at("val_fine").back());
    }

    /// Weights that were trained with other positions would work, and worse, without a word.
    void weightsOfOtherPositionsAreRefused()
    {
        const RunFolder first = m_bench.newFolder();
        QCOMPARE(m_bench.run(first, m_bench.configOf({"micro_steps=3"})).code, ExitCode::Success);
        for (const char* name : {"weights/model.safetensors", "weights/best.safetensors"}) {
            const std::string file = (first.artifacts() / name).string();
            const RunOutcome outcome =
                m_bench.run(m_bench.newFolder(),
                            m_bench.configOf({"micro_steps=3", "weights=checkpoint",
                                              "checkpoint=" + file, "position_mode=offset"}));
            QCOMPARE(outcome.code, ExitCode::InputUnreadable);
            QVERIFY2(outcome.problems().find("position_mode = size") != std::string::npos,
                     outcome.problems().c_str());
        }
    }

    /// Where the prompt's tokens count too, the floor of answers says nothing.
    void onlyAnswersHaveAFloor()
    {
        for (const char* mask : {"answer", "all"}) {
            const RunFolder run = m_bench.newFolder();
            const RunOutcome outcome = m_bench.run(
                run, m_bench.configOf({"micro_steps=3", std::string("text_mask=") + mask}));
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            const auto numbers = runNumbersOf(run);
            QVERIFY(numbers.contains("exact_match"));
            QCOMPARE(numbers.contains("nats_below_blind"), std::string(mask) == "answer");
        }
    }

    void matchedControlDecides()
    {
        const RunFolder control = m_bench.newFolder(), folder = m_bench.newFolder();
        QCOMPARE(
            m_bench.run(control, m_bench.configOf({"control=coarse_only", "eval_samples=10"})).code,
            ExitCode::Success);
        const RunOutcome outcome = m_bench.run(
            folder, m_bench.configOf({"eval_samples=10", "compare_with=" + control.root.string()}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        const auto verdict = nlohmann::json::parse(readFile(folder.artifacts() / "verdict.json"));
        QVERIFY(verdict.at("matched").at("value").is_number());
    }

    /// Preferences are learnt from clips whose captions bring two answers.
    void preferencesAreLearnt()
    {
        const auto folder = frameFolders("pairs", 6);
        std::string lines;
        for (int clip = 0; clip < 6; ++clip)
            lines += nlohmann::json{{"file", "clip" + std::to_string(clip)},
                                    {"prompt", "what moves?"},
                                    {"answer", "a square"},
                                    {"chosen", "a square"},
                                    {"rejected", "a cat"}}
                         .dump() +
                     "\n";
        writeFileAtomic(pathOf("pairs.jsonl"), lines);
        const RunFolder run = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(
            run, m_bench.configOf({"variant=dpo", "clips=" + folder.string(), "max_epochs=1000",
                                   "captions=" + pathOf("pairs.jsonl").string(), "hold_out=0"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        const auto losses = runNumbersOf(run).at("loss");
        QVERIFY(losses.back() < losses.front());
        const auto numbers = runNumbersOf(run);
        QCOMPARE_EQ(numbers.at("dpo_accuracy").back(), 1.0);
        QVERIFY(std::abs(numbers.at("dpo_reward_chosen").back() -
                         numbers.at("dpo_reward_rejected").back() -
                         numbers.at("dpo_margin").back()) < 1e-9);
    }

    /// Captions need not repeat the chosen answer; held-out clips are then judged by it.
    void preferencesNeedNoAnswer()
    {
        const auto folder = frameFolders("bare", 8);
        std::string lines;
        for (int clip = 0; clip < 8; ++clip)
            lines += nlohmann::json{{"file", "clip" + std::to_string(clip)},
                                    {"prompt", "what moves?"},
                                    {"chosen", "a square"},
                                    {"rejected", "a cat"}}
                         .dump() +
                     "\n";
        writeFileAtomic(pathOf("bare.jsonl"), lines);
        const RunFolder run = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(
            run, m_bench.configOf({"variant=dpo", "clips=" + folder.string(), "max_epochs=1000",
                                   "captions=" + pathOf("bare.jsonl").string(), "hold_out=0.3"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        for (const double loss : runNumbersOf(run).at("val_fine"))
            QVERIFY(loss > 0);
        const auto captions = readFile(run.artifacts() / "captions.json");
        QVERIFY(captions.find("a square") != std::string::npos);
    }

    void bestWeightsAreThoseOfTheLastTestToo()
    {
        const RunFolder run = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(run, m_bench.configOf({"micro_steps=6", "eval_every=0"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        const auto best = run.artifacts() / "weights/best.safetensors";
        QVERIFY(std::filesystem::exists(best));
        const auto a = readSafetensors(best).tensors;
        const auto b = readSafetensors(run.artifacts() / "weights/model.safetensors").tensors;
        QCOMPARE(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY(a[i].name == b[i].name && a[i].bytes == b[i].bytes);
    }

    /// What a run is to be compared with is asked for before it trains.
    void controlsAreCheckedAtTheStart()
    {
        const RunFolder looked = m_bench.newFolder(), empty = m_bench.newFolder();
        QCOMPARE(m_bench.run(looked, m_bench.configOf({"micro_steps=3"})).code, ExitCode::Success);
        for (const auto& [other, said] :
             {std::pair(looked, "control = coarse_only"), std::pair(empty, "evaluation.json")}) {
            const RunOutcome outcome = m_bench.run(
                m_bench.newFolder(), m_bench.configOf({"compare_with=" + other.root.string()}));
            QCOMPARE(outcome.code, ExitCode::InputUnreadable);
            QCOMPARE(outcome.steps, std::int64_t(0));
            for (const std::string& part : {other.root.string(), std::string(said)})
                QVERIFY2(outcome.problems().find(part) != std::string::npos,
                         outcome.problems().c_str());
        }
    }

    void filesAreLearntFrom()
    {
        const auto folder = frameFolders("frames", 8);
        std::filesystem::remove(pathOf("frames") / "clip3.txt");
        const RunFolder run = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(run, m_bench.configOf({"clips=" + folder.string(), "max_epochs=1000",
                                               "hold_out=0.3", "order=frames_text"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY2(outcome.problems().find("1 clips are left out") != std::string::npos,
                 outcome.problems().c_str());
        QVERIFY(std::filesystem::exists(run.artifacts() / "gaze.gif"));
    }

    void badInputIsTold_data()
    {
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<QString>("said");
        QTest::newRow("nothing there") << QStringList{"clips=EMPTY"} << "EMPTY";
        QTest::newRow("too few clips")
            << QStringList{"clips=FEW", "batch=4", "max_epochs=1000"} << "fewer than a batch";
        QTest::newRow("too many epochs")
            << QStringList{"clips=FEW", "micro_steps=300"} << "max_epochs";
        QTest::newRow("no weights in the folder")
            << QStringList{"weights=hf_dir", "vit=EMPTY", "llm=EMPTY"} << "tokenizer.json";
        QTest::newRow("foreign checkpoint")
            << QStringList{"weights=checkpoint", "checkpoint=FOREIGN"} << "missing";
    }
    void badInputIsTold()
    {
        QFETCH(QStringList, more);
        QFETCH(QString, said);
        std::filesystem::create_directories(pathOf("EMPTY"));
        frameFolders("FEW", 3);
        writeSafetensors(pathOf("FOREIGN"),
                         {HostTensor::from<float>("x", {1}, std::vector<float>{1})});
        std::vector<std::string> assignments;
        for (QString assignment : more) {
            for (const char* name : {"EMPTY", "FEW", "FOREIGN"})
                assignment.replace(QString("=") + name,
                                   "=" + QString::fromStdString(pathOf(name).string()));
            assignments.push_back(assignment.toStdString());
        }
        const RunFolder run = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(run, m_bench.configOf(assignments));
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find(said.toStdString()) != std::string::npos,
                 outcome.problems().c_str());
    }
};

VERGENCE_TEST(TestFvlmRun)
#include "tst_fvlm_run.moc"
