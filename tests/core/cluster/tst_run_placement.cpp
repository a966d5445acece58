#include "core/cluster/run_placement.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

class RunPlacementTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void folderAndQueueMakeOneState_data();
    void folderAndQueueMakeOneState();
    void queueIsAskedForRunsOfJobsAlone_data();
    void queueIsAskedForRunsOfJobsAlone();
    void eachQueueIsAskedOnce();
    void silentQueueLeavesTheFolderToSay();
    void goneJobsAreLookedFor();
    void unreadableRunsAreLeftOut();
};

namespace {

RunFolder placedRun(const std::filesystem::path& root, const char* state, const Job& job)
{
    const RunFolder run = RunFolder::createAt(root);
    RunStatus status;
    status.state = state;
    writeStatus(run, status);
    writeJob(run, job);
    return run;
}

} // namespace

void RunPlacementTest::folderAndQueueMakeOneState_data()
{
    QTest::addColumn<QByteArray>("state");
    QTest::addColumn<bool>("isGoingOn");
    QTest::addColumn<QByteArray>("slurm"); ///< "?" does not answer, "-" knows nothing
    QTest::addColumn<QByteArray>("reason");
    QTest::addColumn<QByteArray>("shown");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("problem");
    const auto row = [](const char* state, bool isGoingOn, const char* slurm, const char* reason,
                        const char* shown, const char* text, const char* problem = "") {
        QTest::addRow("%s%s, %s", state, isGoingOn ? "" : " alone", slurm)
            << QByteArray(state) << isGoingOn << QByteArray(slurm) << QByteArray(reason)
            << QByteArray(shown) << QByteArray(text) << QByteArray(problem);
    };
    row("Queued", false, "?", "", "Queued", "Queued");
    row("Queued", false, "PENDING", "other jobs go first", "Queued",
        "Queued (other jobs go first)");
    row("Queued", false, "PENDING", "", "Queued", "Queued");
    row("Queued", false, "RUNNING", "", "Starting", "Starting on n1");
    row("Queued", false, "COMPLETING", "it ends", "Queued", "Queued (it ends)");
    row("Queued", false, "CANCELLED", "cancelled", "Stopped", "Stopped (cancelled)",
        "Its job 7_1 ended before the run began: cancelled.");
    row("Queued", false, "FAILED", "exit code 3", "Failed", "Failed (exit code 3)",
        "Its job 7_1 ended before the run began: exit code 3.");
    row("Queued", false, "-", "Slurm does not know it any more", "Failed",
        "Failed (Slurm does not know it any more)",
        "Its job 7_1 ended before the run began: Slurm does not know it any more.");
    row("Running", true, "?", "", "Running", "Running");
    row("Running", true, "RUNNING", "", "Running", "Running on n1");
    row("Running", true, "SUSPENDED", "suspended", "Running", "Running (suspended)");
    row("Running", true, "FAILED", "exit code 3", "Running", "Running");
    row("Running", false, "?", "", "Lost", "Lost");
    // Files come late over a network.
    row("Running", false, "RUNNING", "", "Running", "Running on n1");
    row("Running", false, "PENDING", "it waits for free nodes", "Queued",
        "Queued (it waits for free nodes)");
    row("Running", false, "NODE_FAIL", "its node failed", "Failed", "Failed (its node failed)",
        "Its job 7_1 ended before the run could: its node failed.");
    row("Running", false, "CANCELLED", "cancelled", "Stopped", "Stopped (cancelled)",
        "Its job 7_1 ended before the run could: cancelled.");
    row("Running", false, "-", "Slurm does not know it any more", "Lost", "Lost");
    row("Starting", true, "RUNNING", "", "Starting", "Starting on n1");
    row("Stopped", false, "PENDING", "it waits for its time to begin", "Queued",
        "Queued (it waits for its time to begin)");
    row("Stopped", false, "RUNNING", "", "Stopped", "Stopped");
    row("Stopped", false, "CANCELLED", "cancelled", "Stopped", "Stopped");
    row("Completed", false, "PENDING", "", "Completed", "Completed");
    row("Failed", false, "RUNNING", "", "Failed", "Failed");
}

void RunPlacementTest::folderAndQueueMakeOneState()
{
    QFETCH(QByteArray, state);
    QFETCH(bool, isGoingOn);
    QFETCH(QByteArray, slurm);
    QFETCH(QByteArray, reason);
    QFETCH(QByteArray, shown);
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, problem);
    RunStatus status;
    status.state = state.toStdString();
    JobState job;
    const bool isPending = slurm == "PENDING";
    const bool isRunning = slurm == "RUNNING" || slurm == "COMPLETING" || slurm == "SUSPENDED";
    if (slurm != "?")
        job.phase = isPending   ? JobState::Phase::Pending
                    : isRunning ? JobState::Phase::Running
                                : JobState::Phase::Ended;
    job.slurmState = slurm.size() == 1 ? "" : slurm.toStdString();
    job.reason = reason.toStdString();
    job.node = isRunning ? "n1" : "";
    const RunPlacement place = placementOf(status, isGoingOn, {"uni", "", "7", 1}, job);
    QCOMPARE(nameOf(place.state), shown.toStdString());
    QCOMPARE(place.text, text.toStdString());
    QCOMPARE(place.problem, problem.toStdString());
}

void RunPlacementTest::queueIsAskedForRunsOfJobsAlone_data()
{
    QTest::addColumn<QByteArray>("state");
    QTest::addColumn<QByteArray>("job");
    QTest::addColumn<bool>("asks");
    QTest::newRow("queued") << QByteArray("Queued") << QByteArray() << true;
    QTest::newRow("working") << QByteArray("Running") << QByteArray("slurm 7") << true;
    QTest::newRow("working here") << QByteArray("Running") << QByteArray() << false;
    QTest::newRow("preempted") << QByteArray("Stopped") << QByteArray("slurm 7") << true;
    QTest::newRow("stopped here") << QByteArray("Stopped") << QByteArray() << false;
    QTest::newRow("completed") << QByteArray("Completed") << QByteArray("slurm 7") << false;
    QTest::newRow("nonsense") << QByteArray("Dreaming") << QByteArray("slurm 7") << false;
}

void RunPlacementTest::queueIsAskedForRunsOfJobsAlone()
{
    QFETCH(QByteArray, state);
    QFETCH(QByteArray, job);
    QFETCH(bool, asks);
    RunStatus status;
    status.state = state.toStdString();
    status.job = job.toStdString();
    QCOMPARE(wantsQueue(status), asks);
}

void RunPlacementTest::eachQueueIsAskedOnce()
{
    const Scratch runs;
    FakePrograms programs;
    programs.addSsh();
    programs.add("squeue", "echo >>\"$FAKES/calls\"\n"
                           "printf '7_0|PENDING||Priority\\n7_1|RUNNING|n1|None\\n'");
    std::vector<RunFolder> folders;
    for (const auto& [name, login, task] : {std::tuple{"a", "", 0}, std::tuple{"b", "", 1},
                                            std::tuple{"c", "n1", 0}, std::tuple{"d", "n1", 1}})
        folders.push_back(placedRun(runs / name, "Queued", {"uni", login, "7", task}));
    folders.push_back(placedRun(runs / "e", "Completed", {"uni", "n9", "7", 1}));
    const QueueAnswers answers = askQueues(folders);
    QVERIFY(answers.problems.empty());
    QCOMPARE(answers.runs.size(), std::size_t{4});
    QCOMPARE(answers.runs.at(folders[0].root).text, std::string("Queued (other jobs go first)"));
    QCOMPARE(answers.runs.at(folders[3].root).text, std::string("Starting on n1"));
    QCOMPARE(programs.text("calls"), std::string("\n\n"));
    QCOMPARE(programs.text("hosts"), std::string("n1\n"));
}

void RunPlacementTest::silentQueueLeavesTheFolderToSay()
{
    const Scratch runs;
    FakePrograms programs;
    programs.addSsh();
    programs.add("ssh", "exit 255");
    programs.add("squeue", "printf '8|PENDING||None\\n'");
    const RunFolder silent = placedRun(runs / "a", "Queued", {"uni", "n1", "7", -1}),
                    good = placedRun(runs / "b", "Queued", {"uni", "", "8", -1});
    const QueueAnswers answers = askQueues({silent, good});
    QCOMPARE(answers.problems, (std::vector<std::string>{"n1 cannot be reached by ssh."}));
    QCOMPARE(answers.runs.at(silent.root).text, std::string("Queued"));
    QCOMPARE(answers.runs.at(silent.root).queue.phase, JobState::Phase::Unknown);
    QCOMPARE(answers.runs.at(good.root).queue.phase, JobState::Phase::Pending);
}

void RunPlacementTest::goneJobsAreLookedFor()
{
    const Scratch runs;
    FakePrograms programs;
    programs.add("squeue");
    programs.add("scontrol", "echo 'JobId=7 JobState=NODE_FAIL ExitCode=0:0'");
    const RunFolder run = placedRun(runs / "a", "Queued", {"uni", "", "7", -1});
    const RunPlacement place = askQueues({run}).runs.at(run.root);
    QCOMPARE(place.state, RunState::Failed);
    QCOMPARE(place.problem, std::string("Its job 7 ended before the run began: its node failed."));

    // Of a run that has stopped the folder tells all.
    const RunFolder stopped = placedRun(runs / "b", "Stopped", {"uni", "", "8", -1});
    RunStatus status = readStatus(stopped);
    status.job = "slurm 8";
    writeStatus(stopped, status);
    QCOMPARE(askQueues({stopped}).runs.at(stopped.root).text, std::string("Stopped"));
    QCOMPARE(programs.arguments("scontrol").size(), std::size_t{4});
}

void RunPlacementTest::unreadableRunsAreLeftOut()
{
    const Scratch runs;
    const RunFolder run = placedRun(runs / "a", "Queued", {"uni", "", "7", -1});
    writeFileAtomic(jobFile(run), "{");
    const QueueAnswers answers = askQueues({run, RunFolder{runs / "nowhere"}});
    QVERIFY(answers.runs.empty() && answers.problems.empty());
}

VERGENCE_TEST(RunPlacementTest)
#include "tst_run_placement.moc"
