#include "tests/cluster/ssh_cluster_bench.h"

#include <csignal>

#include "core/artifact/checkpoint.h"
#include "core/artifact/remote_run.h"
#include "tests/cluster/cluster_results.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// What becomes of runs on another computer is seen here, and said from here.
class SshWatchTest : public SshClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SSHD(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void stoppedRunGoesOnThere();
    void stoppedRunGoesOnHere();
    void waitingRunLeavesTheLine();
    void brokenLinkIsNoLoss();
    void deadComputersRunIsLostAndGoesOn();

private:
    /// Stops a run in its middle.
    void stop(const RunFolder& run);
};

void SshWatchTest::stop(const RunFolder& run)
{
    const Outcome outcome = cancel(run);
    QVERIFY2(outcome.code == 0 && outcome.err.contains("saves and stops"), qPrintable(outcome.err));
    QTRY_COMPARE(listedState(run), QString("Stopped"));
}

void SshWatchTest::stoppedRunGoesOnThere()
{
    const RunFolder run = submitWaiting();
    QTRY_VERIFY2(listedText(run).startsWith("Running on "), qPrintable(listedText(run)));
    QVERIFY(waitsInTheMiddle(run)); // the copy follows
    const Outcome early = submitAgain(run);
    QVERIFY2(early.code == 2 && early.err.contains("still going on"), qPrintable(early.err));

    stop(run);
    QCOMPARE(statusOf(run).step, std::int64_t{kMiddle});
    QVERIFY(!listCheckpoints(folderThere(run)).empty());
    const Outcome late = cancel(run);
    QVERIFY2(late.code == 0 && late.err.contains("had ended already"), qPrintable(late.err));

    const Outcome again = submitAgain(run);
    QVERIFY2(again.code == 0, qPrintable(again.err));
    QTRY_COMPARE(listedState(run), QString("Completed"));
    QCOMPARE(fetch(run).code, 0);
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
    QCOMPARE(repeatedLines(run), QString());
}

void SshWatchTest::stoppedRunGoesOnHere()
{
    const RunFolder run = submitWaiting();
    const Outcome early = fetch(run, {"--home"});
    QVERIFY2(early.code == 2, qPrintable(early.err));
    QVERIFY(isRemote(run));
    stop(run);
    const QStringList resume{"run", nameOf(run), "--resume", "--device", "cpu"};
    const Outcome copied = vergence(resume);
    QVERIFY2(copied.code == 2 && copied.err.contains("--home"), qPrintable(copied.err));

    const Outcome home = fetch(run, {"--home"});
    QVERIFY2(home.code == 0, qPrintable(home.err));
    QVERIFY(!isRemote(run));
    const Outcome resumed = vergence(resume);
    QVERIFY2(resumed.code == 0, qPrintable(resumed.err));
    QCOMPARE(listedState(run), QString("Completed"));
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
    QCOMPARE(repeatedLines(run), QString());
    const Outcome again = fetch(run);
    QVERIFY2(again.code == 2 && again.err.contains("of this computer already"),
             qPrintable(again.err));
}

void SshWatchTest::waitingRunLeavesTheLine()
{
    QCOMPARE(newComputer("narrow", {{"lanes", R"(["cpu"])"}}).code, 0);
    const RunFolder first{submitTo(waitingRun(), "narrow").folder()};
    QTRY_VERIFY(waitsInTheMiddle(folderThere(first)));
    const RunFolder second{submitTo({"heat", "--preset", "demo"}, "narrow").folder()};
    QTRY_VERIFY(statusOf(folderThere(second)).pid > 0);
    QVERIFY2(listedText(second).startsWith("Queued ("), qPrintable(listedText(second)));

    const Outcome outcome = cancel(second);
    QVERIFY2(outcome.code == 0 && outcome.err.contains("has left the queue"),
             qPrintable(outcome.err));
    QTRY_COMPARE(listedState(second), QString("Stopped"));
    const auto row = listed(second);
    QVERIFY2(row.dump().find("before it began") != std::string::npos, row.dump(2).c_str());
    QVERIFY(waitsInTheMiddle(folderThere(first)));
    QVERIFY(!std::filesystem::exists(folderThere(second).metrics()));
}

/// The run goes on where nobody sees it, and what became of it is found later.
void SshWatchTest::brokenLinkIsNoLoss()
{
    const RunFolder run = submitWaiting();
    QTRY_COMPARE(listedState(run), QString("Running"));

    ssh().breakLink("h1");
    const Outcome list = vergence({"runs", "list"});
    QVERIFY2(list.code == 0, qPrintable(list.err));
    QVERIFY2(list.out.contains("Running") && list.out.contains("not reached since"),
             qPrintable(list.out));
    QVERIFY2(list.err.contains("h1"), qPrintable(list.err));
    const Outcome cancelled = cancel(run);
    QVERIFY2(cancelled.code == 6, qPrintable(cancelled.err));
    const RunStatus there = statusOf(folderThere(run));
    QTRY_VERIFY(statusOf(folderThere(run)).heartbeat > there.heartbeat);
    ::kill(there.pid, SIGTERM); // as somebody there might
    QTRY_COMPARE(stateOf(folderThere(run)), QString("Stopped"));
    QCOMPARE(readRemoteRun(run)->state, std::string("Running"));

    ssh().mendLink("h1");
    QTRY_COMPARE(listedState(run), QString("Stopped"));
    QVERIFY2(!listedText(run).contains("not reached"), qPrintable(listedText(run)));
    QCOMPARE(submitAgain(run).code, 0);
    QTRY_COMPARE(listedState(run), QString("Completed"));
    QCOMPARE(fetch(run).code, 0);
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
}

/// The worker had no chance to save: what it did is done again.
void SshWatchTest::deadComputersRunIsLostAndGoesOn()
{
    const RunFolder run = submitWaiting();
    QTRY_COMPARE(listedState(run), QString("Running"));
    ssh().powerOff("h1");
    const Outcome list = vergence({"runs", "list"});
    QVERIFY2(list.code == 0 && list.out.contains("not reached since"),
             qPrintable(list.out + list.err));

    QVERIFY(ssh().powerOn("h1"));
    QTRY_COMPARE(listedState(run), QString("Lost"));
    const Outcome again = submitTo({nameOf(run), "--set", "wait_at=-1"});
    QVERIFY2(again.code == 0, qPrintable(again.err));
    QTRY_COMPARE(listedState(run), QString("Completed"));
    QCOMPARE(fetch(run).code, 0);
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
    QCOMPARE(repeatedLines(run), QString());
}

VERGENCE_TEST(SshWatchTest)
#include "tst_ssh_watch.moc"
