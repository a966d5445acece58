#include "tests/cluster/cluster_bench.h"

#include "tests/cluster/cluster_results.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// Runs in the queue of a cluster are those that this computer would have made.
class SlurmRunsTest : public ClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SLURM(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void targetIsFoundGood();
    void runEqualsItsLocalTwin();
    void sweepIsSharedByTheNodes();
    void forecastIsMeasuredOnANode();
    void strangeNamesOfFoldersStayNames();
};

void SlurmRunsTest::targetIsFoundGood()
{
    const Outcome outcome = vergence({"targets", "check", "here"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.out + outcome.err));
    QVERIFY2(outcome.out.contains("2 idle"), qPrintable(outcome.out));
}

void SlurmRunsTest::runEqualsItsLocalTwin()
{
    const QStringList demo{"heat", "--preset", "demo"};
    const Outcome outcome = submit(demo);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder run{outcome.folder()};
    QTRY_COMPARE(stateOf(run), QString("Completed"));
    QTRY_COMPARE(SlurmBench::jobState(jobOf(run)), QString("COMPLETED"));
    QCOMPARE(statusOf(run).preset, std::string("demo"));
    QCOMPARE(differences(run, madeHere(demo)), QString());
    QCOMPARE(repeatedLines(run), QString());
}

void SlurmRunsTest::sweepIsSharedByTheNodes()
{
    QCOMPARE(newTarget("two", {"at_once=2"}).code, 0);
    const Outcome outcome = submit({"heat", "--preset", "demo", "--sweep", "size=8,12,16"}, "two");
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const std::vector<RunFolder> runs = foldersOf(outcome);
    QCOMPARE(runs.size(), std::size_t{3});
    QCOMPARE(SlurmBench::jobWord(jobOf(runs[0]), "ArrayTaskThrottle"), QString("2"));
    const QStringList sizes{"8", "12", "16"};
    QStringList nodes;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        QTRY_COMPARE(stateOf(runs[i]), QString("Completed"));
        QTRY_COMPARE(SlurmBench::jobState(jobOf(runs[i])), QString("COMPLETED"));
        nodes << SlurmBench::jobWord(jobOf(runs[i]), "NodeList");
        const RunFolder twin = madeHere(
            {"heat", "--preset", "demo", "--set", "size=" + sizes[static_cast<qsizetype>(i)]});
        QCOMPARE(differences(runs[i], twin), QString());
    }
    nodes.removeDuplicates();
    QCOMPARE(nodes.size(), 2);
}

void SlurmRunsTest::forecastIsMeasuredOnANode()
{
    const QStringList run{"forecast", "chaos", "--set", "steps=60", "--set", "step_ms=10"};
    const Outcome outcome =
        vergence(run + QStringList{"--device", "cpu", "--target", "here", "--runs", "3"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.out.contains(": 60 steps of "), qPrintable(outcome.out));
    QVERIFY2(outcome.out.contains("the cluster's choice"), qPrintable(outcome.out));

    const Outcome refused =
        vergence(run + QStringList{"--set", "throw_at=2", "--device", "cpu", "--target", "here"});
    QVERIFY2(refused.code == 1 && !refused.err.isEmpty(), qPrintable(refused.err));
}

void SlurmRunsTest::strangeNamesOfFoldersStayNames()
{
    const QString folder = path("runs of \"me\", 'you' & $(touch trace) `touch trace` é");
    QCOMPARE(newTarget("strange", {"folder='''" + folder + "'''"}).code, 0);
    const Outcome outcome = submit({"heat", "--preset", "demo"}, "strange");
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder run{outcome.folder()};
    QVERIFY2(outcome.out.startsWith(folder), qPrintable(outcome.out));
    QTRY_COMPARE(stateOf(run), QString("Completed"));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home().toStdString()))
        QVERIFY2(entry.path().filename() != "trace", entry.path().c_str());
}

VERGENCE_TEST(SlurmRunsTest)
#include "tst_slurm_runs.moc"
