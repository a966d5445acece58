#include "tests/app/cli/cli_bench.h"

#include <csignal>

#include <QTemporaryDir>

#include "core/artifact/checkpoint.h"
#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// Runs in a terminal: what they print and keep, how they are ended and continued.
class CliRunTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void runPrintsItsFolderAlone();
    void inputIsKeptByteForByte();
    void jsonLinesAreMessages();
    void resumedRunEqualsOneRun();
    void resumeThatCannotBeginChangesNothing();
    void interruptLeavesACheckpoint();
    void timeLimitLeavesACheckpoint();
    void runningRunIsNotResumed();
    void viewServesAFinishedRunUntilInterrupted();
};

void CliRunTest::runPrintsItsFolderAlone()
{
    const Outcome outcome = demoRun();
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.out.count('\n'), 1);
    const RunFolder folder = RunFolder::open(outcome.folder());
    const RunStatus status = readStatus(folder);
    QCOMPARE(status.state, std::string("Completed"));
    QCOMPARE(status.step, std::int64_t{20});
    QCOMPARE(status.preset, std::string("demo"));
    QVERIFY(readFile(folder.metrics()).find("heat/residual") != std::string::npos);
    QVERIFY(fs::exists(folder.artifacts() / "plate/fade_1.png"));
}

void CliRunTest::inputIsKeptByteForByte()
{
    const QByteArray text =
        "# my plate\nplugin   = \"heat\"\n\n[plate]\r\nsize=8\n[solver]\nsweeps = 3";
    const Outcome outcome =
        vergence({"run", written("mine.toml", text), "--run-dir", path("one"), "--device", "cpu"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder folder = RunFolder::open(path("one").toStdString());
    QCOMPARE(readFile(folder.configInput()), text.toStdString());
    QVERIFY(readFile(folder.config()).find("sweeps = 3  # changed, default 100") !=
            std::string::npos);

    QCOMPARE(vergence({"run", "heat", "--run-dir", path("one")}).code, 8); // never over another run
}

void CliRunTest::jsonLinesAreMessages()
{
    const Outcome outcome = demoRun({"--json"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QStringList types;
    for (const QString& line : outcome.out.split('\n', Qt::SkipEmptyParts)) {
        const json message = json::parse(line.toStdString(), nullptr, false);
        QVERIFY2(message.is_object(), qPrintable(line));
        types << QString::fromStdString(message["type"].get<std::string>());
    }
    QVERIFY(types.contains("metrics"));
    QCOMPARE(types.last(), QString("done"));
}

void CliRunTest::resumedRunEqualsOneRun()
{
    const Outcome whole = demoRun({"--set", "sweeps=30"});
    const Outcome part = demoRun();
    QCOMPARE(part.code, 0);

    const Outcome rest =
        vergence({"run", part.out.trimmed(), "--resume", "--set", "sweeps=30", "--device", "cpu"});

    QVERIFY2(rest.code == 0, qPrintable(rest.err));
    QCOMPARE(rest.folder(), part.folder());
    const RunFolder folder = RunFolder::open(part.folder());
    QCOMPARE(readStatus(folder).step, std::int64_t{30});
    const RunFolder straight = RunFolder::open(whole.folder());
    QCOMPARE(readFile(folder.artifacts() / "plate/fade_3.png"),
             readFile(straight.artifacts() / "plate/fade_3.png"));
    QVERIFY(readFile(folder.config()).find("sweeps = 30") != std::string::npos);
}

void CliRunTest::resumeThatCannotBeginChangesNothing()
{
    const Outcome part = demoRun();
    QCOMPARE(part.code, 0);
    const RunFolder folder = RunFolder::open(part.folder());
    const std::string config = readFile(folder.config());
    for (const fs::path& checkpoint : listCheckpoints(folder))
        writeFileAtomic(checkpoint / "state.json", "{");
    const Outcome rest =
        vergence({"run", part.out.trimmed(), "--resume", "--set", "sweeps=77", "--device", "cpu"});
    QVERIFY2(rest.code == 6, qPrintable(rest.err));
    QVERIFY2(rest.err.contains("There is none before it"), qPrintable(rest.err));
    QCOMPARE(readFile(folder.config()), config);
}

void CliRunTest::interruptLeavesACheckpoint()
{
    auto process = start({"run", "heat", "--set", "sweeps=1000000000", "--run-dir", path("long"),
                          "--device", "cpu"});
    const RunFolder folder{path("long").toStdString()};
    const auto isRunning = [&folder] {
        return fs::exists(folder.status()) && readStatus(folder).step > 0;
    };
    QTRY_VERIFY_WITH_TIMEOUT(isRunning(), kWaitMilliseconds);
    ::kill(static_cast<pid_t>(process->processId()), SIGINT);
    QVERIFY(process->waitForFinished(kWaitMilliseconds));

    QCOMPARE(process->exitCode(), 130);
    QCOMPARE(readStatus(folder).state, std::string("Stopped"));
    QVERIFY(!listCheckpoints(folder).empty());
}

void CliRunTest::timeLimitLeavesACheckpoint()
{
    const Outcome outcome = vergence({"run", "heat", "--set", "sweeps=1000000000", "--time-limit",
                                      "0.5", "--run-dir", path("timed"), "--device", "cpu"});
    QCOMPARE(outcome.code, 124);
    QVERIFY(!listCheckpoints(RunFolder{path("timed").toStdString()}).empty());
}

void CliRunTest::runningRunIsNotResumed()
{
    auto process = start({"run", "heat", "--set", "sweeps=1000000000", "--run-dir", path("long"),
                          "--device", "cpu"});
    const RunFolder folder{path("long").toStdString()};
    QTRY_VERIFY_WITH_TIMEOUT(fs::exists(folder.status()) && readStatus(folder).pid > 0,
                             kWaitMilliseconds);

    const Outcome outcome = vergence({"run", path("long"), "--resume"});

    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("is still going on"), qPrintable(outcome.err));
    // Nor from another computer, or while another one begins: then status.json still says Lost.
    RunStatus elsewhere = readStatus(folder);
    QVERIFY(elsewhere.bootId == currentBootId());
    {
        const QTemporaryDir other;
        const RunFolder copy = RunFolder::createAt((other.path() + "/copy").toStdString());
        fs::copy_file(folder.config(), copy.config());
        elsewhere.bootId = "another boot";
        elsewhere.host = "elsewhere";
        elsewhere.heartbeat -= 3600; // clocks differ
        writeStatus(copy, elsewhere);
        const Outcome refused = vergence({"run", other.path() + "/copy", "--resume"});
        QVERIFY2(refused.code == 2, qPrintable(refused.err));
        QVERIFY2(refused.err.contains("of elsewhere"), qPrintable(refused.err));
        const json listed =
            vergence({"runs", "list", "--runs-dir", other.path(), "--json"}).parsed();
        QCOMPARE(listed[0]["status"]["state"].get<std::string>(), elsewhere.state);
    }
    VERGENCE_THROWS(Error, "Another process works on", RunLease{folder});
    process->kill();
    process->waitForFinished();
    const json runs = vergence({"runs", "list", "--runs-dir", home(), "--json"}).parsed();
    QCOMPARE(runs[0]["status"]["state"].get<std::string>(), std::string("Lost"));
}

void CliRunTest::viewServesAFinishedRunUntilInterrupted()
{
    const Outcome made = demoRun();
    const std::string before = readFile(RunFolder{made.folder()}.metrics());
    auto process = start({"view", made.out.trimmed(), "--json", "--device", "cpu"});
    QByteArray said;
    QTRY_VERIFY_WITH_TIMEOUT((said += process->readAllStandardOutput()).contains("heartbeat"),
                             kWaitMilliseconds);
    ::kill(static_cast<pid_t>(process->processId()), SIGINT);
    QVERIFY(process->waitForFinished(kWaitMilliseconds));

    QCOMPARE(process->exitStatus(), QProcess::NormalExit);
    QCOMPARE(process->exitCode(), 0);
    QCOMPARE(readStatus(RunFolder{made.folder()}).state, std::string("Completed"));
    QCOMPARE(readFile(RunFolder{made.folder()}.metrics()), before);
}

VERGENCE_TEST(CliRunTest)
#include "tst_cli_run.moc"
