#include <algorithm>
#include <csignal>
#include <random>

#include <QProcess>
#include <QSignalSpy>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/run/run_state.h"
#include "core/view/frame_channel.h"
#include "tests/core/run/worker_bench.h"
#include "tests/support/silent_run.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::testing;

class TestRunClient : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void followsARunFromStartToEnd();
    void startThenPauseAtOnce();
    void lateClientSeesTheWholeCurve();
    void twoClientsSeeTheSame();
    void runOutlivesItsClient();
    void segmentationFaultIsACardAndResumes();
    void killIsACrashWithSignal9();
    void strangersDeathIsLost();
    void whatAnotherWorkerDoesAnewIsShown();
    void otherBootIsLostAfterAWhile();
    void sameNumberOnAnotherHostIsAnotherWorker();
    void failureBeforeTheFolderExistsIsTold();
    void missingProgramIsTold();
    void hangingRunLeavesRequestsAnsweredAndCanBeKilled();
    void stoppedProcessLeavesRequestsWaiting();
    void framesArriveAndFollowTheControl();
    void finishedRunIsReadFromFiles();
    void exploringShowsPicturesOfAFinishedRun();
    void theEndComesAfterTheLastNumbers();
    void extendKeepsOneCurve();
    void resumeSendsALingeringWorkerAway();
    void logIsCompleteAndOnce();
    void liveSettingsAreToldToAll();
    void fiveHundredRandomRequests();
};

void TestRunClient::followsARunFromStartToEnd()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy states(&client, &RunClient::stateChanged);
    client.start(bench.executable(), bench.arguments({"steps=500"}));
    QCOMPARE(nameOf(client.state()), std::string("Starting"));
    QVERIFY(reaches(client, RunState::Completed));
    QTRY_COMPARE(WorkerBench::curveOf(client).size(), std::size_t{500});
    QCOMPARE(client.status().step, std::int64_t{500});
    QCOMPARE(client.status().exitCode, std::optional(0));
    QTRY_COMPARE(client.artifacts().size(), std::size_t{1});
    QVERIFY(std::filesystem::exists(bench.folder().root / "worker.log"));
    QStringList names;
    for (const auto& state : states)
        names << QString::fromStdString(nameOf(state.at(0).value<RunState>()));
    QCOMPARE(names.first(), QStringLiteral("Starting"));
    QCOMPARE(names.last(), QStringLiteral("Completed"));
    QVERIFY(names.contains(QStringLiteral("Running")));
}

void TestRunClient::startThenPauseAtOnce()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy acknowledged(&client, &RunClient::requestAcknowledged);
    client.start(bench.executable(), bench.arguments({"steps=1000000"}));
    client.pause();
    QTRY_COMPARE(acknowledged.size(), 1);
    QVERIFY(client.state() == RunState::Starting || client.state() == RunState::Running ||
            isLive(client.state()));
    QVERIFY(test::waitFor(
        [&] { return client.state() == RunState::Running || client.state() == RunState::Paused; },
        60'000));
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
}

void TestRunClient::lateClientSeesTheWholeCurve()
{
    WorkerBench bench;
    RunClient first(bench.folder());
    first.start(bench.executable(), bench.arguments({"steps=600"}));
    QTRY_VERIFY(first.status().step > 0);
    first.pause(); // so that it is there when the late one comes
    QVERIFY(reaches(first, RunState::Paused));
    RunClient late(bench.folder());
    late.attach();
    QVERIFY(reaches(late, RunState::Paused));
    late.resume();
    QVERIFY(reaches(late, RunState::Completed));
    QTRY_COMPARE(WorkerBench::curveOf(late).size(), std::size_t{600});
    QTRY_COMPARE(WorkerBench::curveOf(first), WorkerBench::curveOf(late));
}

void TestRunClient::twoClientsSeeTheSame()
{
    WorkerBench bench;
    RunClient one(bench.folder()), two(bench.folder());
    one.start(bench.executable(), bench.arguments({"steps=1000000"}));
    QVERIFY(reaches(one, RunState::Running));
    two.attach();
    QTRY_VERIFY(two.isConnected());
    two.pause();
    QVERIFY(reaches(one, RunState::Paused));
    QVERIFY(reaches(two, RunState::Paused));
    one.resume();
    QVERIFY(reaches(two, RunState::Running));
    two.stop();
    QVERIFY(reaches(one, RunState::Stopped));
    QVERIFY(reaches(two, RunState::Stopped));
}

void TestRunClient::runOutlivesItsClient()
{
    WorkerBench bench;
    {
        RunClient client(bench.folder());
        client.start(bench.executable(), bench.arguments({"steps=300"}));
        QTRY_VERIFY(client.status().step > 0);
        client.pause();
        QVERIFY(reaches(client, RunState::Paused));
    }
    RunClient again(bench.folder());
    again.attach();
    QVERIFY(isLive(again.state()));
    again.resume();
    QVERIFY(reaches(again, RunState::Completed));
    QTRY_COMPARE(WorkerBench::curveOf(again).size(), std::size_t{300});
}

void TestRunClient::segmentationFaultIsACardAndResumes()
{
    WorkerBench whole;
    QCOMPARE(whole.runAlone(whole.arguments({"steps=100"})), 0);
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy problems(&client, &RunClient::problemRaised);
    client.start(bench.executable(),
                 bench.arguments({"steps=100", "segv_at=50"},
                                 {QStringLiteral("--checkpoint-steps"), QStringLiteral("20")}));
    QVERIFY(reaches(client, RunState::Crashed));
    QTRY_COMPARE(problems.size(), 1);
    QCOMPARE(problems.first().at(0).toString(), QStringLiteral("E-CRASH"));
    const QString sentence = problems.first().at(1).toString();
    QVERIFY2(sentence.contains(QStringLiteral("signal 11")) &&
                 sentence.contains(QStringLiteral("up to step 40 is safe")),
             qPrintable(sentence));
    QCOMPARE(readStatus(bench.folder()).state, std::string("Crashed"));
    QVERIFY(std::filesystem::exists(bench.folder().root / "crash.json"));

    client.start(bench.executable(), bench.resumeArguments());
    QVERIFY(reaches(client, RunState::Completed));
    QCOMPARE(bench.curve(), whole.curve());
    QTRY_COMPARE(WorkerBench::curveOf(client).size(), std::size_t{100});
    QVERIFY(client.status().problem.empty());
}

void TestRunClient::killIsACrashWithSignal9()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy problems(&client, &RunClient::problemRaised);
    client.start(bench.executable(), bench.arguments({"steps=1000000"}));
    QVERIFY(reaches(client, RunState::Running));
    client.setWatched(true);
    QTRY_VERIFY(!readStatus(bench.folder()).rings.empty());
    const auto rings = readStatus(bench.folder()).rings;
    client.kill();
    QVERIFY(reaches(client, RunState::Crashed));
    QVERIFY(problems.last().at(1).toString().contains(QStringLiteral("signal 9")));
    for (const std::string& ring : rings)
        QVERIFY_EXCEPTION_THROWN(FrameRingReader reader(ring), InputError);
}

void TestRunClient::strangersDeathIsLost()
{
    WorkerBench bench;
    QProcess process;
    process.start(bench.executable(), bench.arguments({"steps=1000000"}));
    RunClient client(bench.folder());
    QTRY_VERIFY((client.attach(), client.isConnected()));
    QSignalSpy problems(&client, &RunClient::problemRaised);
    process.kill();
    QVERIFY(process.waitForFinished(60'000));
    QVERIFY(reaches(client, RunState::Lost));
    QCOMPARE(problems.last().at(0).toString(), QStringLiteral("E-LOST"));
    client.markStopped();
    QCOMPARE(nameOf(client.state()), std::string("Stopped"));
    QCOMPARE(readStatus(bench.folder()).state, std::string("Stopped"));
}

void TestRunClient::whatAnotherWorkerDoesAnewIsShown()
{
    WorkerBench bench;
    QProcess process;
    process.start(bench.executable(),
                  bench.arguments({"steps=400", "wait_at=200"}, {"--checkpoint-steps", "100"}));
    RunClient client(bench.folder());
    QTRY_VERIFY((client.attach(), client.isConnected()));
    QTRY_VERIFY(WorkerBench::curveOf(client).size() > 150);
    process.kill();
    QVERIFY(process.waitForFinished(60'000));
    QVERIFY(reaches(client, RunState::Lost));
    for (const std::string& ring : client.status().rings)
        VERGENCE_THROWS(InputError, "", FrameRingReader{ring});

    QSignalSpy problems(&client, &RunClient::problemRaised);
    process.start(bench.executable(), bench.resumeArguments({"--set", "rate=5"}));
    QVERIFY(reaches(client, RunState::Completed));
    QTRY_COMPARE(process.state(), QProcess::NotRunning);
    QTRY_COMPARE(WorkerBench::curveOf(client), bench.curve());
    for (const auto& problem : problems)
        QVERIFY2(problem.at(0) != QStringLiteral("E-DATA"), qPrintable(problem.at(1).toString()));
}

void TestRunClient::otherBootIsLostAfterAWhile()
{
    WorkerBench bench;
    std::filesystem::create_directories(bench.folder().root);
    RunStatus status;
    status.state = "Running";
    status.plugin = "chaos";
    status.pid = 1;
    status.bootId = "another boot";
    status.heartbeat = epochSeconds() - 3600; // its clock is late
    writeStatus(bench.folder(), status);
    QVERIFY(isGoingOn(bench.folder(), status));
    RunClient fresh(bench.folder());
    fresh.attach();
    QCOMPARE(nameOf(fresh.state()),
             std::string("Running"));         // on another computer it may well be alive
    status.heartbeat = epochSeconds() + 3600; // or early
    writeStatus(bench.folder(), status);
    test::silence(bench.folder(), 60);
    QVERIFY(!isGoingOn(bench.folder(), status));
    RunClient old(bench.folder());
    QSignalSpy problems(&old, &RunClient::problemRaised);
    old.attach();
    QCOMPARE(nameOf(old.state()), std::string("Lost"));
    QCOMPARE(problems.size(), 1);
    QVERIFY(reaches(fresh, RunState::Lost));
}

void TestRunClient::sameNumberOnAnotherHostIsAnotherWorker()
{
    WorkerBench bench;
    std::filesystem::create_directories(bench.folder().root);
    RunStatus status;
    status.state = "Running";
    status.plugin = "chaos";
    status.pid = 7; // as in a container
    status.bootId = "another boot";
    status.host = "n1";
    writeStatus(bench.folder(), status);
    writeFileAtomic(bench.folder().metrics(),
                    MetricStore::csvHeader() + MetricStore::toCsv({{1, 0.1, "train/loss", 1.0},
                                                                   {2, 0.2, "train/loss", 2.0}}));
    RunClient client(bench.folder());
    QSignalSpy restarts(&client, &RunClient::metricsRestarted);
    client.attach();
    QTRY_COMPARE(WorkerBench::curveOf(client).size(), std::size_t{2});
    status.host = "n2";
    writeFileAtomic(bench.folder().metrics(),
                    MetricStore::csvHeader() + MetricStore::toCsv({{1, 0.1, "train/loss", 3.0}}));
    writeStatus(bench.folder(), status);
    QTRY_COMPARE(restarts.size(), 1);
    QTRY_COMPARE(WorkerBench::curveOf(client), (std::vector<std::string>{"1 3"}));
}

void TestRunClient::failureBeforeTheFolderExistsIsTold()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy problems(&client, &RunClient::problemRaised);
    client.start(bench.executable(), bench.arguments({"no_such_key=1"}));
    QVERIFY(reaches(client, RunState::Failed));
    QCOMPARE(client.status().exitCode, std::optional(3));
    QVERIFY2(problems.last().at(1).toString().contains(QStringLiteral("no_such_key")),
             qPrintable(problems.last().at(1).toString()));
}

void TestRunClient::missingProgramIsTold()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy problems(&client, &RunClient::problemRaised);
    client.start(QStringLiteral("/nonexistent/vergence"), bench.arguments({}));
    QVERIFY(reaches(client, RunState::Failed));
    QCOMPARE(problems.last().at(0).toString(), QStringLiteral("E-START"));
}

void TestRunClient::hangingRunLeavesRequestsAnsweredAndCanBeKilled()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy acknowledged(&client, &RunClient::requestAcknowledged);
    client.start(bench.executable(), bench.arguments({"steps=100", "hang_at=3"}));
    QTRY_COMPARE(client.status().step, std::int64_t{3});
    client.stop();
    QTRY_COMPARE(acknowledged.size(), 1);
    QVERIFY(reaches(client, RunState::Stopping));
    client.kill();
    QVERIFY(reaches(client, RunState::Crashed));
}

void TestRunClient::stoppedProcessLeavesRequestsWaiting()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy waiting(&client, &RunClient::requestWaiting);
    client.start(bench.executable(), bench.arguments({"steps=1000000"}));
    QVERIFY(reaches(client, RunState::Running));
    QTRY_VERIFY(client.isConnected());
    ::kill(client.status().pid, SIGSTOP);
    client.pause();
    QTRY_COMPARE(waiting.size(), 1);
    QCOMPARE(waiting.first().first().toString(), QStringLiteral("pause"));
    ::kill(client.status().pid, SIGCONT);
    QVERIFY(reaches(client, RunState::Paused));
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
}

void TestRunClient::framesArriveAndFollowTheControl()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy frames(&client, &RunClient::frameArrived);
    client.start(bench.executable(), bench.arguments({"steps=1000000", "rate=0"}));
    QVERIFY(reaches(client, RunState::Running));
    client.setWatched(true);
    QTRY_VERIFY(frames.size() > 0);
    std::optional<Frame> frame = client.frame("picture", 0);
    QVERIFY(frame && frame->info.width == 32 && frame->info.height == 32);
    QVERIFY(!client.frame("nothing", 0));
    QTRY_COMPARE(client.controls().size(), std::size_t{1});
    client.pause();
    QVERIFY(reaches(client, RunState::Paused));
    for (int i = 0; i <= 20; ++i) {
        ViewInput input;
        input.values["level"] = {i / 20.0};
        client.setView(input);
    }
    // The last pixel is the brightest; at level 1 it saturates.
    QTRY_VERIFY((frame = client.frame("picture", 0)) &&
                frame->pixels[4 * (32 * 32 - 1)] == std::byte{255});
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
}

void TestRunClient::finishedRunIsReadFromFiles()
{
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=300"})), 0);
    RunClient client(bench.folder());
    client.attach();
    QCOMPARE(nameOf(client.state()), std::string("Completed"));
    QTRY_COMPARE(WorkerBench::curveOf(client).size(), std::size_t{300});
    QCOMPARE(client.artifacts().size(), std::size_t{1});
    QCOMPARE(client.controls().size(), std::size_t{1});
    QVERIFY(!client.isConnected());
}

void TestRunClient::exploringShowsPicturesOfAFinishedRun()
{
    WorkerBench bench;
    QCOMPARE(bench.runAlone(bench.arguments({"steps=30"})), 0);
    const std::string status = readFile(bench.folder().status()),
                      manifest = readFile(bench.folder().manifest());
    RunClient client(bench.folder());
    client.attach();
    QSignalSpy frames(&client, &RunClient::frameArrived), states(&client, &RunClient::stateChanged);
    client.start(bench.executable(), bench.viewArguments());
    client.setWatched(true);
    QTRY_VERIFY(frames.size() > 0);
    QVERIFY(client.frame("picture", 0));
    ViewInput input;
    input.values["level"] = {1};
    const auto count = frames.size();
    client.setView(input);
    QTRY_VERIFY(frames.size() > count);
    QCOMPARE(nameOf(client.state()), std::string("Completed"));
    QCOMPARE(states.size(), 0);
    client.stop();
    QTRY_VERIFY(!client.isConnected());
    QTRY_VERIFY(!std::filesystem::exists(bench.folder().root / "explore.json"));
    QVERIFY(readFile(bench.folder().status()) == status);
    QVERIFY(readFile(bench.folder().manifest()) == manifest);
    QCOMPARE(WorkerBench::curveOf(client).size(), std::size_t{30});
}

/// A worker that writes its last numbers and its end between two looks at the files.
void TestRunClient::theEndComesAfterTheLastNumbers()
{
    WorkerBench bench;
    std::filesystem::create_directories(bench.folder().root);
    RunStatus status;
    status.state = "Running";
    status.plugin = "chaos";
    status.pid = 1;
    status.bootId = "another boot";
    status.heartbeat = epochSeconds();
    writeStatus(bench.folder(), status);
    std::string csv = MetricStore::csvHeader();
    writeFileAtomic(bench.folder().metrics(), csv);
    RunClient client(bench.folder());
    client.attach();
    QCOMPARE(nameOf(client.state()), std::string("Running"));
    for (int step = 1; step <= 1000; ++step)
        csv += MetricStore::toCsv({{step, 0.1 * step, "train/loss", 1.0 / step}});
    writeFileAtomic(bench.folder().metrics(), csv);
    writeFileAtomic(bench.folder().log(), std::string_view("{\"text\": \"the last word\"}\n"));
    status.state = "Completed";
    writeStatus(bench.folder(), status);
    QStringList told;
    std::size_t atTheEnd = 0;
    connect(
        &client, &RunClient::logArrived, this,
        [&](const QString&, const QString&, const QString&, const QString& text) { told << text; });
    connect(&client, &RunClient::stateChanged, this, [&](RunState state) {
        told << QString::fromStdString(nameOf(state));
        const Series* loss = client.metrics().find("train/loss");
        atTheEnd = loss == nullptr ? 0 : loss->size();
    });
    QVERIFY(reaches(client, RunState::Completed));
    QCOMPARE(told, QStringList({"the last word", "Completed"}));
    QCOMPARE(atTheEnd, std::size_t{1000});
}

void TestRunClient::extendKeepsOneCurve()
{
    WorkerBench whole;
    QCOMPARE(whole.runAlone(whole.arguments({"steps=150"})), 0);
    WorkerBench bench;
    RunClient client(bench.folder());
    client.start(bench.executable(), bench.arguments({"steps=100"}));
    QVERIFY(reaches(client, RunState::Completed));
    client.start(bench.executable(),
                 bench.resumeArguments({QStringLiteral("--set"), QStringLiteral("steps=150")}));
    QCOMPARE(nameOf(client.state()), std::string("Starting"));
    QVERIFY(reaches(client, RunState::Completed));
    QCOMPARE(bench.curve(), whole.curve());
    QTRY_COMPARE(WorkerBench::curveOf(client).size(), std::size_t{150});
}

void TestRunClient::resumeSendsALingeringWorkerAway()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    client.setWatched(true);
    client.start(bench.executable(), bench.arguments({"steps=100"}, {QStringLiteral("--linger"),
                                                                     QStringLiteral("600")}));
    QVERIFY(reaches(client, RunState::Completed));
    QVERIFY(client.isConnected());
    client.start(bench.executable(),
                 bench.resumeArguments({QStringLiteral("--set"), QStringLiteral("steps=150")}));
    QCOMPARE(nameOf(client.state()), std::string("Starting"));
    QVERIFY(reaches(client, RunState::Completed));
    QCOMPARE(client.status().step, std::int64_t{150});
    QTRY_COMPARE(WorkerBench::curveOf(client).size(), std::size_t{150});
}

void TestRunClient::logIsCompleteAndOnce()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QStringList lines;
    connect(&client, &RunClient::logArrived, &client,
            [&](const QString&, const QString&, const QString& area, const QString& text) {
                if (area == QStringLiteral("chaos"))
                    lines << text.section(QLatin1Char(' '), 0, 1);
            });
    client.start(bench.executable(), bench.arguments({"steps=400", "flood=5000"}));
    QVERIFY(reaches(client, RunState::Completed));
    const std::string file = readFile(bench.folder().log());
    std::size_t expected = 0;
    for (std::size_t at = file.find("of the flood"); at != std::string::npos;
         at = file.find("of the flood", at + 1))
        ++expected;
    QVERIFY(expected > 100);
    QTRY_COMPARE(static_cast<std::size_t>(lines.size()), expected);
    for (qsizetype i = 0; i < lines.size(); ++i)
        QCOMPARE(lines[i], QStringLiteral("line %1").arg(i));
}

void TestRunClient::fiveHundredRandomRequests()
{
    WorkerBench bench;
    RunClient client(bench.folder());
    QSignalSpy acknowledged(&client, &RunClient::requestAcknowledged),
        waiting(&client, &RunClient::requestWaiting);
    client.start(bench.executable(), bench.arguments({"steps=1000000", "save_ms=5"}));
    QVERIFY(test::waitFor(
        [&] { return client.isConnected() && client.state() == RunState::Running; }, 60'000));
    std::mt19937 random(9);
    for (int i = 0; i < 500; ++i) {
        switch (random() % 6) {
        case 0:
            client.pause();
            break;
        case 1:
        case 2:
            client.resume();
            break;
        case 3:
            client.checkpoint();
            break;
        case 4:
            client.setLive("rate", std::to_string(random() % 120));
            break;
        default:
            client.setWatched(random() % 2 == 0);
            break;
        }
        if (random() % 4 == 0)
            QCoreApplication::processEvents();
    }
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
    QCOMPARE(waiting.size(), 0);
    QVERIFY(acknowledged.size() > 300);
    QCOMPARE(static_cast<std::int64_t>(bench.curve().size()), client.status().step);
    QTRY_VERIFY(!isWorkerAlive(readStatus(bench.folder())));
    QCOMPARE(loadNewestCheckpoint(bench.folder())->step, client.status().step);
}

void TestRunClient::liveSettingsAreToldToAll()
{
    WorkerBench bench;
    RunClient client(bench.folder()), other(bench.folder());
    client.start(bench.executable(), bench.arguments({"steps=1000000", "rate=3"}));
    QVERIFY(test::waitFor([&] { return client.liveSettings().contains("rate"); }, 60'000));
    QCOMPARE(client.liveSettings().at("rate"), std::string("3.0"));
    QVERIFY(reaches(client, RunState::Running));
    other.attach();
    QVERIFY(test::waitFor([&] { return other.liveSettings().contains("rate"); }, 60'000));

    // One told for many that were asked for at once, never one that is older than the last.
    std::vector<double> told;
    connect(&client, &RunClient::liveSettingsTold, this,
            [&] { told.push_back(std::stod(client.liveSettings().at("rate"))); });
    for (int rate = 10; rate <= 60; rate += 10)
        client.setLive("rate", std::to_string(rate));
    QVERIFY(test::waitFor([&] { return other.liveSettings().at("rate") == "60.0"; }, 60'000));
    QTRY_VERIFY(!told.empty() && told.back() == 60);
    QVERIFY(std::ranges::is_sorted(told));

    QSignalSpy refused(&client, &RunClient::liveSettingRefused);
    QSignalSpy problems(&client, &RunClient::problemRaised);
    client.setLive("rate", "1000");
    QTRY_COMPARE(refused.size(), 1);
    QCOMPARE(refused[0][0].toString(), QStringLiteral("rate"));
    QCOMPARE(problems[0][0].toString(), QStringLiteral("E-LIVE"));
    QCOMPARE(client.liveSettings().at("rate"), std::string("60.0"));
    client.stop();
    QVERIFY(reaches(client, RunState::Stopped));
}

VERGENCE_TEST(TestRunClient)
#include "tst_run_client.moc"
