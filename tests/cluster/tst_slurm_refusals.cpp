#include "tests/cluster/cluster_bench.h"

#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// What the cluster refuses, in sentences that say what to do; the runs folder stays as it was.
class SlurmRefusalsTest : public ClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SLURM(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void settingTheClusterDoesNotKnow_data();
    void settingTheClusterDoesNotKnow();
    void timeThatTheClusterTakesAndNeverStarts();
    void programThatIsNotThere();
    void controllerThatIsGone();
};

void SlurmRefusalsTest::settingTheClusterDoesNotKnow_data()
{
    QTest::addColumn<QString>("setting");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("partition") << "partition=nosuch"
                               << "The cluster has no partition `nosuch`. It has: all, low, high.";
    QTest::newRow("time") << "time=2:00:00"
                          << "The time 2:00:00 is longer than the partition allows.";
    QTest::newRow("memory") << "memory=64G"
                            << "No node of the partition has what the target asks for.";
    QTest::newRow("cores") << "cores=64"
                           << "No node of the partition has so many cores (the largest has 2). "
                              "Correct `cores`.";
    QTest::newRow("gpus") << "gpus=gpu:1"
                          << "The cluster has no `gpu:1`. Correct `gpus`.";
    QTest::newRow("extra") << "extra=[\"--gpus=1\"]"
                           << "The cluster has no such GPUs. Correct `--gpus=1` in `extra`.";
}

void SlurmRefusalsTest::settingTheClusterDoesNotKnow()
{
    QFETCH(QString, setting);
    QFETCH(QString, sentence);
    QCOMPARE(newTarget("wrong", {setting}).code, 0);

    const Outcome outcome = submit({"heat", "--preset", "demo"}, "wrong");

    QVERIFY2(outcome.code == 3, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(sentence), qPrintable(outcome.err));
    QCOMPARE(vergence({"runs", "list", "--json"}).parsed().size(), std::size_t{0});
    const Outcome check = vergence({"targets", "check", "wrong"});
    QVERIFY2(check.code != 0, qPrintable(check.out));
}

void SlurmRefusalsTest::timeThatTheClusterTakesAndNeverStarts()
{
    QVERIFY(begin(SlurmBench::Limits::Ignored));
    QCOMPARE(newTarget("long", {"time=2:00:00"}).code, 0);
    const Outcome check = vergence({"targets", "check", "long"});
    QVERIFY2(check.code != 0 && check.out.contains("The time 2:00:00 is longer than the partition "
                                                   "`all` allows (1:00:00)"),
             qPrintable(check.out));

    const RunFolder run{submit({"heat", "--preset", "demo"}, "long").folder()};
    QTRY_COMPARE(SlurmBench::jobWord(jobOf(run), "Reason"), QString("PartitionTimeLimit"));
    QVERIFY2(vergence({"runs", "list"}).out.contains("cancel it and set a shorter `time`"),
             qPrintable(vergence({"runs", "list"}).out));
}

void SlurmRefusalsTest::programThatIsNotThere()
{
    QCOMPARE(newTarget("elsewhere", {"program=/nonexistent/vergence"}).code, 0);
    const RunFolder run{submit({"heat", "--preset", "demo"}, "elsewhere").folder()};
    QTRY_COMPARE(SlurmBench::jobState(jobOf(run)), QString("FAILED"));
    const auto row = listed(run);
    QVERIFY2(row["status"]["state"] == "Failed", row.dump(2).c_str());
    QVERIFY2(row.dump().find("`vergence` cannot be started") != std::string::npos,
             row.dump(2).c_str());
    const Outcome late = vergence({"cancel", QString::fromStdString(run.root.string())});
    QVERIFY2(late.code == 0 && late.err.contains("had ended already"), qPrintable(late.err));
    QVERIFY2(listed(run)["status"]["state"] == "Failed", listed(run).dump(2).c_str());
    const Outcome check = vergence({"targets", "check", "elsewhere"});
    QVERIFY2(check.code != 0 && check.out.contains("/nonexistent/vergence"), qPrintable(check.out));
}

void SlurmRefusalsTest::controllerThatIsGone()
{
    fillNodes();
    const RunFolder run{submit({"heat", "--preset", "demo"}).folder()};
    QCOMPARE(stateOf(run), QString("Queued"));
    slurm().killController();

    const Outcome outcome = submit({"heat", "--preset", "demo"});
    QVERIFY2(outcome.code == 6, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains("Slurm's controller does not answer"), qPrintable(outcome.err));
    const Outcome check = vergence({"targets", "check", "here"});
    QVERIFY2(check.code != 0, qPrintable(check.out));
    const Outcome cancelled = vergence({"cancel", QString::fromStdString(run.root.string())});
    QVERIFY2(cancelled.code == 6, qPrintable(cancelled.err));
    QVERIFY2(listed(run)["status"]["state"] == "Queued", listed(run).dump(2).c_str());
}

VERGENCE_TEST(SlurmRefusalsTest)
#include "tst_slurm_refusals.moc"
