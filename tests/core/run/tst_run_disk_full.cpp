#include <optional>

#include <QTest>

#include "core/artifact/checkpoint.h"
#include "tests/core/run/controller_bench.h"
#include "tests/support/full_disk.h"

using namespace vergence;
using namespace vergence::testing;

class TestRunDiskFull : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void fullDiskPausesAndLosesNoNumber();
    void checkpointOnAFullDiskIsRepeated();
    void resumeWhileStillFullPausesAgain();
    void resultsOnAFullDiskAreRepeated();
    void stopOnAFullDiskFailsAfterOneMoreTry();
};

namespace {

void startAndFill(ControllerBench& bench, std::optional<FullDisk>& full, std::int64_t steps)
{
    bench.start(steps);
    bench.pollUntil([&] { return bench.controller().step() >= 10; });
    full.emplace(bench.folder().root);
}

} // namespace

void TestRunDiskFull::fullDiskPausesAndLosesNoNumber()
{
    ControllerBench bench;
    std::optional<FullDisk> full;
    startAndFill(bench, full, 300);
    QVERIFY(bench.reaches(RunState::Paused));
    QVERIFY(bench.hasMessage("problem", "id", "E-DISK"));
    full.reset();
    QVERIFY(bench.controller().requestResume());
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.curve().size(), std::size_t{300});
    QVERIFY(readStatus(bench.folder()).problem.empty());
    ControllerBench whole;
    whole.start(300);
    QVERIFY(whole.ends());
    QCOMPARE(bench.curve(), whole.curve());
}

void TestRunDiskFull::checkpointOnAFullDiskIsRepeated()
{
    ControllerBench bench;
    std::optional<FullDisk> full;
    bench.settings.checkpointSteps = 20;
    bench.script.inSave = [&](RunContext& context) {
        if (context.step() == 40 && !full && !bench.hasMessage("problem", "id", "E-DISK"))
            full.emplace(bench.folder().root);
    };
    bench.start(60);
    QVERIFY(bench.pollUntil([&] { return bench.hasMessage("problem", "id", "E-DISK"); }));
    QVERIFY(bench.reaches(RunState::Paused));
    QCOMPARE(bench.controller().step(), std::int64_t{40});
    QCOMPARE(listCheckpoints(bench.folder()).size(), std::size_t{1});
    full.reset();
    QVERIFY(bench.controller().requestResume());
    QVERIFY(bench.ends());
    QVERIFY(bench.hasMessage("checkpoint", "step", 40));
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(bench.curve().size(), std::size_t{60});
}

void TestRunDiskFull::resumeWhileStillFullPausesAgain()
{
    ControllerBench bench;
    std::optional<FullDisk> full;
    startAndFill(bench, full, 100'000);
    QVERIFY(bench.reaches(RunState::Paused));
    QVERIFY(bench.controller().requestResume());
    QVERIFY(bench.reaches(RunState::Paused));
    full.reset();
    QVERIFY(bench.controller().requestResume());
    QVERIFY(bench.reaches(RunState::Running));
    QVERIFY(bench.controller().requestStop());
    QVERIFY(bench.ends());
    QCOMPARE(bench.curve().size(), static_cast<std::size_t>(bench.controller().step()));
}

void TestRunDiskFull::resultsOnAFullDiskAreRepeated()
{
    ControllerBench bench;
    std::optional<FullDisk> full;
    bool hasFilled = false;
    bench.script.inFinish = [&](RunContext&) {
        if (!std::exchange(hasFilled, true))
            full.emplace(bench.folder().root);
    };
    bench.start(20);
    QVERIFY(bench.reaches(RunState::Paused));
    full.reset();
    QVERIFY(bench.controller().requestResume());
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Completed"));
    QCOMPARE(readStatus(bench.folder()).state, std::string("Completed"));
    QVERIFY(std::filesystem::exists(bench.folder().artifacts() / "result.txt"));
}

void TestRunDiskFull::stopOnAFullDiskFailsAfterOneMoreTry()
{
    ControllerBench bench;
    std::optional<FullDisk> full;
    startAndFill(bench, full, 100'000);
    QVERIFY(bench.reaches(RunState::Paused));
    QVERIFY(bench.controller().requestStop());
    QVERIFY(bench.reaches(RunState::Paused)); // the save failed; one more chance
    QVERIFY(bench.controller().requestStop());
    QVERIFY(bench.ends());
    QCOMPARE(nameOf(bench.controller().state()), std::string("Failed"));
    QCOMPARE(bench.controller().exitCode(), ExitCode::OutputUnwritable);
    full.reset();
    bench.controller().beat({});
    QCOMPARE(readStatus(bench.folder()).problemId, std::string("E-DISK"));
}

QTEST_GUILESS_MAIN(TestRunDiskFull)
#include "tst_run_disk_full.moc"
