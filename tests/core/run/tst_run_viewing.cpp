#include <algorithm>

#include <QTest>

#include "core/base/file.h"
#include "core/config/closed_choice.h"
#include "core/run/status_writer.h"
#include "tests/core/run/controller_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;
using nlohmann::json;

/// What a run does for those who watch it.
class TestRunViewing : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pauseStillServesTheView();
    void viewInputWhileSteppingIsCoalesced();
    void exploringChangesNothing();
    void lingersWhileSomebodyWatches();
    void theEndIsShown();
    void lateClientHearsWhatItMissed();
    void framesAreDueOnlyWhenWatched();
};

void TestRunViewing::pauseStillServesTheView()
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

void TestRunViewing::viewInputWhileSteppingIsCoalesced()
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

void TestRunViewing::exploringChangesNothing()
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

void TestRunViewing::lingersWhileSomebodyWatches()
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

void TestRunViewing::theEndIsShown()
{
    ControllerBench bench;
    bench.settings.lingerSeconds = 0.05;
    bench.settings.previewIntervalSeconds = 1000; // no picture by a step
    int before = 0;
    bench.script.inFinish = [&](RunContext&) { before = bench.script.viewed; };
    bench.start(300);
    bench.controller().setWatched(true); // long before the end
    QVERIFY(bench.pollUntil([&] { return bench.hasMessage("done", "state", "Completed"); }));
    QVERIFY(bench.pollUntil([&] { return bench.script.viewed > before; }));
    bench.controller().setWatched(false);
    QVERIFY(bench.ends());
}

void TestRunViewing::lateClientHearsWhatItMissed()
{
    ControllerBench bench;
    bench.script.inStep = [](RunContext& context) {
        if (context.step() == 1)
            context.table(
                {{"id", "t"}, {"title", "T"}, {"columns", {"a"}}, {"rows", json::array()}});
        context.closeChoices({{"precision", "fp16", "There is none here."}}); // the last one counts
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
    for (const char* type : {"controls", "closed", "live"})
        QCOMPARE(std::ranges::count_if(bench.messages,
                                       [&](const json& m) { return m.at("type") == type; }),
                 1);
}

void TestRunViewing::framesAreDueOnlyWhenWatched()
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

VERGENCE_TEST(TestRunViewing)
#include "tst_run_viewing.moc"
