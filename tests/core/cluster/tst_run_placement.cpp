#include "core/cluster/run_placement.h"

#include <unistd.h>

#include <QDateTime>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/run/worker_log.h"
#include "tests/support/fake_programs.h"
#include "tests/support/silent_run.h"
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
    void runInLanesIsPlacedByItsProcess_data();
    void runInLanesIsPlacedByItsProcess();
    void runThatWaitedInVainSaysWhy();
    void runElsewhereWaitsWhileItGivesSigns();
    void runOfAnotherDiskIsWhereThatOneSays_data();
    void runOfAnotherDiskIsWhereThatOneSays();
    void runOfAnotherDiskThatIsNotReachedSaysSinceWhen();
    void runOfAnotherDiskAsksNoQueue();
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

const Job kLaneJob{"desk", "", "1764220000000", -1, Scheduler::Lanes};

/// `process`: -1 is this one, which lives; -2 a number that no process has.
RunFolder runInLanes(const std::filesystem::path& root, const char* state, int process,
                     const char* phase = "")
{
    constexpr int kNobody = 99'999'999;
    const RunFolder run = placedRun(root, state, kLaneJob);
    RunStatus status = readStatus(run);
    status.pid = process == -1 ? static_cast<int>(::getpid()) : process == -2 ? kNobody : process;
    if (process != 0) {
        status.host = currentHost();
        status.bootId = currentBootId();
        status.heartbeat = epochSeconds();
    }
    status.phase = phase;
    writeStatus(run, status);
    return run;
}

RunPlacement placeOf(const RunFolder& run)
{
    return askQueues({run}).runs.at(run.root);
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

void RunPlacementTest::runInLanesIsPlacedByItsProcess_data()
{
    QTest::addColumn<QByteArray>("state");
    QTest::addColumn<int>("process"); ///< 0 none yet, -1 alive, -2 gone
    QTest::addColumn<bool>("isOld");
    QTest::addColumn<QByteArray>("text"); ///< empty: nothing to say
    QTest::addColumn<int>("phase");
    const auto row = [](const char* state, int process, bool isOld, const char* text,
                        JobState::Phase phase) {
        QTest::addRow("%s, process %d%s", state, process, isOld ? ", long ago" : "")
            << QByteArray(state) << process << isOld << QByteArray(text) << static_cast<int>(phase);
    };
    using enum JobState::Phase;
    const std::string running = "Running on " + currentHost();
    row("Queued", 0, false, "Queued (2 runs before it)", Pending);
    row("Queued", -1, false, "Queued (2 runs before it)", Pending);
    row("Queued", -1, true, "Queued (2 runs before it)", Pending);
    row("Queued", 0, true, "Stopped (its process ended)", Ended);
    row("Queued", -2, false, "Stopped (its process ended)", Ended);
    row("Running", -1, false, running.c_str(), Running);
    row("Running", -2, false, "Lost", Ended);
    row("Stopped", -2, false, "", Unknown);
    row("Completed", -2, false, "", Unknown);
    row("Failed", -2, false, "", Unknown);
    row("Draft", 0, false, "", Unknown);
    row("Dreaming", -1, false, "", Unknown);
}

void RunPlacementTest::runInLanesIsPlacedByItsProcess()
{
    QFETCH(QByteArray, state);
    QFETCH(int, process);
    QFETCH(bool, isOld);
    QFETCH(QByteArray, text);
    QFETCH(int, phase);
    const Scratch runs;
    FakePrograms programs;
    programs.add("squeue");
    const RunFolder run = runInLanes(runs / "a", state, process, "2 runs before it");
    if (isOld) {
        silence(run, 100);
        age(jobFile(run), 100);
    }
    const QueueAnswers answers = askQueues({run});
    QVERIFY(programs.arguments("squeue").empty() && answers.problems.empty());
    const auto found = answers.runs.find(run.root);
    QCOMPARE(found == answers.runs.end(), text.isEmpty());
    if (text.isEmpty())
        return;
    const RunPlacement& place = found->second;
    QCOMPARE(place.text, text.toStdString());
    QCOMPARE(nameOf(place.state), place.text.substr(0, place.text.find(' ')));
    QCOMPARE(static_cast<int>(place.queue.phase), phase);
    QCOMPARE(place.problem.empty(), place.state != RunState::Stopped);
    QCOMPARE(place.job.slurmId(), kLaneJob.id);
}

void RunPlacementTest::runThatWaitedInVainSaysWhy()
{
    const Scratch runs;
    const RunFolder run = runInLanes(runs / "a", "Queued", -2);
    QCOMPARE(placeOf(run).problem, std::string("Its process ended before the run began."));
    const std::string long_(200'000, 'x');
    writeFileAtomic(workerLog(run), long_ + "\n[info] something\n"
                                            "vergence: Cannot write there: disk full.\n\n");
    QCOMPARE(placeOf(run).problem,
             std::string("Its process ended before the run began: Cannot write there: disk full."));
    RunStatus status = readStatus(run);
    status.step = 5;
    writeStatus(run, status);
    QVERIFY(placeOf(run).problem.starts_with("Its process ended before the run went on: Cannot"));
}

void RunPlacementTest::runElsewhereWaitsWhileItGivesSigns()
{
    const Scratch runs;
    const RunFolder waits = runInLanes(runs / "a", "Queued", 7, "it is next"),
                    works = runInLanes(runs / "b", "Running", 7);
    for (const RunFolder& run : {waits, works}) {
        RunStatus status = readStatus(run);
        status.host = "n1";
        status.bootId = "its boot";
        writeStatus(run, status);
    }
    QCOMPARE(placeOf(waits).text, std::string("Queued (it is next)"));
    QCOMPARE(placeOf(works).text, std::string("Running on n1"));
    silence(waits, 100);
    silence(works, 100);
    QCOMPARE(placeOf(waits).text, std::string("Stopped (its process ended)"));
    QCOMPARE(placeOf(works).text, std::string("Lost"));
}

void RunPlacementTest::runOfAnotherDiskIsWhereThatOneSays_data()
{
    QTest::addColumn<QByteArray>("said");
    QTest::addColumn<QByteArray>("saidText");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("phase");
    const auto row = [](const char* said, const char* saidText, const char* text,
                        JobState::Phase phase) {
        QTest::addRow("%s %s", said, saidText) << QByteArray(said) << QByteArray(saidText)
                                               << QByteArray(text) << static_cast<int>(phase);
    };
    using enum JobState::Phase;
    row("", "", "Starting", Running);
    row("Queued", "Queued (other jobs go first)", "Queued (other jobs go first)", Pending);
    row("Running", "Running on gpu07", "Running on gpu07", Running);
    row("Completed", "", "Completed", Ended);
    row("Failed", "Failed (exit code 3)", "Failed (exit code 3)", Ended);
    row("Dreaming", "of sheep", "Starting", Running);
}

void RunPlacementTest::runOfAnotherDiskIsWhereThatOneSays()
{
    QFETCH(QByteArray, said);
    QFETCH(QByteArray, saidText);
    QFETCH(QByteArray, text);
    QFETCH(int, phase);
    RunStatus status;
    status.state = "Starting";
    const RemoteRun remote{
        "desk", "me@n1", "/v", "/r/a", said.toStdString(), saidText.toStdString(), "why", 0};
    const RunPlacement place = placementThere(remote, status, {"there", "", "7", 1});
    QCOMPARE(place.text, text.toStdString());
    QCOMPARE(nameOf(place.state), place.text.substr(0, place.text.find(' ')));
    QCOMPARE(place.problem, std::string("why"));
    QCOMPARE(static_cast<int>(place.queue.phase), phase);
    QCOMPARE(place.job.target + " " + place.job.login + " " + place.job.slurmId(),
             std::string("desk me@n1 7_1"));
}

void RunPlacementTest::runOfAnotherDiskThatIsNotReachedSaysSinceWhen()
{
    RemoteRun remote{"desk", "me@n1", "/v", "/r/a", "Running", "Running on n1", "", 0};
    const QDateTime since(QDate(2026, 3, 2), QTime(9, 5));
    remote.unreachedSince = static_cast<double>(since.toSecsSinceEpoch());
    const RunPlacement place = placementThere(remote, {}, {});
    QCOMPARE(place.state, RunState::Running);
    QCOMPARE(place.text, std::string("Running on n1, not reached since 09:05"));
    QCOMPARE(place.queue.phase, JobState::Phase::Unknown);
}

void RunPlacementTest::runOfAnotherDiskAsksNoQueue()
{
    const Scratch runs;
    FakePrograms programs;
    programs.add("squeue");
    const RemoteRun remote{"desk", "me@n1", "/v", "/r/a", "Running", "Running on gpu07", "", 0};
    const RunFolder run = placedRun(runs / "a", "Queued", {"uni", "", "7", -1}),
                    withoutJob = placedRun(runs / "b", "Completed", {"uni", "", "7", -1}),
                    damaged = placedRun(runs / "c", "Queued", {"uni", "", "7", -1});
    writeRemoteRun(run, remote);
    writeRemoteRun(withoutJob, remote);
    std::filesystem::remove(jobFile(withoutJob));
    writeFileAtomic(remoteFile(damaged), "{");
    const QueueAnswers answers = askQueues({run, withoutJob, damaged});
    QCOMPARE(answers.runs.size(), std::size_t{2});
    QCOMPARE(answers.runs.at(run.root).text, std::string("Running on gpu07"));
    QCOMPARE(answers.runs.at(withoutJob.root).state, RunState::Running);
    QVERIFY(programs.arguments("squeue").empty());
}

VERGENCE_TEST(RunPlacementTest)
#include "tst_run_placement.moc"
