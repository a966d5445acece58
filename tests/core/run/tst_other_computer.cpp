#include <csignal>

#include <sys/types.h>

#include <QProcess>
#include <QSignalSpy>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/run/run_state.h"
#include "tests/core/run/worker_bench.h"
#include "tests/support/environment.h"
#include "tests/support/silent_run.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;

namespace {

/// A worker that takes itself for one of the computer "elsewhere"; false where the system allows no
/// such names.
bool startElsewhere(QProcess& process, const WorkerBench& bench, const QStringList& arguments)
{
    QStringList command{QStringLiteral("--map-root-user"),
                        QStringLiteral("--uts"),
                        QStringLiteral("sh"),
                        QStringLiteral("-c"),
                        QStringLiteral("hostname elsewhere && exec \"$@\""),
                        QStringLiteral("sh"),
                        bench.executable()};
    process.start(QStringLiteral("unshare"), command + arguments);
    return test::waitFor([&] {
               std::error_code ignored;
               return process.state() == QProcess::NotRunning ||
                      (std::filesystem::exists(bench.folder().status(), ignored) &&
                       readStatus(bench.folder()).host == "elsewhere" &&
                       readStatus(bench.folder()).step > 0);
           }) &&
           process.state() != QProcess::NotRunning;
}

#define NEEDS_ANOTHER_COMPUTER(process, bench, arguments)                                          \
    if (!startElsewhere(process, bench, arguments))                                                \
    QSKIP("This system gives no host names of their own to processes.")

} // namespace

/// Runs whose worker is on another computer that shares the disk.
class TestOtherComputer : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void itsRunsAreFollowedInTheFiles();
    void itsWorkerHearsRequests();
    void itsPicturesComeWhileSomebodyLooks();
    void itsWorkerCanBeKilled();
    void requestsOfBeforeAreNotForTheNextWorker();
    void itsRunsAreNeitherResumedNorViewedHere();
    void aViewerLeavesRequestsAlone();
    void whoWaitsGoesOnWhenTheOtherIsSilent();
    void whoWaitsHasNothingToDoAfterTheEnd();
    void oneOfTwoResumesWinsWithoutLocks();
    void aWorkerThatWasOvertakenEndsWithoutAWord();
};

void TestOtherComputer::itsRunsAreFollowedInTheFiles()
{
    WorkerBench bench;
    QProcess process;
    NEEDS_ANOTHER_COMPUTER(process, bench, bench.arguments({"steps=1000000", "step_ms=5"}));
    RunClient client(bench.folder());
    QSignalSpy problems(&client, &RunClient::problemRaised);
    client.attach();
    QCOMPARE(nameOf(client.state()), std::string("Running"));
    const std::int64_t before = client.status().step;
    QTRY_VERIFY(client.status().step > before);
    QTRY_VERIFY(WorkerBench::curveOf(client).size() > 10);
    QVERIFY(!client.isConnected());
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(reaches(client, RunState::Stopped));
    QCOMPARE(WorkerBench::curveOf(client), bench.curve());
    QCOMPARE(problems.size(), 0);
}

void TestOtherComputer::itsWorkerHearsRequests()
{
    WorkerBench bench;
    QProcess process;
    NEEDS_ANOTHER_COMPUTER(process, bench, bench.arguments({"steps=1000000", "step_ms=5"}));
    RunClient client(bench.folder());
    QSignalSpy answers(&client, &RunClient::requestAcknowledged);
    QSignalSpy refusals(&client, &RunClient::liveSettingRefused);
    client.attach();
    client.setLive("rate", "2.5");
    QTRY_COMPARE(answers.size(), 1);
    QCOMPARE(refusals.size(), 0);
    client.setLive("rate", "1000");
    QTRY_COMPARE(refusals.size(), 1);
    client.checkpoint();
    QTRY_VERIFY(!listCheckpoints(bench.folder()).empty());
    client.pause();
    QVERIFY(reaches(client, RunState::Paused));
    client.resume();
    QVERIFY(reaches(client, RunState::Running));
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
    QTRY_COMPARE(process.state(), QProcess::NotRunning);
    QVERIFY(loadNewestCheckpoint(bench.folder())->step > 0);
}

void TestOtherComputer::itsPicturesComeWhileSomebodyLooks()
{
    WorkerBench bench;
    QProcess process;
    NEEDS_ANOTHER_COMPUTER(process, bench,
                           bench.arguments({"steps=1000000", "step_ms=5", "rate=0"}));
    const auto live = bench.folder().root / "live";
    RunClient client(bench.folder());
    client.attach();
    QVERIFY(!std::filesystem::exists(live));
    client.setWatched(true);
    std::optional<Frame> frame;
    QTRY_VERIFY((frame = client.frame("picture", 0)));
    QCOMPARE(frame->info.width, 32u);
    QTRY_VERIFY(client.frame("picture", frame->info.sequence)); // and newer ones
    QTRY_COMPARE(client.controls().size(), std::size_t{1});
    QTRY_VERIFY(client.liveSettings().contains("rate"));
    client.pause();
    QVERIFY(reaches(client, RunState::Paused));
    ViewInput input;
    input.values["level"] = {1};
    client.setView(input);
    // The last pixel is the brightest; at level 1 it saturates.
    QTRY_VERIFY((frame = client.frame("picture", 0)) &&
                frame->pixels[4 * (32 * 32 - 1)] == std::byte{255});
    client.setWatched(false);
    QTRY_VERIFY(!std::filesystem::exists(live));
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
}

void TestOtherComputer::itsWorkerCanBeKilled()
{
    WorkerBench bench;
    QProcess process;
    NEEDS_ANOTHER_COMPUTER(process, bench, bench.arguments({"steps=100000", "hang_at=5"}));
    RunClient client(bench.folder());
    client.attach();
    QVERIFY(reaches(client, RunState::Running));
    client.kill();
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 128 + SIGKILL);
}

void TestOtherComputer::requestsOfBeforeAreNotForTheNextWorker()
{
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=20"})), 0);
    std::filesystem::create_directories(bench.folder().root / "requests");
    writeFileAtomic(bench.folder().root / "requests/1-x-1.request",
                    std::string_view(R"({"type":"stop","id":1})"));
    QCOMPARE(bench.runAlone(bench.resumeArguments({"--set", "steps=400"})), 0);
    QCOMPARE(readStatus(bench.folder()).state, std::string("Completed"));
    QCOMPARE(bench.curve().size(), std::size_t{400});
}

/// Nor pictures: those are of the worker that may have begun meanwhile.
void TestOtherComputer::aViewerLeavesRequestsAlone()
{
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=20"})), 0);
    const auto request = bench.folder().root / "requests/1-x-1.request",
               frame = bench.folder().root / "live/70.frame";
    for (const auto& file : {request, frame}) {
        std::filesystem::create_directories(file.parent_path());
        writeFileAtomic(file, std::string_view(R"({"type":"stop","id":1})"));
    }
    QCOMPARE(bench.runAlone(bench.viewArguments() + QStringList{"--linger", "0.01"}), 0);
    QVERIFY(std::filesystem::exists(request) && std::filesystem::exists(frame));
}

void TestOtherComputer::itsRunsAreNeitherResumedNorViewedHere()
{
    WorkerBench bench;
    QProcess process;
    NEEDS_ANOTHER_COMPUTER(process, bench, bench.arguments({"steps=1000000", "step_ms=5"}));
    QCOMPARE(bench.runAlone(bench.resumeArguments()), 2);
    QCOMPARE(bench.runAlone(bench.viewArguments()), 2);
    QCOMPARE(process.state(), QProcess::Running);
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(readStatus(bench.folder()).state, std::string("Stopped"));
}

/// The worker of a node that failed: its lease falls silent.
void TestOtherComputer::whoWaitsGoesOnWhenTheOtherIsSilent()
{
    WorkerBench whole;
    QCOMPARE(whole.runAlone(whole.arguments({"steps=300"})), 0);
    const auto expected = whole.curve();
    WorkerBench bench;
    QProcess process;
    NEEDS_ANOTHER_COMPUTER(
        process, bench,
        bench.arguments({"steps=300", "wait_at=250"}, {"--checkpoint-steps", "100"}));
    QTRY_COMPARE(readStatus(bench.folder()).step, std::int64_t{250});
    process.kill();
    QVERIFY(process.waitForFinished(60'000));
    QVERIFY(isGoingOn(bench.folder(), readStatus(bench.folder())));
    QProcess waiting;
    waiting.setProcessChannelMode(QProcess::MergedChannels);
    waiting.start(bench.executable(), bench.resumeArguments({"--wait"}));
    QByteArray said;
    QTRY_VERIFY((said += waiting.readAll()).contains("Waiting for its end"));
    test::silence(bench.folder(), kSilence + 1);
    QVERIFY(waiting.waitForFinished(60'000));
    QCOMPARE(waiting.exitCode(), 0);
    QCOMPARE(bench.curve(), expected);
}

void TestOtherComputer::whoWaitsHasNothingToDoAfterTheEnd()
{
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=20"})), 0);
    const std::string status = readFile(bench.folder().status());
    QCOMPARE(bench.runAlone(bench.resumeArguments({"--wait"})), 0);
    QCOMPARE(readFile(bench.folder().status()), status);
}

void TestOtherComputer::oneOfTwoResumesWinsWithoutLocks()
{
    const test::ScopedVariable preload("LD_PRELOAD", VERGENCE_BINARY_DIR
                                       "/lib/vergence-test-support/libvergence-lockless-disk.so");
    WorkerBench bench;
    for (int round = 1; round <= 5; ++round) {
        const QString steps = QStringLiteral("steps=%1").arg(100 * round);
        if (round == 1) {
            QCOMPARE(bench.runAlone(bench.arguments({"steps=100"})), 0);
            continue;
        }
        std::array<QProcess, 3> rivals;
        for (QProcess& rival : rivals)
            rival.start(bench.executable(), bench.resumeArguments({"--set", steps}));
        int winners = 0;
        for (QProcess& rival : rivals) {
            QVERIFY(rival.waitForFinished(60'000));
            const QByteArray said = rival.readAllStandardError();
            QVERIFY2(rival.exitCode() == 0 || rival.exitCode() == 2, said.constData());
            winners += rival.exitCode() == 0 ? 1 : 0;
        }
        QVERIFY(winners >= 1); // one that comes after the end finds nothing left to do
        QCOMPARE(bench.curve().size(), static_cast<std::size_t>(100 * round));
    }
}

void TestOtherComputer::aWorkerThatWasOvertakenEndsWithoutAWord()
{
    WorkerBench bench;
    QProcess process;
    process.start(bench.executable(), bench.arguments({"steps=1000000", "step_ms=5"}));
    QTRY_VERIFY(std::filesystem::exists(bench.folder().status()) &&
                readStatus(bench.folder()).step > 0);
    ::kill(static_cast<pid_t>(process.processId()), SIGSTOP); // as a computer that sleeps
    writeFileAtomic(bench.folder().root / "lease/2.json",
                    std::string_view(R"({"pid":1,"host":"elsewhere","boot_id":"another"})"));
    std::filesystem::remove(bench.folder().root / "lease/1.json");
    const std::string status = readFile(bench.folder().status());
    ::kill(static_cast<pid_t>(process.processId()), SIGCONT);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 1);
    QVERIFY(process.readAllStandardError().contains("another one works on the run"));
    QCOMPARE(readFile(bench.folder().status()), status);
    QVERIFY(std::filesystem::exists(bench.folder().root / "lease/2.json"));
}

#undef NEEDS_ANOTHER_COMPUTER

VERGENCE_TEST(TestOtherComputer)
#include "tst_other_computer.moc"
