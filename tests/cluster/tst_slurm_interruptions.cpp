#include "tests/cluster/cluster_bench.h"

#include <csignal>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "core/run/worker_log.h"
#include "tests/cluster/cluster_results.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// Runs whose job is interrupted from outside end with the bits of an undisturbed run.
class SlurmInterruptionsTest : public ClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SLURM(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void timeThatRunsOutSavesAndQueuesAgain();
    void timeThatRunsOutWhileTheControllerIsAway();
    void tasksOfASweepGoTheirOwnWays();
    void preemptedRunGoesOn();
    void deadNodesRunGoesOnElsewhere();
    void runOutlivesItsNodesDaemon_data();
    void runOutlivesItsNodesDaemon();

private:
    /// Submits a run that waits at the step of its middle, and waits for it there.
    RunFolder submitWaiting(const QString& target = "here");
    /// Submits a run of so many steps of so many milliseconds, and waits until it has begun.
    RunFolder submitSlow(int steps, int milliseconds, const QString& target = "here");
    QString node(const RunFolder& run) { return SlurmBench::jobWord(jobOf(run), "NodeList"); }
    /// Slurm learns what it would notice itself after a while.
    void declareDead(const QString& node);
    /// Whether the job works on another node than `first`, which is declared dead else: newer
    /// versions of Slurm take an answer that was under way for a sign of life.
    bool hasLeft(const RunFolder& run, const QString& first);
};

namespace {

/// "1234 (vergence) S 17 …": the parent is 17.
pid_t parentOf(int pid)
{
    const std::string stat = readFile("/proc/" + std::to_string(pid) + "/stat");
    return static_cast<pid_t>(std::stol(stat.substr(stat.rfind(") ") + 4)));
}

} // namespace

RunFolder SlurmInterruptionsTest::submitWaiting(const QString& target)
{
    const RunFolder run{submit(waitingRun(), target).folder()};
    if (!waitFor([&] { return waitsInTheMiddle(run); }))
        qWarning("%s does not wait.", run.root.c_str());
    return run;
}

RunFolder SlurmInterruptionsTest::submitSlow(int steps, int milliseconds, const QString& target)
{
    const RunFolder run{submit({"chaos", "--set", "steps=" + QString::number(steps), "--set",
                                "step_ms=" + QString::number(milliseconds)},
                               target)
                            .folder()};
    if (!waitFor([&] { return statusOf(run).step > 0; }))
        qWarning("%s has not begun.", run.root.c_str());
    return run;
}

void SlurmInterruptionsTest::declareDead(const QString& node)
{
    SlurmBench::ask({"scontrol", "update", "NodeName=" + node, "State=DOWN", "Reason=test"});
}

bool SlurmInterruptionsTest::hasLeft(const RunFolder& run, const QString& first)
{
    const bool works = SlurmBench::jobState(jobOf(run)) == "RUNNING";
    if (works && node(run) != first)
        return true;
    declareDead(first);
    return false;
}

void SlurmInterruptionsTest::timeThatRunsOutSavesAndQueuesAgain()
{
    const RunFolder run = submitWaiting();
    const QString job = jobOf(run);
    SlurmBench::ask({"scancel", "--batch", "--signal=USR1", job});

    QTRY_COMPARE(SlurmBench::jobState(job), QString("PENDING"));
    QCOMPARE(stateOf(run), QString("Stopped"));
    QCOMPARE(statusOf(run).step, std::int64_t{kMiddle});
    QVERIFY(!listCheckpoints(run).empty());
    const auto row = listed(run);
    QVERIFY2(row["status"]["state"] == "Queued", row.dump(2).c_str());
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QCOMPARE(stateOf(run), QString("Completed"));
    QCOMPARE(SlurmBench::jobWord(job, "Restarts"), QString("1"));
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
    QCOMPARE(repeatedLines(run), QString());
}

/// The script asks for its place in the queue until somebody answers.
void SlurmInterruptionsTest::timeThatRunsOutWhileTheControllerIsAway()
{
    const RunFolder run = submitWaiting();
    const QString job = jobOf(run);
    slurm().shutController();
    const std::size_t quiet = readFile(workerLog(run)).size();
    ::kill(parentOf(statusOf(run).pid), SIGUSR1);
    QTRY_VERIFY(readFile(workerLog(run)).size() > quiet); // scontrol has failed
    QCOMPARE(stateOf(run), QString("Stopped"));

    slurm().startController();
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QCOMPARE(stateOf(run), QString("Completed"));
    QCOMPARE(SlurmBench::jobWord(job, "Restarts"), QString("1"));
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
}

void SlurmInterruptionsTest::tasksOfASweepGoTheirOwnWays()
{
    const auto runs = foldersOf(submit(waitingRun() + QStringList{"--sweep", "seed=1,2"}));
    QCOMPARE(runs.size(), std::size_t{2});
    QTRY_VERIFY(waitsInTheMiddle(runs[0]) && waitsInTheMiddle(runs[1]));
    SlurmBench::ask({"scancel", "--batch", "--signal=USR1", jobOf(runs[1])});

    QTRY_COMPARE(SlurmBench::jobState(jobOf(runs[1])), QString("COMPLETED"));
    QCOMPARE(differences(runs[1], madeHere(waitingRun(false) + QStringList{"--set", "seed=2"})),
             QString());
    QVERIFY(waitsInTheMiddle(runs[0]));
    QCOMPARE(vergence({"cancel", QString::fromStdString(runs[0].root.string())}).code, 0);
    QTRY_COMPARE(SlurmBench::jobState(jobOf(runs[0])), QString("CANCELLED"));
    QCOMPARE(stateOf(runs[0]), QString("Stopped"));
    QCOMPARE(stateOf(runs[1]), QString("Completed"));
}

void SlurmInterruptionsTest::preemptedRunGoesOn()
{
    QCOMPARE(newTarget("low", {"partition=low"}).code, 0);
    const RunFolder run = submitWaiting("low");
    const QString job = jobOf(run);

    const QString other = SlurmBench::ask({"sbatch", "--parsable", "-p", "high", "-c", "2", "-w",
                                           node(run), "-o", "/dev/null", "--wrap", "exit 0"});

    QTRY_COMPARE(SlurmBench::jobState(other), QString("COMPLETED"));
    QCOMPARE(statusOf(run).step, std::int64_t{kMiddle});
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QCOMPARE(stateOf(run), QString("Completed"));
    QCOMPARE(SlurmBench::jobWord(job, "Restarts"), QString("1"));
    QCOMPARE(differences(run, madeHere(waitingRun(false))), QString());
    QCOMPARE(repeatedLines(run), QString());
}

/// The worker had no chance to save: what was done since the last checkpoint is done again.
void SlurmInterruptionsTest::deadNodesRunGoesOnElsewhere()
{
    const RunFolder run = submitSlow(200, 20);
    const QString job = jobOf(run), first = node(run);
    slurm().powerOff(first);
    QVERIFY(statusOf(run).step < 200);

    QTRY_VERIFY(slurm().isDown(first));
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QVERIFY(node(run) != first);
    QCOMPARE(stateOf(run), QString("Completed"));
    QCOMPARE(differences(run, madeHere({"chaos", "--set", "steps=200"})), QString());
    QCOMPARE(repeatedLines(run), QString());
}

void SlurmInterruptionsTest::runOutlivesItsNodesDaemon_data()
{
    QTest::addColumn<QStringList>("settings");
    QTest::newRow("disk with locks") << QStringList();
    QTest::newRow("disk without locks")
        << QStringList{"extra=[\"--export=ALL,LD_PRELOAD=" + kBuild +
                       "/lib/vergence-test-support/libvergence-lockless-disk.so\"]"};
}

/// Slurm takes the node for dead and starts the job once more, while its first worker works on
/// unwatched: the second one waits for the first.
void SlurmInterruptionsTest::runOutlivesItsNodesDaemon()
{
    QFETCH(QStringList, settings);
    QCOMPARE(newTarget("there", settings).code, 0);
    const RunFolder run = submitSlow(150, 100, "there");
    const QString job = jobOf(run), first = node(run);
    const int worker = statusOf(run).pid;
    slurm().killDaemon(first);
    QTRY_VERIFY(hasLeft(run, first));
    QCOMPARE(stateOf(run), QString("Running"));
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QCOMPARE(stateOf(run), QString("Completed"));
    QCOMPARE(statusOf(run).pid, worker);
    QCOMPARE(differences(run, madeHere({"chaos", "--set", "steps=150"})), QString());
    QCOMPARE(repeatedLines(run), QString());
}

VERGENCE_TEST(SlurmInterruptionsTest)
#include "tst_slurm_interruptions.moc"
