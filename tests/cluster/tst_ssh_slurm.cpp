#include "tests/cluster/ssh_cluster_bench.h"

#include "tests/cluster/cluster_results.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// A cluster with a disk of its own, behind a login computer.
class SshSlurmTest : public SshClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup() { end(); }

    void runEqualsItsLocalTwin();
    void pendingRunIsStopped();
};

void SshSlurmTest::initTestCase()
{
    VERGENCE_NEEDS_SLURM();
    VERGENCE_NEEDS_SSHD();
}

void SshSlurmTest::init()
{
    QVERIFY(beginWithSlurm());
    const Outcome outcome =
        vergence({"targets", "new", "uni", "--set", "login=h1", "--set", "disk=own", "--set",
                  "cores=2", "--set", "program=" + kBuild + "/bin/vergence"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
}

void SshSlurmTest::runEqualsItsLocalTwin()
{
    const QStringList demo{"heat", "--preset", "demo"};
    const Outcome outcome = submit(demo, "uni");
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder run{outcome.folder()};
    QTRY_COMPARE(listedState(run), QString("Completed"));
    QTRY_COMPARE(SlurmBench::jobState(jobOf(run)), QString("COMPLETED"));
    QCOMPARE(fetch(run).code, 0);
    QCOMPARE(differences(run, madeHere(demo)), QString());
}

void SshSlurmTest::pendingRunIsStopped()
{
    fillNodes();
    const RunFolder run{submit({"heat", "--preset", "demo"}, "uni").folder()};
    QTRY_COMPARE(SlurmBench::jobWord(jobOf(run), "Reason"), QString("Resources"));
    QTRY_VERIFY2(listedText(run).startsWith("Queued ("), qPrintable(listedText(run)));
    const Outcome again = submitAgain(run, "uni");
    QVERIFY2(again.code == 2 && again.err.contains("still in the queue"), qPrintable(again.err));

    const Outcome outcome = cancel(run);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QTRY_COMPARE(SlurmBench::jobState(jobOf(run)), QString("CANCELLED"));
    QTRY_COMPARE(listedState(run), QString("Stopped"));
    const auto row = listed(run);
    QVERIFY2(row.dump().find("before it began") != std::string::npos, row.dump(2).c_str());
}

VERGENCE_TEST(SshSlurmTest)
#include "tst_ssh_slurm.moc"
