#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "core/run/protocol.h"
#include "tests/core/run/controller_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;
using nlohmann::json;

/// The life of a run: states, requests, what it leaves on disk.
class TestRunController : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void completedRunLeavesAWholeFolder();
    void everyMessageFitsTheProtocol();
    void pauseHoldsUntilResume();
    void stopSavesAndKeepsResults();
    void stopDuringPreparationSavesNothing();
    void stopDuringTheResultsEndsStopped();
    void stopOfTheLastStepEndsStopped();
    void resultsOfAStoppedRunHearOfTheStop();
    void timeLimitEndsAnyPhase_data();
    void timeLimitEndsAnyPhase();
    void interruptedStepDoesNotCount();
    void requestsThatDoNotFitAreRefused();
    void liveChangeIsRefusedWithAReason();
    void signalCodeIsKept();
    void progressFollowsTheStatesOfItsBatch();
    void destructorEndsAPausedRun();
};

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

namespace {

/// Makes a phase of a run last until it hears of a stop, or until this is gone.
class HeldPhase {
public:
    ~HeldPhase() { m_flags->isReleased = true; }
    std::function<void(RunContext&)> hold() const
    {
        return [flags = m_flags](RunContext& context) {
            flags->isHeld = true;
            while (!context.stopRequested() && !flags->isReleased)
                std::this_thread::yield();
        };
    }
    bool isReached() const
    {
        return test::waitFor([this] { return m_flags->isHeld.load(); });
    }

private:
    struct Flags {
        std::atomic<bool> isHeld{false}, isReleased{false};
    };
    std::shared_ptr<Flags> m_flags = std::make_shared<Flags>();
};

} // namespace

void TestRunController::stopDuringTheResultsEndsStopped()
{
    ControllerBench bench;
    HeldPhase results;
    bench.script.inFinish = results.hold();
    bench.start(5);
    QVERIFY(results.isReached());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Saving"));
    QVERIFY(bench.controller().requestStop(ExitCode::Interrupted));
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::Interrupted);
    QVERIFY(bench.hasMessage("done", "state", "Stopped"));
    QCOMPARE(readStatus(bench.folder()).exitCode, std::optional(130));
    QVERIFY(readManifest(bench.folder()).at("run").at("state") == "Stopped");
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, std::int64_t{5});

    bench.script.inFinish = nullptr;
    bench.settings.resumes = true;
    bench.start(5);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::Success);
    QCOMPARE(bench.script.stepped.load(), 5);
    QCOMPARE(bench.curve(), wholeCurve(5));
}

void TestRunController::stopOfTheLastStepEndsStopped()
{
    ControllerBench bench;
    bench.script.inStep = [&](RunContext& context) {
        if (context.step() == 4)
            bench.controller().requestStop(ExitCode::Interrupted);
    };
    bench.start(5);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::Interrupted);
    QCOMPARE(bench.controller().step(), std::int64_t{5});
}

void TestRunController::resultsOfAStoppedRunHearOfTheStop()
{
    ControllerBench bench;
    std::atomic<bool> hasHeard{false};
    bench.script.inStep = [&](RunContext& context) {
        if (context.step() == 2)
            bench.controller().requestStop();
    };
    bench.script.inFinish = [&](RunContext& context) { hasHeard = context.stopRequested(); };
    bench.start(5);
    QVERIFY(bench.ends());
    QVERIFY(hasHeard);
    QCOMPARE(bench.script.finished.load(), 1);
}

void TestRunController::timeLimitEndsAnyPhase_data()
{
    QTest::addColumn<QString>("phase");
    for (const char* phase : {"prepare", "step", "finish"})
        QTest::newRow(phase) << phase;
}

void TestRunController::timeLimitEndsAnyPhase()
{
    QFETCH(QString, phase);
    ControllerBench bench;
    HeldPhase held;
    FakeScript& script = bench.script;
    (phase == "prepare" ? script.inPrepare
     : phase == "step"  ? script.inStep
                        : script.inFinish) = held.hold();
    bench.settings.timeLimitSeconds = 1e-9; // looked at by the polls alone
    bench.start(5);
    QVERIFY(held.isReached());
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::TimeLimit);
    QCOMPARE(readStatus(bench.folder()).exitCode, std::optional(124));
    QVERIFY(bench.hasMessage("problem", "id", "E-TIME"));
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
    QVERIFY(test::waitFor([&] { return controller.state() == RunState::Running; }));
    controller.requestStop();
    QVERIFY(test::waitFor([&] { return controller.isFinished(); }));
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
    QVERIFY(test::waitFor([&] { return isHeld.load(); }));
    std::int64_t step = -1; // as a client keeps it: the newest message wins
    for (const json& message : controller.poll())
        step = message.value("step", step);
    QCOMPARE(step, std::int64_t{3});
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

VERGENCE_TEST(TestRunController)
#include "tst_run_controller.moc"
