#include "tests/app/cli/cli_bench.h"

#include <array>
#include <csignal>

#include "core/artifact/remote_run.h"
#include "core/artifact/run_lease.h"
#include "core/base/file.h"
#include "core/run/lane.h"
#include "core/run/request_box.h"
#include "core/run/run_state.h"
#include "tests/support/patience.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// Runs that wait for a lane of this computer and then begin.
class CliLaneTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init();

    void runBeginsWhenItsTurnHasCome();
    void laneNamesTheDevice_data();
    void laneNamesTheDevice();
    void waitingRunIsCancelled_data();
    void waitingRunIsCancelled();
    void waitingRunAnswersRequests();
    void nohupIsRespected();
    void runIsSharedWithNobody();
    void runThatNeedsNoWorkerIsLeftAlone_data();
    void runThatNeedsNoWorkerIsLeftAlone();
    void earlierProgressStays();
    void copyOfARunElsewhereIsRefused();
    void wrongUsageIsTold();
    void helpDoesNotShowIt();

private:
    RunFolder newRun(const std::string& name, const std::string& state = "Queued",
                     std::int64_t step = 0);
    std::unique_ptr<QProcess> startLane(const RunFolder& run, const QString& place,
                                        const QStringList& more = {"--lane", "cpu"});
    /// A lane that is taken until the ticket goes.
    static std::unique_ptr<LaneTicket> takenLane();
    /// What list and window show of a run in the queue.
    static std::string phaseOf(const RunFolder& run) { return readStatus(run).phase; }
};

void CliLaneTest::init()
{
    makeHome();
}

RunFolder CliLaneTest::newRun(const std::string& name, const std::string& state, std::int64_t step)
{
    const RunFolder run = RunFolder::createAt(path("runs").toStdString() + "/" + name);
    writeFileAtomic(run.configInput(), "plugin = \"heat\"\npreset = \"demo\"\n");
    writeFileAtomic(run.config(), "plugin = \"heat\"\npreset = \"demo\"\n");
    RunStatus status;
    status.state = state;
    status.plugin = "heat";
    status.step = step;
    writeStatus(run, status);
    return run;
}

std::unique_ptr<QProcess> CliLaneTest::startLane(const RunFolder& run, const QString& place,
                                                 const QStringList& more)
{
    auto process = start(
        QStringList{"lane", QString::fromStdString(run.root.string()), "--place", place} + more);
    process->waitForStarted(kWaitMilliseconds);
    return process;
}

std::unique_ptr<LaneTicket> CliLaneTest::takenLane()
{
    auto ticket = std::make_unique<LaneTicket>(laneFolder(), "0", std::vector<std::string>{"cpu"});
    return ticket->enter() ? std::move(ticket) : nullptr;
}

void CliLaneTest::runBeginsWhenItsTurnHasCome()
{
    auto taken = takenLane();
    QVERIFY(taken);
    const RunFolder one = newRun("one"), two = newRun("two"), three = newRun("three");
    const auto second = startLane(two, "2");
    QTRY_COMPARE(phaseOf(two), std::string("it is next"));
    const auto third = startLane(three, "3");
    QTRY_COMPARE(phaseOf(three), std::string("1 run before it"));
    const auto first = startLane(one, "1");
    QTRY_COMPARE(phaseOf(one), std::string("it is next"));
    QTRY_COMPARE(phaseOf(two), std::string("1 run before it"));
    QTRY_COMPARE(phaseOf(three), std::string("2 runs before it"));

    const RunStatus status = readStatus(two);
    QCOMPARE(status.state, std::string("Queued"));
    QCOMPARE(status.plugin, std::string("heat"));
    QCOMPARE(status.pid, static_cast<int>(second->processId()));
    QVERIFY(isGoingOn(two, status) && isOfThisComputer(status));

    taken.reset();
    const std::array processes{first.get(), second.get(), third.get()};
    const std::array runs{one, two, three};
    std::vector<double> ends;
    for (std::size_t i = 0; i < 3; ++i) {
        const qint64 id = processes[i]->processId();
        QTRY_COMPARE(processes[i]->state(), QProcess::NotRunning);
        QCOMPARE(processes[i]->exitCode(), 0);
        QCOMPARE(readStatus(runs[i]).state, std::string("Completed"));
        QCOMPARE(readStatus(runs[i]).pid, static_cast<int>(id));
        QCOMPARE(processes[i]->readAllStandardOutput().trimmed().toStdString(),
                 runs[i].root.string());
        ends.push_back(readStatus(runs[i]).heartbeat);
    }
    QVERIFY(ends[0] < ends[1] && ends[1] < ends[2]);
    QVERIFY(contentOf(laneFolder() / "line").empty());
}

void CliLaneTest::laneNamesTheDevice_data()
{
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QStringList>("command"); ///< behind --wait
    QTest::newRow("lane") << QStringList{"--lane", "cpu"} << QStringList{"--device", "cpu"};
    QTest::newRow("any lane") << QStringList{} << QStringList{};
    QTest::newRow("further arguments")
        << QStringList{"--lane", "cpu", "--", "--set", "size=9", "--threads", "1"}
        << QStringList{"--device", "cpu", "--set", "size=9", "--threads", "1"};
    QTest::newRow("device that was asked for")
        << QStringList{"--lane", "cuda:7", "--", "--device", "cpu"}
        << QStringList{"--device", "cpu"};
    QTest::newRow("the same in one word")
        << QStringList{"--lane", "cuda:7", "--", "--device=cpu"} << QStringList{"--device=cpu"};
}

void CliLaneTest::laneNamesTheDevice()
{
    QFETCH(QStringList, words);
    QFETCH(QStringList, command);
    const RunFolder run = newRun("a");
    const auto process = startLane(run, "1", words);
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QVERIFY2(process->exitCode() == 0, process->readAllStandardError().constData());
    QStringList said;
    const json manifest = json::parse(readFile(run.manifest()));
    for (const auto& word : manifest.at("command"))
        said << QString::fromStdString(word.get<std::string>());
    QCOMPARE(said.mid(said.indexOf("--wait") + 1), command);
    const std::string config = readFile(run.config());
    QCOMPARE(config.find("size = 9  # changed") != std::string::npos, command.contains("size=9"));
}

void CliLaneTest::waitingRunIsCancelled_data()
{
    QTest::addColumn<int>("signal"); ///< 0: a request
    QTest::addColumn<int>("step");
    QTest::newRow("TERM") << SIGTERM << 0;
    QTest::newRow("INT") << SIGINT << 0;
    QTest::newRow("HUP") << SIGHUP << 0;
    QTest::newRow("request") << 0 << 0;
    QTest::newRow("before it went on") << SIGTERM << 5;
}

void CliLaneTest::waitingRunIsCancelled()
{
    QFETCH(int, signal);
    QFETCH(int, step);
    const auto taken = takenLane();
    const RunFolder run = newRun("a", "Queued", step);
    const auto process = startLane(run, "1");
    QTRY_COMPARE(phaseOf(run), std::string("it is next"));
    if (signal != 0)
        ::kill(static_cast<pid_t>(process->processId()), signal);
    else
        postRequest(run, "viewer", {{"type", "stop"}, {"id", 1}});
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitStatus(), QProcess::NormalExit);
    QCOMPARE(process->exitCode(), 0);
    const RunStatus status = readStatus(run);
    QCOMPARE(status.state, std::string("Stopped"));
    QCOMPARE(status.problem, std::string(step == 0 ? "cancelled before it began"
                                                   : "cancelled while it waited to go on"));
    QCOMPARE(status.phase, std::string());
    QCOMPARE(status.step, std::int64_t{step});
    QVERIFY(contentOf(laneFolder() / "line").empty());
    QVERIFY(RunLease(run).renew());
}

void CliLaneTest::waitingRunAnswersRequests()
{
    const auto taken = takenLane();
    const RunFolder run = newRun("a");
    const auto process = startLane(run, "1");
    QTRY_COMPARE(phaseOf(run), std::string("it is next"));
    const auto ask = [&](const json& request) {
        postRequest(run, "viewer", request);
        std::vector<json> answers;
        waitFor([&] { return !(answers = takeAnswers(run, "viewer")).empty(); });
        return answers.empty() ? json() : answers[0];
    };
    const json pause = ask({{"type", "pause"}, {"id", 1}});
    QCOMPARE(pause.value("accepted", true), false);
    QCOMPARE(pause.value("reason", ""), std::string("The run waits for its turn; it can be "
                                                    "stopped."));
    QCOMPARE(ask({{"type", "ping"}, {"id", 2}}).value("accepted", false), true);
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QCOMPARE(ask({{"type", "stop"}, {"id", 3}}).value("accepted", false), true);
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
}

void CliLaneTest::nohupIsRespected()
{
    const auto taken = takenLane();
    const RunFolder run = newRun("a");
    ::signal(SIGHUP, SIG_IGN);
    const auto process = startLane(run, "1");
    ::signal(SIGHUP, SIG_DFL);
    QTRY_COMPARE(phaseOf(run), std::string("it is next"));
    ::kill(static_cast<pid_t>(process->processId()), SIGHUP);
    postRequest(run, "viewer", {{"type", "ping"}, {"id", 1}});
    QVERIFY(waitFor([&] { return !takeAnswers(run, "viewer").empty(); })); // it still waits
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QCOMPARE(process->state(), QProcess::Running);
    ::kill(static_cast<pid_t>(process->processId()), SIGTERM);
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
}

/// `vergence submit` keeps the lease until it has told all.
void CliLaneTest::runIsSharedWithNobody()
{
    const RunFolder run = newRun("a"), next = newRun("b");
    auto lease = std::make_unique<RunLease>(run);
    const auto process = startLane(run, "1");
    const auto other = startLane(next, "2"); // not held up: the first is not in line yet
    QTRY_COMPARE(other->state(), QProcess::NotRunning);
    QCOMPARE(readStatus(next).state, std::string("Completed"));
    QCOMPARE(readStatus(run).pid, 0);
    QCOMPARE(process->state(), QProcess::Running);
    lease.reset();
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(readStatus(run).state, std::string("Completed"));
}

void CliLaneTest::runThatNeedsNoWorkerIsLeftAlone_data()
{
    QTest::addColumn<QByteArray>("state");
    QTest::newRow("completed") << QByteArray("Completed");
    QTest::newRow("cancelled before this process began") << QByteArray("Stopped");
}

void CliLaneTest::runThatNeedsNoWorkerIsLeftAlone()
{
    QFETCH(QByteArray, state);
    const auto taken = takenLane(); // it would wait
    const RunFolder run = newRun("a", state.toStdString(), 7);
    const std::string before = readFile(run.status());
    const auto process = startLane(run, "1");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 0);
    QCOMPARE(process->readAllStandardOutput().trimmed().toStdString(), run.root.string());
    QCOMPARE(readFile(run.status()), before);
}

void CliLaneTest::earlierProgressStays()
{
    const auto taken = takenLane();
    const RunFolder run = newRun("a", "Completed", 7);
    const auto process = startLane(run, "1", {"--lane", "cpu", "--", "--set", "size=9"});
    QTRY_COMPARE(phaseOf(run), std::string("it is next"));
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QCOMPARE(readStatus(run).step, std::int64_t{7});
    process->kill();
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
}

void CliLaneTest::copyOfARunElsewhereIsRefused()
{
    const RunFolder run = newRun("a");
    writeRemoteRun(run, {"desk", "me@n1", "/v", "/r/a", "", "", "", 0});
    const auto process = startLane(run, "1");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 2);
    QVERIFY(process->readAllStandardError().contains("what is here is a copy"));
}

void CliLaneTest::wrongUsageIsTold()
{
    const QString run = QString::fromStdString(newRun("a").root.string());
    QCOMPARE(vergence({"lane", run}).code, 2);
    QCOMPARE(vergence({"lane", "--place", "1"}).code, 2);
    QCOMPARE(vergence({"lane", path("nothing"), "--place", "1"}).code, 6);
    const Outcome place = vergence({"lane", run, "--place", "../1"});
    QVERIFY2(place.code == 2 && place.err.contains("--place"), qPrintable(place.err));
    const Outcome lane = vergence({"lane", run, "--place", "1", "--lane", "../cpu"});
    QVERIFY2(lane.code == 2 && lane.err.contains("--lane"), qPrintable(lane.err));
    QCOMPARE(readStatus(RunFolder::open(run.toStdString())).pid, 0);
}

void CliLaneTest::helpDoesNotShowIt()
{
    const Outcome help = vergence({"--help"});
    QCOMPARE(help.code, 0);
    QVERIFY2(!help.out.contains("lane"), qPrintable(help.out));
    QVERIFY(vergence({"lane", "--help"}).out.contains("--place"));
}

VERGENCE_TEST(CliLaneTest)
#include "tst_cli_lane.moc"
