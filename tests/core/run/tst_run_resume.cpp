#include <algorithm>
#include <new>
#include <stdexcept>

#include <QTest>
#include <QThread>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "tests/core/run/controller_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;
using nlohmann::json;

/// Checkpoints, and runs that go on from one.
class TestRunResume : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void resumedRunRepeatsTheNumbersExactly();
    void whatIsReportedWhileSavingIsKept();
    void resumeAfterAFailureRepeatsTheNumbersExactly();
    void decisiveSettingsMustStay();
    void resumeWithoutCheckpointStartsAnew();
    void tornLastLineIsRepairedByResume();
    void extendContinuesACompletedRun();
    void resumeOfACompletedRunStepsNoMore();
    void checkpointsComeBySteps();
    void checkpointOnRequest();
    void liveChangeAppliesAndSurvivesResume();
    void liveChangesDependOnEachOther();
    void liveChangesBeforeTheEndAreKept();
    void commandLineIsNewerThanLiveChanges();
    void extensionThatIsStoppedAtOnceIsStopped();
    void damagedCheckpointsEndTheResume();
    void resultsOutliveAResumeThatFails();
};

void TestRunResume::resumedRunRepeatsTheNumbersExactly()
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

/// Labs read their losses back in batches, and the rest of a batch before a checkpoint.
void TestRunResume::whatIsReportedWhileSavingIsKept()
{
    ControllerBench bench;
    bench.script.inStep = [&](RunContext& context) {
        if (context.step() == 23)
            bench.controller().requestStop();
    };
    bench.script.inSave = [](RunContext& context) { context.recordAt("held_back", 0.5, 24); };
    bench.start(60);
    QVERIFY(bench.ends());
    bench.script.inStep = nullptr;
    bench.script.inSave = nullptr;
    bench.settings.resumes = true;
    bench.start(60);
    QVERIFY(bench.ends());
    const QByteArray numbers = QByteArray::fromStdString(readFile(bench.folder().metrics()));
    QCOMPARE(numbers.count(",held_back,0.5"), 1);
    QCOMPARE(bench.curve(), wholeCurve(60));
}

void TestRunResume::resumeAfterAFailureRepeatsTheNumbersExactly()
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

void TestRunResume::decisiveSettingsMustStay()
{
    ControllerBench bench;
    bench.start(10);
    QVERIFY(bench.ends());
    bench.settings.resumes = true;
    bench.start(fakeConfig(20).with("seed", std::int64_t{8}, {}));
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Failed"));
    QCOMPARE(bench.script.loaded.load(), 0);
    QVERIFY(std::ranges::any_of(bench.messages, [](const json& message) {
        return message.dump().find("seed was 7 and is 8") != std::string::npos;
    }));
    QCOMPARE(bench.curve().size(), std::size_t{10});
    bench.start(20);
    QVERIFY(bench.ends());
    QCOMPARE(bench.curve(), wholeCurve(20));
}

void TestRunResume::resumeWithoutCheckpointStartsAnew()
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

void TestRunResume::tornLastLineIsRepairedByResume()
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

void TestRunResume::extendContinuesACompletedRun()
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

void TestRunResume::resumeOfACompletedRunStepsNoMore()
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

void TestRunResume::checkpointsComeBySteps()
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

void TestRunResume::checkpointOnRequest()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() >= 3; }));
    QVERIFY(bench.controller().requestCheckpoint());
    QVERIFY(bench.pollUntil([&] { return !listCheckpoints(bench.folder()).empty(); }));
    QCOMPARE(nameOf(bench.controller().state()), std::string("Running"));
}

void TestRunResume::liveChangeAppliesAndSurvivesResume()
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

void TestRunResume::liveChangesDependOnEachOther()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    QVERIFY(bench.controller().setLive("rate", "8").value_or("").find("beyond limit") !=
            std::string::npos);
    QCOMPARE(bench.controller().setLive("limit", "9"), std::nullopt);
    QCOMPARE(bench.controller().setLive("rate", "8"), std::nullopt);
    const std::int64_t step = bench.controller().step();
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() > step + 2; }));
    bench.controller().requestStop();
    QVERIFY(bench.ends());

    // Taken over together, and kept when another one changes.
    std::atomic<double> limit{0}, rate{0};
    bench.settings.resumes = true;
    bench.script.inStep = [&](RunContext& context) {
        limit = context.config().get<double>("limit");
        rate = context.config().get<double>("rate");
    };
    bench.messages.clear();
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return limit == 9 && rate == 8; }));
    QVERIFY(bench.hasMessage("live", "values", {{"limit", "9.0"}, {"rate", "8.0"}}));
    QCOMPARE(bench.controller().setLive("limit", "8.5"), std::nullopt);
    QVERIFY(bench.pollUntil([&] { return limit == 8.5; }));
    QCOMPARE(rate.load(), 8.0);
    QVERIFY(bench.hasMessage("live", "values", {{"limit", "8.5"}, {"rate", "8.0"}}));
}

void TestRunResume::liveChangesBeforeTheEndAreKept()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    bench.controller().requestPause();
    QVERIFY(bench.reaches(RunState::Paused));
    QVERIFY(bench.controller().requestCheckpoint()); // of the step at which the run will end
    QVERIFY(bench.pollUntil([&] { return !listCheckpoints(bench.folder()).empty(); }));
    QCOMPARE(bench.controller().setLive("rate", "4.5"), std::nullopt);
    bench.controller().requestStop();
    QVERIFY(bench.ends());

    std::atomic<double> seen{0};
    std::atomic<bool> holds{true}, isHeld{false};
    bench.settings.resumes = true;
    bench.script.inStep = [&](RunContext& context) {
        seen = context.config().get<double>("rate");
        isHeld = true;
        while (holds)
            QThread::msleep(1);
    };
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return isHeld.load(); }));
    QCOMPARE(seen.load(), 4.5);
    QCOMPARE(bench.controller().setLive("rate", "3.5"), std::nullopt); // while a step is under way
    bench.controller().requestStop();
    QVERIFY(bench.controller().setLive("rate", "2.5").value_or("").find("is ending") !=
            std::string::npos);
    holds = false;
    QVERIFY(bench.ends());
    seen = 0;
    bench.start(1'000'000);
    QVERIFY(bench.pollUntil([&] { return seen != 0; }));
    QCOMPARE(seen.load(), 3.5);
}

void TestRunResume::commandLineIsNewerThanLiveChanges()
{
    ControllerBench bench;
    bench.start(1'000'000);
    QVERIFY(bench.reaches(RunState::Running));
    QCOMPARE(bench.controller().setLive("rate", "4.5"), std::nullopt);
    const std::int64_t step = bench.controller().step();
    QVERIFY(bench.pollUntil([&] { return bench.controller().step() > step + 2; }));
    bench.controller().requestStop();
    QVERIFY(bench.ends());
    const auto rateAfter = [&](const std::string& source) {
        ConfigBuilder builder(fakeConfig(1).schema());
        builder.addAssignment("steps=1000000", "config.toml");
        builder.addAssignment("rate=2", source);
        std::atomic<double> seen{0};
        bench.settings.resumes = true;
        bench.script.inStep = [&](RunContext& context) {
            seen = context.config().get<double>("rate");
        };
        bench.start(*builder.build().config);
        bench.pollUntil([&] { return seen != 0 || bench.controller().isFinished(); });
        const bool hasStepped = seen != 0;
        bench.controller().requestStop();
        const bool hasEnded = bench.ends();
        bench.script.inStep = nullptr;
        return hasStepped && hasEnded ? seen.load() : -1;
    };
    bench.script.inPrepare = [](RunContext&) { throw InputError("no data"); };
    QCOMPARE(rateAfter("--set"), -1.0);
    bench.script.inPrepare = nullptr;
    // config.toml has the word of the command line, whatever became of that worker.
    QCOMPARE(rateAfter("config.toml"), 2.0);
    QCOMPARE(rateAfter("config.toml"), 2.0);
}

void TestRunResume::extensionThatIsStoppedAtOnceIsStopped()
{
    ControllerBench bench;
    bench.start(30);
    QVERIFY(bench.ends());
    bench.settings.resumes = true;
    bench.script.leavesSteps = true;
    bench.script.inStep = [&](RunContext&) {
        bench.controller().requestStop(ExitCode::Interrupted);
    };
    bench.start(50);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Stopped"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::Interrupted);
    QCOMPARE(bench.controller().step(), std::int64_t{30});
}

void TestRunResume::damagedCheckpointsEndTheResume()
{
    ControllerBench bench;
    bench.settings.keepCheckpoints = 1;
    bench.start(30);
    QVERIFY(bench.ends());
    const std::string numbers = readFile(bench.folder().metrics());
    writeFileAtomic(listCheckpoints(bench.folder()).front() / "state.json", "{");
    bench.settings.resumes = true;
    bench.start(50);
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Failed"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::InputUnreadable);
    QCOMPARE(readFile(bench.folder().metrics()), numbers);
}

void TestRunResume::resultsOutliveAResumeThatFails()
{
    ControllerBench bench;
    bench.script.inFinish = [](RunContext& context) {
        context.table({{"id", "t"}, {"title", "T"}, {"columns", {"a"}}, {"rows", {{"1"}}}});
    };
    bench.start(5);
    QVERIFY(bench.ends());
    const json before = readManifest(bench.folder());
    QVERIFY(before.at("tables").size() == 1 && before.at("controls").size() == 1);
    bench.settings.resumes = true;
    bench.script.inPrepare = [](RunContext&) { throw InputError("no data"); };
    bench.start(50);
    QVERIFY(bench.ends());
    const json after = readManifest(bench.folder());
    QVERIFY(after.at("tables") == before.at("tables"));
    QVERIFY(after.at("controls") == before.at("controls"));
    // A table of the same id is replaced.
    bench.script.inPrepare = nullptr;
    bench.script.inFinish = [](RunContext& context) {
        context.table({{"id", "t"}, {"title", "T"}, {"columns", {"a"}}, {"rows", {{"2"}}}});
    };
    bench.start(6);
    QVERIFY(bench.ends());
    const json again = readManifest(bench.folder()).at("tables");
    QVERIFY(again.size() == 1 && again[0].at("rows")[0][0] == "2");
}

VERGENCE_TEST(TestRunResume)
#include "tst_run_resume.moc"
