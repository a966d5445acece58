#include "tests/cluster/cluster_bench.h"

#include "core/artifact/checkpoint.h"
#include "tests/cluster/cluster_results.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// Jobs that somebody takes out of the queue.
class SlurmCancelTest : public ClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SLURM(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void pendingRunIsStopped();
    void workingRunSavesAndGoesOnLater();
    void othersCancelAPendingRun();
};

void SlurmCancelTest::pendingRunIsStopped()
{
    fillNodes();
    const RunFolder run{submit({"heat", "--preset", "demo"}).folder()};
    QTRY_COMPARE(SlurmBench::jobWord(jobOf(run), "Reason"), QString("Resources"));
    QCOMPARE(stateOf(run), QString("Queued"));
    const QString name = QString::fromStdString(run.root.string());
    const Outcome again = submit({name});
    QVERIFY2(again.code == 2 && again.err.contains("still in the queue"), qPrintable(again.err));

    const Outcome outcome = vergence({"cancel", name});

    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QTRY_COMPARE(SlurmBench::jobState(jobOf(run)), QString("CANCELLED"));
    const auto row = listed(run);
    QVERIFY2(row["status"]["state"] == "Stopped", row.dump(2).c_str());
    QVERIFY2(row.dump().find("before it began") != std::string::npos, row.dump(2).c_str());
}

void SlurmCancelTest::workingRunSavesAndGoesOnLater()
{
    const RunFolder run{submit(waitingRun()).folder()};
    QTRY_VERIFY(waitsInTheMiddle(run));
    const QString first = jobOf(run), name = QString::fromStdString(run.root.string());
    const Outcome early = submit({name});
    QVERIFY2(early.code == 2 && early.err.contains("still going on"), qPrintable(early.err));

    const Outcome outcome = vergence({"cancel", name});

    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QTRY_COMPARE(SlurmBench::jobState(first), QString("CANCELLED"));
    QCOMPARE(stateOf(run), QString("Stopped"));
    QVERIFY(!listCheckpoints(run).empty());

    const Outcome again = submit({name});
    QVERIFY2(again.code == 0, qPrintable(again.err));
    QVERIFY(jobOf(run) != first);
    QTRY_COMPARE(stateOf(run), QString("Completed"));
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
    QCOMPARE(repeatedLines(run), QString());
}

void SlurmCancelTest::othersCancelAPendingRun()
{
    fillNodes();
    const RunFolder run{submit({"heat", "--preset", "demo"}).folder()};
    QTRY_COMPARE(SlurmBench::jobWord(jobOf(run), "Reason"), QString("Resources"));
    SlurmBench::ask({"scancel", jobOf(run)});
    QTRY_COMPARE(SlurmBench::jobState(jobOf(run)), QString("CANCELLED"));

    const auto row = listed(run);
    QVERIFY2(row["status"]["state"] == "Stopped", row.dump(2).c_str());
    QVERIFY2(row.dump().find("cancelled") != std::string::npos, row.dump(2).c_str());
}

VERGENCE_TEST(SlurmCancelTest)
#include "tst_slurm_cancel.moc"
