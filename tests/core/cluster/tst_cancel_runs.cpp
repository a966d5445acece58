#include "core/cluster/cancel_runs.h"

#include <csignal>
#include <thread>

#include <QProcess>

#include <nlohmann/json.hpp>

#include "core/artifact/remote_run.h"
#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cluster/job_file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/patience.h"
#include "tests/support/silent_run.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

class CancelRunsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup()
    {
        m_sleeper.kill();
        m_sleeper.waitForFinished();
        m_programs.reset();
    }

    void eachRunHasItsAnswer();
    void runThatBeganAfterAllIsLeftAlone();
    void silentQueueCancelsNothing();
    void processThatWaitsForALaneEnds();
    void runInLanesIsNotAskedOfSlurm();
    void workerInALaneSavesAndStops();
    void workerThatStopsIsNotEndedTwice();
    void runWithoutItsProcessLeavesTheLine();
    void processThatBeginsLateIsAskedThen();
    void workerOnAnotherComputerIsTold();
    void waitingRunOnAnotherComputerIsTold();
    void runOfAnotherDiskIsAskedOfItsComputer();

private:
    RunFolder newRun(const std::string& state, int task, std::int64_t step = 0);
    RunFolder newLaneRun(const std::string& state, qint64 process, std::int64_t step = 0);
    void setElsewhere(const RunFolder& run);
    /// What viewers have asked of a worker elsewhere.
    static std::vector<std::string> requestsOf(const RunFolder& run);
    qint64 startSleeper();

    QProcess m_sleeper;

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_runs;
    int m_count = 0;
};

void CancelRunsTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_runs = std::make_unique<Scratch>();
    m_programs->add("squeue",
                    "printf '7_0|PENDING||None\\n7_1|RUNNING|n1|None\\n7_2|PENDING||None\\n"
                    "7_3|PENDING||None\\n'");
    m_programs->add("scancel");
}

RunFolder CancelRunsTest::newRun(const std::string& state, int task, std::int64_t step)
{
    const RunFolder run = RunFolder::createAt(*m_runs / std::to_string(m_count++));
    RunStatus status;
    status.state = state;
    status.step = step;
    status.job = state == "Queued" ? "" : "slurm 7";
    writeStatus(run, status);
    if (task >= 0)
        writeJob(run, {"uni", "", "7", task});
    return run;
}

void CancelRunsTest::eachRunHasItsAnswer()
{
    const std::vector<RunFolder> runs{newRun("Queued", 0),       newRun("Running", 1, 5),
                                      newRun("Queued", 2, 5),    newRun("Stopped", 3, 5),
                                      newRun("Queued", 8),       newRun("Running", 9, 5),
                                      newRun("Completed", 1, 5), newRun("Running", -1)};
    const auto answers = cancelRuns(runs);
    using enum Cancellation;
    QVERIFY((answers == std::vector{LeftQueue, Stops, LeftQueue, LeftQueue, HasEnded, HasEnded,
                                    HasEnded, HasNoJob}));
    QCOMPARE(m_programs->arguments("scancel"),
             (std::vector<std::string>{"7_0", "7_1", "7_2", "7_3"}));
    QCOMPARE(readStatus(runs[0]).state, std::string("Stopped"));
    QCOMPARE(readStatus(runs[0]).problem, std::string("cancelled before it began"));
    QCOMPARE(readStatus(runs[1]).state, std::string("Running"));
    QCOMPARE(readStatus(runs[2]).problem, std::string("cancelled while it waited to go on"));
    QCOMPARE(readStatus(runs[3]).problem, std::string());
    QCOMPARE(readStatus(runs[4]).state, std::string("Queued")); // Slurm knows how it ended
}

void CancelRunsTest::runThatBeganAfterAllIsLeftAlone()
{
    const RunFolder run = newRun("Queued", 0), running = newRun("Running", 0, 3);
    m_programs->add("scancel",
                    "cp '" + running.status().string() + "' '" + run.status().string() + "'");
    QVERIFY(cancelRuns({run}) == std::vector{Cancellation::LeftQueue});
    QCOMPARE(readStatus(run).state, std::string("Running"));
}

void CancelRunsTest::silentQueueCancelsNothing()
{
    const RunFolder run = newRun("Queued", 0);
    m_programs->add("squeue", "echo 'error: Unable to contact slurm controller' >&2; exit 1");
    VERGENCE_THROWS(InputError, "Slurm's controller does not answer", cancelRuns({run}));
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QVERIFY(m_programs->arguments("scancel").empty());
}

RunFolder CancelRunsTest::newLaneRun(const std::string& state, qint64 process, std::int64_t step)
{
    const RunFolder run = newRun(state, -1, step);
    writeJob(run, {"desk", "", "1764220000000", -1, Scheduler::Lanes});
    RunStatus status = readStatus(run);
    status.job.clear();
    status.pid = static_cast<int>(process);
    if (process > 0) {
        status.host = currentHost();
        status.bootId = currentBootId();
        status.heartbeat = epochSeconds();
    }
    writeStatus(run, status);
    return run;
}

void CancelRunsTest::setElsewhere(const RunFolder& run)
{
    RunStatus status = readStatus(run);
    status.host = "n1";
    status.bootId = "its boot";
    status.pid = 7;
    writeStatus(run, status);
}

std::vector<std::string> CancelRunsTest::requestsOf(const RunFolder& run)
{
    std::vector<std::string> types;
    std::error_code code;
    for (const auto& file : std::filesystem::directory_iterator(run.root / "requests", code))
        if (file.path().extension() == ".request")
            types.push_back(nlohmann::json::parse(readFile(file.path())).at("type"));
    return types;
}

qint64 CancelRunsTest::startSleeper()
{
    m_sleeper.start("sleep", {"1000"});
    m_sleeper.waitForStarted();
    return m_sleeper.processId();
}

void CancelRunsTest::processThatWaitsForALaneEnds()
{
    for (const std::int64_t step : {0, 5}) {
        const RunFolder run = newLaneRun("Queued", startSleeper(), step);
        QVERIFY(cancelRuns({run}) == std::vector{Cancellation::LeftQueue});
        QTRY_COMPARE(m_sleeper.state(), QProcess::NotRunning);
        QCOMPARE(m_sleeper.exitCode(), SIGTERM);
        QCOMPARE(readStatus(run).state, std::string("Stopped"));
        QCOMPARE(readStatus(run).problem,
                 std::string(step == 0 ? "cancelled before it began"
                                       : "cancelled while it waited to go on"));
    }
}

void CancelRunsTest::runInLanesIsNotAskedOfSlurm()
{
    const std::vector<RunFolder> runs{newRun("Queued", 0), newLaneRun("Queued", 0),
                                      newLaneRun("Completed", 0, 5),
                                      newLaneRun("Running", 99'999'999, 5)};
    using enum Cancellation;
    QVERIFY((cancelRuns(runs) == std::vector{LeftQueue, LeftQueue, HasEnded, HasEnded}));
    QCOMPARE(m_programs->arguments("scancel"), (std::vector<std::string>{"7_0"}));
    QCOMPARE(readStatus(runs[1]).problem, std::string("cancelled before it began"));
    QCOMPARE(readStatus(runs[3]).state, std::string("Running")); // lost, as the folder says
}

void CancelRunsTest::workerInALaneSavesAndStops()
{
    const RunFolder run = newLaneRun("Running", startSleeper(), 5);
    QVERIFY(cancelRuns({run}) == std::vector{Cancellation::Stops});
    QTRY_COMPARE(m_sleeper.state(), QProcess::NotRunning);
    QCOMPARE(m_sleeper.exitCode(), SIGTERM);
    QCOMPARE(readStatus(run).state, std::string("Running")); // the worker's to write
}

void CancelRunsTest::workerThatStopsIsNotEndedTwice()
{
    const RunFolder stopping = newLaneRun("Stopping", startSleeper(), 5);
    QVERIFY(cancelRuns({stopping}) == std::vector{Cancellation::Stops});
    ::kill(static_cast<pid_t>(m_sleeper.processId()), SIGINT); // signals come in their order
    QTRY_COMPARE(m_sleeper.state(), QProcess::NotRunning);
    QCOMPARE(m_sleeper.exitCode(), SIGINT);

    // One that has ended and lingers for its viewers.
    const RunFolder done = newLaneRun("Completed", startSleeper(), 5);
    QVERIFY(cancelRuns({done}) == std::vector{Cancellation::HasEnded});
    ::kill(static_cast<pid_t>(m_sleeper.processId()), SIGINT);
    QTRY_COMPARE(m_sleeper.state(), QProcess::NotRunning);
    QCOMPARE(m_sleeper.exitCode(), SIGINT);
}

void CancelRunsTest::runWithoutItsProcessLeavesTheLine()
{
    constexpr int kNobody = 99'999'999;
    const RunFolder run = newLaneRun("Queued", kNobody);
    QVERIFY(cancelRuns({run}) == std::vector{Cancellation::LeftQueue});
    QCOMPARE(readStatus(run).state, std::string("Stopped"));
}

/// Whoever has the lease is about to write, or still submits.
void CancelRunsTest::processThatBeginsLateIsAskedThen()
{
    const RunFolder run = newLaneRun("Queued", 0);
    auto lease = std::make_unique<RunLease>(run);
    std::vector<Cancellation> answers;
    std::jthread cancels([&] { answers = cancelRuns({run}); });
    RunStatus status = readStatus(run);
    status.pid = static_cast<int>(startSleeper());
    status.host = currentHost();
    status.bootId = currentBootId();
    status.heartbeat = epochSeconds();
    writeStatus(run, status);
    QTRY_VERIFY(m_sleeper.state() == QProcess::NotRunning);
    lease.reset();
    cancels.join();
    QVERIFY(answers == std::vector{Cancellation::LeftQueue});
    QCOMPARE(readStatus(run).problem, std::string("cancelled before it began"));
}

void CancelRunsTest::workerOnAnotherComputerIsTold()
{
    const RunFolder works = newLaneRun("Running", 0, 5), lost = newLaneRun("Running", 0, 5);
    setElsewhere(works);
    setElsewhere(lost);
    silence(lost, 100);
    using enum Cancellation;
    QVERIFY((cancelRuns({works, lost}) == std::vector{Stops, HasEnded}));
    QCOMPARE(requestsOf(works), (std::vector<std::string>{"stop"}));
    QVERIFY(requestsOf(lost).empty());
}

void CancelRunsTest::waitingRunOnAnotherComputerIsTold()
{
    const RunFolder waits = newLaneRun("Queued", 0), gone = newLaneRun("Queued", 0);
    setElsewhere(waits);
    setElsewhere(gone);
    silence(gone, 100);
    std::vector<Cancellation> answers;
    std::jthread cancels([&] { answers = cancelRuns({gone, waits}); });
    QTRY_COMPARE(requestsOf(waits), (std::vector<std::string>{"stop"}));
    markCancelled(waits); // as the process there does
    cancels.join();
    using enum Cancellation;
    QVERIFY((answers == std::vector{LeftQueue, LeftQueue}));
    QCOMPARE(readStatus(gone).problem, std::string("cancelled before it began"));
    QCOMPARE(requestsOf(waits).size(), std::size_t{1});
}

/// What the studio there answers is in its own tests.
void CancelRunsTest::runOfAnotherDiskIsAskedOfItsComputer()
{
    const RunFolder here = newRun("Queued", 0), copy = newRun("Queued", 1);
    writeRemoteRun(copy, {"desk", "n1", "/opt/vergence", "/r/a", "Queued", "Queued", "", 0});
    m_programs->add("ssh", "exit 255");
    VERGENCE_THROWS(InputError, "n1 cannot be reached by ssh", cancelRuns({copy, here}));
    QCOMPARE(m_programs->arguments("scancel"), (std::vector<std::string>{"7_0"}));
    QCOMPARE(readStatus(copy).state, std::string("Queued"));
}

VERGENCE_TEST(CancelRunsTest)
#include "tst_cancel_runs.moc"
