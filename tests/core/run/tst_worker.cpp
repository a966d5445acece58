#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include <pty.h>
#include <unistd.h>

#include <QLocalSocket>
#include <QProcess>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "core/run/protocol.h"
#include "tests/core/run/worker_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::testing;
using nlohmann::json;

class TestWorker : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void exitCodesTellTheCause_data();
    void exitCodesTellTheCause();
    void firstSignalSavesAndStops_data();
    void firstSignalSavesAndStops();
    void everyPhaseHearsOfTheEnd_data();
    void everyPhaseHearsOfTheEnd();
    void aClosingTerminalSavesAndStops();
    void nohupIsRespected();
    void timeThatRunsOutEndsWithItsCode();
    void aSignalAsksForACheckpoint();
    void logLinesDoNotStickToTheProgress();
    void secondSignalEndsAHangingRun_data();
    void secondSignalEndsAHangingRun();
    void stoppedRunResumesToTheSameNumbers();
    void killedRunResumesToTheSameNumbers();
    void everyRequestIsAcknowledged();
    void nonsenseOnTheSocketIsSurvived();
    void systemSeriesAndPeaksAreRecorded();
    void jsonLinesAreProtocolMessages();
    void socketIsPrivateAndRemovedAtTheEnd();

private:
    /// Starts a worker and waits until it steps; returns its status.
    static RunStatus startAndStep(WorkerBench& bench, QProcess& process,
                                  const QStringList& arguments, std::int64_t step = 1);
};

RunStatus TestWorker::startAndStep(WorkerBench& bench, QProcess& process,
                                   const QStringList& arguments, std::int64_t step)
{
    process.start(bench.executable(), arguments);
    RunStatus status;
    const bool isStepping = test::waitFor(
        [&] {
            std::error_code ignored;
            if (!std::filesystem::exists(bench.folder().status(), ignored))
                return false;
            status = readStatus(bench.folder());
            return status.step >= step && status.pid == process.processId() &&
                   !status.socket.empty();
        },
        60'000);
    if (!isStepping)
        qWarning("no step: %s", process.readAllStandardError().constData());
    return status;
}

void TestWorker::exitCodesTellTheCause_data()
{
    QTest::addColumn<QString>("setting");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("state");
    QTest::newRow("success") << "seed=1" << 0 << "Completed";
    QTest::newRow("out of memory") << "bad_alloc_at=3" << 5 << "Failed";
    QTest::newRow("not a number") << "nan_at=3" << 1 << "Failed";
    QTest::newRow("segmentation fault") << "segv_at=3" << 139 << "";
    QTest::newRow("abort") << "abort_at=3" << 134 << "";
}

void TestWorker::exitCodesTellTheCause()
{
    QFETCH(QString, setting);
    QFETCH(int, code);
    QFETCH(QString, state);
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=10", setting.toStdString()})), code);
    if (!state.isEmpty())
        QCOMPARE(QString::fromStdString(readStatus(bench.folder()).state), state);
}

void TestWorker::firstSignalSavesAndStops_data()
{
    QTest::addColumn<int>("signal");
    QTest::newRow("SIGINT") << SIGINT;
    QTest::newRow("SIGTERM") << SIGTERM;
}

void TestWorker::firstSignalSavesAndStops()
{
    QFETCH(int, signal);
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process, bench.arguments({"steps=1000000"}));
    ::kill(static_cast<pid_t>(process.processId()), signal);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 128 + signal);
    const RunStatus status = readStatus(bench.folder());
    QCOMPARE(status.state, std::string("Stopped"));
    QCOMPARE(status.exitCode, std::optional(128 + signal));
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, status.step);
}

/// Start and results would take ten minutes.
void TestWorker::everyPhaseHearsOfTheEnd_data()
{
    QTest::addColumn<QString>("phase");
    QTest::addColumn<QString>("state");
    QTest::addColumn<int>("signal");
    for (const int signal : {SIGINT, SIGTERM, 0}) {
        for (const auto& [phase, state] :
             {std::pair("prepare_ms", "Starting"), std::pair("finish_ms", "Saving")})
            QTest::addRow("%s, %s", phase, signal == 0 ? "time limit" : strsignal(signal))
                << phase << state << signal;
    }
}

void TestWorker::everyPhaseHearsOfTheEnd()
{
    QFETCH(QString, phase);
    QFETCH(QString, state);
    QFETCH(int, signal);
    WorkerBench bench;
    QProcess process;
    const QStringList limit{QStringLiteral("--time-limit"), QStringLiteral("0.01")};
    process.start(bench.executable(), bench.arguments({"steps=1", phase.toStdString() + "=600000"},
                                                      signal == 0 ? limit : QStringList()));
    if (signal != 0) {
        const auto isThere = [&] {
            std::error_code ignored;
            return std::filesystem::exists(bench.folder().status(), ignored) &&
                   readStatus(bench.folder()).state == state.toStdString();
        };
        QVERIFY(test::waitFor(isThere));
        ::kill(static_cast<pid_t>(process.processId()), signal);
    }
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), signal == 0 ? 124 : 128 + signal);
    QCOMPARE(readStatus(bench.folder()).state, std::string("Stopped"));
    QCOMPARE(bench.runAlone(bench.resumeArguments({"--set", phase + "=0"})), 0);
    QCOMPARE(readStatus(bench.folder()).state, std::string("Completed"));
    QCOMPARE(bench.curve().size(), std::size_t{1});
}

/// The shell and the system both tell of it, so that a second HUP means nothing more.
void TestWorker::aClosingTerminalSavesAndStops()
{
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process, bench.arguments({"steps=1000000", "finish_ms=300"}));
    for (int i = 0; i < 3; ++i)
        ::kill(static_cast<pid_t>(process.processId()), SIGHUP);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 128 + SIGHUP);
    const RunStatus status = readStatus(bench.folder());
    QCOMPARE(status.state, std::string("Stopped"));
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, status.step);
}

void TestWorker::nohupIsRespected()
{
    WorkerBench bench;
    QProcess process;
    process.setChildProcessModifier([] { std::signal(SIGHUP, SIG_IGN); });
    startAndStep(bench, process, bench.arguments({"steps=300", "step_ms=5"}));
    ::kill(static_cast<pid_t>(process.processId()), SIGHUP);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 0);
    QCOMPARE(readStatus(bench.folder()).state, std::string("Completed"));
}

/// A cluster tells a job so.
void TestWorker::timeThatRunsOutEndsWithItsCode()
{
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process, bench.arguments({"steps=400", "step_ms=5"}));
    ::kill(static_cast<pid_t>(process.processId()), SIGUSR1);
    ::kill(static_cast<pid_t>(process.processId()), SIGUSR1);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 124);
    QCOMPARE(readStatus(bench.folder()).state, std::string("Stopped"));
    QCOMPARE(bench.runAlone(bench.resumeArguments({"--wait"})), 0);
    QCOMPARE(bench.curve().size(), std::size_t{400});
}

void TestWorker::aSignalAsksForACheckpoint()
{
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process, bench.arguments({"steps=1000000", "step_ms=5"}));
    QVERIFY(listCheckpoints(bench.folder()).empty());
    ::kill(static_cast<pid_t>(process.processId()), SIGUSR2);
    QTRY_VERIFY(!listCheckpoints(bench.folder()).empty());
    QCOMPARE(readStatus(bench.folder()).state, std::string("Running"));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(60'000));
}

/// On a terminal, whose line the progress rewrites.
void TestWorker::logLinesDoNotStickToTheProgress()
{
    int master = -1, slave = -1;
    winsize size{24, 80, 0, 0};
    QCOMPARE(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
    WorkerBench bench;
    QProcess process;
    process.setChildProcessModifier([slave] { ::dup2(slave, STDERR_FILENO); });
    process.start(bench.executable(), bench.arguments({"steps=40", "step_ms=20", "flood=200"}));
    QVERIFY(process.waitForStarted());
    ::close(slave);
    std::string said;
    std::thread reader([&] {
        std::array<char, 4096> piece{};
        for (ssize_t count; (count = ::read(master, piece.data(), piece.size())) > 0;)
            said.append(piece.data(), static_cast<std::size_t>(count));
    });
    const bool hasEnded = process.waitForFinished(60'000);
    reader.join();
    ::close(master);
    QVERIFY(hasEnded && process.exitCode() == 0);
    std::size_t lines = 0;
    const std::string wipe = "\r\033[K";
    for (std::size_t at = said.find("[chaos] line"); at != std::string::npos;
         at = said.find("[chaos] line", at + 1), ++lines) {
        const std::size_t begin = said.rfind(wipe, at);
        QVERIFY(begin != std::string::npos);
        // A time of day and a level lie between, and nothing of the progress.
        const std::string before = said.substr(begin + wipe.size(), at - begin - wipe.size());
        QVERIFY2(before.find("steps") == std::string::npos, before.c_str());
    }
    QVERIFY(lines > 0);
}

void TestWorker::secondSignalEndsAHangingRun_data()
{
    QTest::addColumn<int>("signal");
    QTest::newRow("interrupt") << SIGINT;
    QTest::newRow("terminate") << SIGTERM;
}

void TestWorker::secondSignalEndsAHangingRun()
{
    QFETCH(int, signal);
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process, bench.arguments({"steps=100", "hang_at=5"}), 5);
    ::kill(static_cast<pid_t>(process.processId()), signal);
    QTRY_COMPARE(readStatus(bench.folder()).state, std::string("Stopping"));
    ::kill(static_cast<pid_t>(process.processId()), signal);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 128 + signal);
}

void TestWorker::stoppedRunResumesToTheSameNumbers()
{
    WorkerBench whole;
    QCOMPARE(whole.runAlone(whole.arguments({"steps=2000"})), 0);
    const auto expected = whole.curve();
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process, bench.arguments({"steps=2000", "wait_at=50"}), 50);
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(bench.curve().size(), std::size_t{50});
    QCOMPARE(bench.runAlone(bench.resumeArguments()), 0);
    QCOMPARE(bench.curve(), expected);
}

void TestWorker::killedRunResumesToTheSameNumbers()
{
    WorkerBench whole;
    QCOMPARE(whole.runAlone(whole.arguments({"steps=2000"})), 0);
    const auto expected = whole.curve();
    WorkerBench bench;
    QProcess process;
    startAndStep(bench, process,
                 bench.arguments({"steps=2000", "wait_at=250"},
                                 {QStringLiteral("--checkpoint-steps"), QStringLiteral("100")}),
                 250);
    process.kill();
    QVERIFY(process.waitForFinished(60'000));
    QVERIFY(!listCheckpoints(bench.folder()).empty());
    QCOMPARE(bench.runAlone(bench.resumeArguments()), 0);
    QCOMPARE(bench.curve(), expected);
}

namespace {

/// A bare client that counts acknowledgements by id.
struct BareClient {
    QLocalSocket socket;
    LineSplitter splitter;
    std::vector<json> messages;

    bool connectTo(const std::string& name)
    {
        socket.connectToServer(QString::fromStdString(name));
        return socket.waitForConnected(60'000);
    }
    void send(const std::string& bytes)
    {
        socket.write(bytes.data(), static_cast<qint64>(bytes.size()));
    }
    bool hears(const std::function<bool(const json&)>& wanted)
    {
        return test::waitFor(
            [&] {
                const QByteArray bytes = socket.readAll();
                for (const std::string& line :
                     splitter.feed({bytes.constData(), static_cast<std::size_t>(bytes.size())}))
                    messages.push_back(parseMessage(line, Direction::FromWorker).message);
                return std::ranges::any_of(messages, wanted);
            },
            60'000);
    }
    bool isAcknowledged(std::uint64_t id, bool accepted)
    {
        return hears([&](const json& m) {
            return m.is_object() && m.at("type") == "ack" && m.at("id") == id &&
                   m.at("accepted") == accepted;
        });
    }
};

} // namespace

void TestWorker::everyRequestIsAcknowledged()
{
    WorkerBench bench;
    QProcess process;
    const RunStatus status = startAndStep(bench, process, bench.arguments({"steps=1000000"}));
    BareClient client;
    QVERIFY(client.connectTo(status.socket));
    QVERIFY(client.hears([](const json& m) { return m.at("type") == "hello"; }));
    client.send(serialise({{"type", "ping"}, {"id", 1}}));
    QVERIFY(client.isAcknowledged(1, true));
    client.send(serialise({{"type", "resume"}, {"id", 2}}));
    QVERIFY(client.isAcknowledged(2, false));
    client.send(serialise({{"type", "set"}, {"id", 3}, {"key", "rate"}, {"value", "2.5"}}));
    QVERIFY(client.isAcknowledged(3, true));
    client.send(serialise({{"type", "set"}, {"id", 4}, {"key", "rate"}, {"value", "1000"}}));
    QVERIFY(client.isAcknowledged(4, false));
    client.send(serialise({{"type", "watch"}, {"id", 5}, {"watched", true}}));
    QVERIFY(client.hears([](const json& m) { return m.at("type") == "frame"; }));
    client.send(serialise({{"type", "checkpoint"}, {"id", 6}}));
    QVERIFY(client.hears([](const json& m) { return m.at("type") == "checkpoint"; }));
    client.send(serialise({{"type", "pause"}, {"id", 7}}));
    QVERIFY(client.hears(
        [](const json& m) { return m.at("type") == "state" && m.at("state") == "Paused"; }));
    client.send(serialise({{"type", "kill_after"}, {"id", 8}, {"seconds", 20}}));
    QVERIFY(client.hears([](const json& m) { return m.at("type") == "done"; }));
    QTRY_COMPARE(process.state(), QProcess::NotRunning);
    QCOMPARE(process.exitCode(), 0);
    QVERIFY(client.isAcknowledged(8, true));
}

void TestWorker::nonsenseOnTheSocketIsSurvived()
{
    WorkerBench bench;
    QProcess process;
    const RunStatus status = startAndStep(bench, process, bench.arguments({"steps=1000000"}));
    BareClient client;
    QVERIFY(client.connectTo(status.socket));
    client.send("nonsense\n{\"type\":\"pause\"}\n[[[[\n\xff\xfe\n");
    client.send(std::string(5 << 20, '['));
    client.send("\n" + serialise({{"type", "ping"}, {"id", 9}}));
    QVERIFY(client.isAcknowledged(9, true));
    client.send(serialise({{"type", "stop"}, {"id", 10}}));
    QTRY_COMPARE(process.state(), QProcess::NotRunning);
    QCOMPARE(process.exitCode(), 0);
}

void TestWorker::systemSeriesAndPeaksAreRecorded()
{
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=30", "step_ms=100"})), 0);
    const MetricStore store =
        MetricStore::fromCsv(readFile(bench.folder().metrics()), "metrics.csv");
    for (const char* name : {"system/cpu_percent", "system/ram_mib"})
        QVERIFY2(store.find(name) != nullptr && store.find(name)->size() >= 2, name);
    QVERIFY(readManifest(bench.folder()).at("resources").at("peak_rss_mib").get<double>() > 1);
}

void TestWorker::jsonLinesAreProtocolMessages()
{
    WorkerBench bench;
    QProcess process;
    process.start(bench.executable(), bench.arguments({"steps=20"}, {QStringLiteral("--json")}));
    QVERIFY(process.waitForFinished(60'000));
    const QList<QByteArray> lines = process.readAllStandardOutput().trimmed().split('\n');
    QVERIFY(lines.size() > 5);
    bool hasDone = false;
    for (const QByteArray& line : lines) {
        const ParsedMessage parsed = parseMessage(line.toStdString(), Direction::FromWorker);
        QVERIFY2(parsed.isGood(), (parsed.refusal + ": " + line.toStdString()).c_str());
        hasDone = hasDone || parsed.message.at("type") == "done";
    }
    QVERIFY(hasDone);
}

void TestWorker::socketIsPrivateAndRemovedAtTheEnd()
{
    WorkerBench bench;
    QProcess process;
    const RunStatus status = startAndStep(bench, process, bench.arguments({"steps=1000000"}));
    QVERIFY(status.socket.size() < 100);
    const auto folder = std::filesystem::path(status.socket).parent_path();
    using std::filesystem::perms;
    QVERIFY((std::filesystem::status(folder).permissions() &
             (perms::group_all | perms::others_all)) == perms::none);
    QVERIFY((std::filesystem::status(status.socket).permissions() &
             (perms::group_all | perms::others_all)) == perms::none);
    process.terminate();
    QVERIFY(process.waitForFinished(60'000));
    QVERIFY(!std::filesystem::exists(status.socket));
}

VERGENCE_TEST(TestWorker)
#include "tst_worker.moc"
