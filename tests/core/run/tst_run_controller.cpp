#include <new>
#include <stdexcept>

#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "core/run/protocol.h"
#include "core/run/status_writer.h"
#include "tests/core/run/controller_bench.h"

using namespace vergence;
using namespace vergence::testing;
using nlohmann::json;

class TestRunController : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void completedRunLeavesAWholeFolder();
    void everyMessageFitsTheProtocol();
    void pauseHoldsUntilResume();
    void pauseStillServesTheView();
    void viewInputWhileSteppingIsCoalesced();
    void stopSavesAndKeepsResults();
    void stopDuringPreparationSavesNothing();
    void interruptedStepDoesNotCount();
    void requestsThatDoNotFitAreRefused();
    void resumedRunRepeatsTheNumbersExactly();
    void resumeAfterAFailureRepeatsTheNumbersExactly();
    void resumeWithoutCheckpointStartsAnew();
    void tornLastLineIsRepairedByResume();
    void extendContinuesACompletedRun();
    void resumeOfACompletedRunStepsNoMore();
    void failuresHaveCodesAndCards_data();
    void failuresHaveCodesAndCards();
    void timeLimitSavesAndEndsWith124();
    void checkpointsComeBySteps();
    void checkpointOnRequest();
    void liveChangeAppliesAndSurvivesResume();
    void liveChangeIsRefusedWithAReason();
    void exploringChangesNothing();
    void lingersWhileSomebodyWatches();
    void signalCodeIsKept();
    void progressFollowsTheStatesOfItsBatch();
    void lateClientHearsWhatItMissed();
    void framesAreDueOnlyWhenWatched();
    void destructorEndsAPausedRun();
};

namespace {

std::vector<std::string> wholeCurve(std::int64_t steps)
{
    ControllerBench bench;
    bench.script.waitsAMillisecond = false;
    bench.start(steps);
    bench.ends();
    return bench.curve();
}

} // namespace

void TestRunController::completedRunLeavesAWholeFolder()
{
    ControllerBench bench;
    bench.start(40);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::Success);
    QCOMPARE(bench.curve().size(), std::size_t{40});
    QCOMPARE(bench.script.finished.load(), 1);
    const RunStatus status = readStatus(bench.folder());
    QCOMPARE(status.state, std::string("Completed"));
    QCOMPARE(status.exitCode, std::optional(0));
    QCOMPARE(status.step, std::int64_t{40});
    QVERIFY(status.rings.empty() && status.socket.empty());
    const json manifest = readManifest(bench.folder());
    QVERIFY(manifest.at("run").at("state") == "Completed");
    QVERIFY(manifest.at("metrics").at("train/loss").at("count") == 40);
    QCOMPARE(artifactsOf(manifest).size(), std::size_t{1});
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, std::int64_t{40});
    QVERIFY(bench.messages.back().at("type") == "done" ||
            bench.hasMessage("done", "state", "Completed"));
    const std::string events = readFile(bench.folder().events());
    for (const char* word : {"\"Starting\"", "\"Running\"", "\"Saving\"", "\"Completed\"",
                             "\"checkpoint\"", "\"done\""})
        QVERIFY2(events.find(word) != std::string::npos, word);
}

void TestRunController::everyMessageFitsTheProtocol()
{
    ControllerBench bench;
    bench.start(20);
    bench.controller().setWatched(true);
    QVERIFY(bench.ends());
    for (json& message : bench.controller().snapshot())
        bench.messages.push_back(message);
    for (const json& message : bench.messages) {
        const ParsedMessage parsed = parseMessage(serialise(message), Direction::FromWorker);
        QVERIFY2(parsed.isGood(), (parsed.refusal + message.dump()).c_str());
    }
}

void TestRunController::pauseHoldsUntilResume()
{
    ControllerBench bench;
    bench.start(100);
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() >= 5; }));
    QVERIFY(bench.controller().requestPause());
    QVERIFY(bench.reaches(RunState::Paused));
    const std::int64_t held = bench.controller().step();
    QVERIFY(held < 100);
    QVERIFY(!bench.controller().requestPause());
    QVERIFY(bench.controller().requestCheckpoint());
    QVERIFY(bench.pollUntil([&] { return bench.hasMessage("checkpoint", "step", held); }));
    QCOMPARE(bench.controller().step(), held);
    QVERIFY(bench.controller().requestResume());
    QVERIFY(bench.ends());
    QCOMPARE(bench.curve(), wholeCurve(100));
}

void TestRunController::pauseStillServesTheView()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    bench.controller().requestPause();
    QVERIFY(bench.reaches(RunState::Paused));
    const int before = bench.script.viewed;
    ViewInput input;
    input.values["level"] = {0.75};
    bench.controller().setView(input);
    QVERIFY(bench.pollUntil([&] { return bench.script.lastViewX == 0.75; }));
    QCOMPARE(bench.script.viewed.load(), before + 1);
    QVERIFY(bench.pollUntil([&] { return bench.hasMessage("frame", "stream", "picture"); }));
    QCOMPARE(nameOf(bench.controller().state()), std::string("Paused"));
}

void TestRunController::viewInputWhileSteppingIsCoalesced()
{
    ControllerBench bench;
    std::atomic<bool> isHeld{true}, isInside{false};
    bench.script.inStep = [&](RunContext& context) {
        isInside = true;
        while (isHeld && !context.stopRequested())
            std::this_thread::yield();
    };
    bench.start(10);
    QVERIFY(bench.pollUntil([&] { return isInside.load(); }));
    ViewInput input;
    for (int i = 0; i < 100; ++i) {
        input.values["level"] = {i / 100.0};
        bench.controller().setView(input);
    }
    isHeld = false;
    QVERIFY(bench.ends());
    QCOMPARE(bench.script.viewed.load(), 1);
    QCOMPARE(bench.script.lastViewX.load(), 0.99);
}

void TestRunController::stopSavesAndKeepsResults()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() >= 5; }));
    QVERIFY(bench.controller().requestStop());
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::Success);
    QCOMPARE(bench.script.finished.load(), 1);
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, bench.controller().step());
    QCOMPARE(bench.curve().size(), static_cast<std::size_t>(bench.controller().step()));
}

void TestRunController::stopDuringPreparationSavesNothing()
{
    ControllerBench bench;
    bench.script.inPrepare = [](RunContext& context) {
        while (!context.stopRequested())
            std::this_thread::yield();
    };
    bench.start(10);
    QVERIFY(bench.pollUntil([&] { return bench.script.prepared == 1; }));
    QVERIFY(!bench.controller().requestPause());
    QVERIFY(bench.controller().requestStop());
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QVERIFY(listCheckpoints(bench.folder()).empty());
    QCOMPARE(bench.script.finished.load(), 0);
}

void TestRunController::interruptedStepDoesNotCount()
{
    class Patient final : public Run {
    public:
        void prepare(RunContext&) override {}
        StepOutcome step(RunContext& context) override
        {
            while (!context.stopRequested())
                std::this_thread::yield();
            return StepOutcome::Interrupted;
        }
        std::int64_t totalSteps() const override { return 0; }
        void save(RunContext&, Checkpoint&) override {}
        void load(RunContext&, const Checkpoint&) override {}
        void finish(RunContext& context) override { hasSeenStop = context.stopRequested(); }
        bool hasSeenStop = false;
    };
    ControllerBench bench;
    RunController controller(std::make_unique<Patient>(), fakeConfig(1), makeCpuDevice(1),
                             bench.settings);
    controller.start();
    QVERIFY(QTest::qWaitFor([&] { return controller.state() == RunState::Running; }));
    controller.requestStop();
    QVERIFY(QTest::qWaitFor([&] { return controller.isFinished(); }));
    QCOMPARE(controller.step(), std::int64_t{0});
    QCOMPARE(nameOf(controller.state()), std::string("Stopped"));
}

void TestRunController::requestsThatDoNotFitAreRefused()
{
    ControllerBench bench;
    bench.start(5);
    QVERIFY(!bench.controller().requestResume());
    QVERIFY(bench.ends());
    QVERIFY(!bench.controller().requestPause());
    QVERIFY(!bench.controller().requestCheckpoint());
    QVERIFY(bench.controller().setLive("rate", "2.0").has_value());
}

void TestRunController::resumedRunRepeatsTheNumbersExactly()
{
    ControllerBench bench;
    bench.script.inStep = [&](RunContext& context) {
        if (context.step() == 23)
            bench.controller().requestStop();
    };
    bench.start(60);
    QVERIFY(bench.ends());
    QCOMPARE(bench.controller().step(), std::int64_t{24});
    bench.script.inStep = nullptr;
    bench.settings.resumes = true;
    bench.start(60);
    QVERIFY(bench.ends());
    QCOMPARE(bench.script.loaded.load(), 1);
    QCOMPARE(bench.curve(), wholeCurve(60));
    QVERIFY(readManifest(bench.folder()).at("resumed").at(0).at("step") == 24);
    QVERIFY(readManifest(bench.folder()).at("metrics").at("train/loss").at("count") == 60);
}

void TestRunController::resumeAfterAFailureRepeatsTheNumbersExactly()
{
    ControllerBench bench;
    bench.settings.checkpointSteps = 20;
    bench.script.inStep = [](RunContext& context) {
        if (context.step() == 33)
            throw std::runtime_error("boom");
    };
    bench.start(60);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Failed"));
    QCOMPARE(bench.curve().size(), std::size_t{33});
    bench.script.inStep = nullptr;
    bench.settings.resumes = true;
    bench.start(60);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.curve(), wholeCurve(60));
    // The 13 points that were repeated are not thrown away.
    const std::string superseded = readFile(bench.folder().root / "metrics.superseded.csv");
    QCOMPARE(std::ranges::count(superseded, '\n'), 13);
}

void TestRunController::resumeWithoutCheckpointStartsAnew()
{
    ControllerBench bench;
    bench.script.inStep = [](RunContext& context) {
        if (context.step() == 7)
            throw std::bad_alloc();
    };
    bench.start(30);
    QVERIFY(bench.ends());
    QVERIFY(listCheckpoints(bench.folder()).empty());
    bench.script.inStep = nullptr;
    bench.settings.resumes = true;
    bench.start(30);
    QVERIFY(bench.ends());
    QCOMPARE(bench.curve(), wholeCurve(30));
}

void TestRunController::tornLastLineIsRepairedByResume()
{
    ControllerBench bench;
    bench.start(10);
    QVERIFY(bench.ends());
    bench.drop();
    AppendFile(bench.folder().metrics()).append("10,0.5,train/lo");
    bench.settings.resumes = true;
    bench.start(20);
    QVERIFY(bench.ends());
    QCOMPARE(bench.curve(), wholeCurve(20));
}

void TestRunController::extendContinuesACompletedRun()
{
    ControllerBench bench;
    bench.start(30);
    QVERIFY(bench.ends());
    bench.settings.resumes = true;
    bench.start(50);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.controller().step(), std::int64_t{50});
    QCOMPARE(bench.script.stepped.load(), 50);
    QCOMPARE(bench.curve(), wholeCurve(50));
}

void TestRunController::resumeOfACompletedRunStepsNoMore()
{
    ControllerBench bench;
    bench.start(30);
    QVERIFY(bench.ends());
    bench.settings.resumes = true;
    bench.start(30);
    QVERIFY(bench.ends());
    QCOMPARE(bench.script.stepped.load(), 30);
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.curve().size(), std::size_t{30});
}

void TestRunController::failuresHaveCodesAndCards_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("words");
    QTest::newRow("bad_alloc") << 0 << 5 << "E-OOM"
                               << "ran out of memory at step 4";
    QTest::newRow("standard") << 1 << 1 << "E-RUN"
                              << "boom";
    QTest::newRow("unknown") << 2 << 1 << "E-RUN"
                             << "unknown type";
    QTest::newRow("input") << 3 << 6 << "E-DATA"
                           << "line 259";
    QTest::newRow("device memory") << 4 << 5 << "E-OOM"
                                   << "7.9 of 8.0";
    QTest::newRow("no device") << 5 << 7 << "E-NOGPU"
                               << "CUDA";
    QTest::newRow("numerics") << 6 << 1 << "E-NUMERICS"
                              << "train/loss";
    QTest::newRow("output") << 7 << 8 << "E-OUTPUT"
                            << "read-only";
    QTest::newRow("contract") << 8 << 1 << "E-RUN"
                              << "shape";
}

void TestRunController::failuresHaveCodesAndCards()
{
    QFETCH(int, kind);
    QFETCH(int, code);
    QFETCH(QString, id);
    QFETCH(QString, words);
    ControllerBench bench;
    bench.script.inStep = [kind](RunContext& context) {
        if (context.step() < 4)
            return;
        switch (kind) {
        case 0:
            throw std::bad_alloc();
        case 1:
            throw std::runtime_error("boom");
        case 2:
            throw 42;
        case 3:
            throw InputError("images.txt line 259: expected 10 values, found 7.");
        case 4:
            throw DeviceError("The GPU ran out of memory (needed 7.9 of 8.0 GiB).",
                              ExitCode::OutOfMemory);
        case 5:
            throw DeviceError("This plugin needs CUDA 12.", ExitCode::NoDevice);
        case 6:
            throw NumericsError("train/loss is not finite at step 4.");
        case 7:
            throw OutputError("Cannot write x: read-only file system.");
        default:
            throw ContractError("shape differs");
        }
    };
    bench.start(10);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Failed"));
    QCOMPARE(static_cast<int>(bench.controller().exitCode()), code);
    const RunStatus status = readStatus(bench.folder());
    QCOMPARE(status.state, std::string("Failed"));
    QCOMPARE(status.exitCode, std::optional(code));
    QCOMPARE(QString::fromStdString(status.problemId), id);
    QVERIFY2(QString::fromStdString(status.problem).contains(words), status.problem.c_str());
    QVERIFY(bench.hasMessage("problem", "id", id.toStdString()));
    QVERIFY(bench.hasMessage("done", "exit_code", code));
    QCOMPARE(bench.curve().size(), std::size_t{4});
    QVERIFY(readManifest(bench.folder()).at("run").at("exit") == code);
}

void TestRunController::timeLimitSavesAndEndsWith124()
{
    ControllerBench bench;
    bench.settings.timeLimitSeconds = 0.5;
    bench.start(1'000'000);
    QVERIFY(bench.ends());
    QCOMPARE(bench.controller().exitCode(), ExitCode::TimeLimit);
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, bench.controller().step());
    QVERIFY(bench.hasMessage("problem", "id", "E-TIME"));
    QCOMPARE(readStatus(bench.folder()).exitCode, std::optional(124));
}

void TestRunController::checkpointsComeBySteps()
{
    ControllerBench bench;
    bench.settings.checkpointSteps = 10;
    bench.settings.keepCheckpoints = 2;
    bench.start(45);
    QVERIFY(bench.ends());
    for (const int step : {10, 20, 30, 40, 45})
        QVERIFY(bench.hasMessage("checkpoint", "step", step));
    const auto kept = listCheckpoints(bench.folder());
    QCOMPARE(kept.size(), std::size_t{2});
    const Checkpoint newest = loadCheckpoint(kept.back());
    QCOMPARE(newest.step, std::int64_t{45});
    const json own = newest.state.at("vergence");
    QVERIFY(own.at("step") == 45 && own.at("metric_lines") == 45 &&
            own.at("wall_s").get<double>() > 0);
}

void TestRunController::checkpointOnRequest()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() >= 3; }));
    QVERIFY(bench.controller().requestCheckpoint());
    QVERIFY(bench.pollUntil([&] { return !listCheckpoints(bench.folder()).empty(); }));
    QCOMPARE(nameOf(bench.controller().state()), std::string("Running"));
}

void TestRunController::liveChangeAppliesAndSurvivesResume()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    bench.controller().requestPause();
    QVERIFY(bench.reaches(RunState::Paused));
    QCOMPARE(bench.controller().setLive("rate", "4.5"), std::nullopt);
    bench.controller().requestResume();
    std::atomic<double> seen{0};
    const std::int64_t step = bench.controller().step();
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() > step + 2; }));
    bench.controller().requestStop();
    QVERIFY(bench.ends());
    QVERIFY(readFile(bench.folder().events()).find("\"live\"") != std::string::npos);
    bench.settings.resumes = true;
    bench.script.inStep = [&](RunContext& context) { seen = context.config().get<double>("rate"); };
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return seen.load() == 4.5; }));
}

void TestRunController::liveChangeIsRefusedWithAReason()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.controller().setLive("rate", "11").value_or("").find("rate") !=
            std::string::npos);
    QVERIFY(bench.controller().setLive("rate", "[[").has_value());
    QVERIFY(bench.controller().setLive("steps", "4").value_or("").find("cannot change") !=
            std::string::npos);
    QVERIFY(bench.controller().setLive("rat", "4").value_or("").find("no setting") !=
            std::string::npos);
}

void TestRunController::exploringChangesNothing()
{
    ControllerBench bench;
    bench.start(20);
    QVERIFY(bench.ends());
    bench.drop();
    std::map<std::filesystem::path, std::string> before;
    for (const auto& path :
         {bench.folder().status(), bench.folder().manifest(), bench.folder().metrics(),
          bench.folder().events(), bench.folder().log()})
        before[path] = readFile(path);

    bench.settings.exploresOnly = bench.settings.resumes = true;
    bench.settings.lingerSeconds = 30;
    bench.messages.clear();
    bench.start(20);
    bench.controller().beat("socket");
    bench.controller().setWatched(true);
    QVERIFY(std::filesystem::exists(explorerStatus(bench.folder())));
    ViewInput input;
    input.values["level"] = {0.125};
    bench.controller().setView(input);
    QVERIFY(bench.pollUntil([&] { return bench.script.lastViewX == 0.125; }));
    QVERIFY(bench.pollUntil([&] { return bench.hasMessage("frame", "stream", "picture"); }));
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QVERIFY(bench.controller().requestStop());
    QVERIFY(bench.ends());
    QCOMPARE(bench.controller().exitCode(), ExitCode::Success);
    QCOMPARE(bench.script.stepped.load(), 20);
    bench.drop();
    for (const auto& [path, bytes] : before)
        QVERIFY2(readFile(path) == bytes, path.c_str());
    QVERIFY(!std::filesystem::exists(explorerStatus(bench.folder())));
}

void TestRunController::lingersWhileSomebodyWatches()
{
    ControllerBench bench;
    bench.settings.lingerSeconds = 0.05;
    bench.start(5);
    bench.controller().setWatched(true);
    QVERIFY(bench.pollUntil([&] { return bench.hasMessage("done", "state", "Completed"); }));
    QCOMPARE(readStatus(bench.folder()).state, std::string("Completed"));
    ViewInput input;
    input.values["level"] = {0.25};
    bench.controller().setView(input);
    QVERIFY(bench.pollUntil([&] { return bench.script.lastViewX == 0.25; }));
    QVERIFY(!bench.controller().isFinished());
    bench.controller().setWatched(false);
    QVERIFY(bench.ends());
}

void TestRunController::signalCodeIsKept()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    QVERIFY(bench.controller().requestStop(ExitCode::Interrupted));
    QVERIFY(bench.ends());
    QCOMPARE(bench.controller().exitCode(), ExitCode::Interrupted);
    QCOMPARE(readStatus(bench.folder()).exitCode, std::optional(130));
}

void TestRunController::progressFollowsTheStatesOfItsBatch()
{
    ControllerBench bench;
    std::atomic<bool> isHeld{false};
    bench.script.inStep = [&](RunContext& context) {
        isHeld = context.step() == 3;
        while (isHeld && !context.stopRequested())
            std::this_thread::yield();
    };
    RunController& controller = bench.start(5);
    QVERIFY(QTest::qWaitFor([&] { return isHeld.load(); }));
    std::int64_t step = -1; // as a client keeps it: the newest message wins
    for (const json& message : controller.poll())
        step = message.value("step", step);
    QCOMPARE(step, std::int64_t{3});
}

void TestRunController::lateClientHearsWhatItMissed()
{
    ControllerBench bench;
    bench.script.inStep = [](RunContext& context) {
        if (context.step() == 1)
            context.table(
                {{"id", "t"}, {"title", "T"}, {"columns", {"a"}}, {"rows", json::array()}});
    };
    bench.start(20);
    QVERIFY(bench.ends());
    bench.messages = bench.controller().snapshot();
    QVERIFY(bench.messages.front().at("type") == "hello");
    QVERIFY(bench.messages.front().at("metric_lines") == 20);
    QVERIFY(bench.hasMessage("state", "state", "Completed"));
    QVERIFY(bench.hasMessage("artifact", "path", "artifacts/result.txt"));
    QVERIFY(bench.messages.back().at("type") == "done");
    QCOMPARE(std::ranges::count_if(bench.messages,
                                   [](const json& m) { return m.at("type") == "table"; }),
             1);
    QCOMPARE(std::ranges::count_if(bench.messages,
                                   [](const json& m) { return m.at("type") == "controls"; }),
             1);
}

void TestRunController::framesAreDueOnlyWhenWatched()
{
    ControllerBench bench;
    std::atomic<int> due{0};
    bench.settings.previewIntervalSeconds = 0;
    bench.script.inStep = [&](RunContext& context) { due += context.framesDue() ? 1 : 0; };
    bench.start(30);
    QVERIFY(bench.ends());
    QCOMPARE(due.load(), 0);
    bench.settings.resumes = true;
    bench.start(1'000'000);
    bench.controller().setWatched(true);
    QVERIFY(bench.pollUntil([&] { return due > 0; }));
}

void TestRunController::destructorEndsAPausedRun()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    bench.controller().requestPause();
    QVERIFY(bench.reaches(RunState::Paused));
    bench.drop();
    QCOMPARE(readStatus(bench.folder()).state, std::string("Stopped"));
}

QTEST_GUILESS_MAIN(TestRunController)
#include "tst_run_controller.moc"
