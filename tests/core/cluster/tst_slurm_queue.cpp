#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/cluster/slurm.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

using Phase = JobState::Phase;

class SlurmQueueTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_programs = std::make_unique<FakePrograms>(); }
    void cleanup() { m_programs.reset(); }

    void queueIsReadAtOnce();
    void queueIsThatOfTheUserThere();
    void queueThatDoesNotAnswerIsTold_data();
    void queueThatDoesNotAnswerIsTold();
    void statesHaveAPhase_data();
    void statesHaveAPhase();
    void reasonsAreWords_data();
    void reasonsAreWords();
    void heldJobNamesItsRelease();
    void endIsThatOfTheController_data();
    void endIsThatOfTheController();
    void endIsThatOfTheAccounts();
    void endOfAForgottenJobIsUnknown();
    void endIsUnknownWithoutAnAnswer();
    void arrayIsAskedForOnce();
    void jobsAreCancelledTogether();
    void refusedCancellationIsTold();
    void signalGoesToTheScript();

private:
    void print(const std::string& program, const std::string& text)
    {
        m_programs->add(program, "printf %s " + shellWord(text));
    }

    std::unique_ptr<FakePrograms> m_programs;
};

void SlurmQueueTest::queueIsReadAtOnce()
{
    print("squeue", "12_3|PENDING||Priority\n"
                    "12_0|RUNNING|n1|None\n"
                    "7|RUNNING|n[1-2]|None\n"
                    "8|PENDING||Resources|and a bar\n"
                    "9|CONFIGURING|n3|None\n"
                    "10|COMPLETING|n3|None\n"
                    "11|SUSPENDED|n3|None\n");
    const auto jobs = queuedJobs({});
    QCOMPARE(jobs.size(), std::size_t{7});
    QCOMPARE(jobs.at("12_3").phase, Phase::Pending);
    QCOMPARE(jobs.at("12_3").slurmState, std::string("PENDING"));
    QCOMPARE(jobs.at("12_3").reason, std::string("other jobs go first"));
    QCOMPARE(jobs.at("12_0").phase, Phase::Running);
    QCOMPARE(jobs.at("12_0").node, std::string("n1"));
    QCOMPARE(jobs.at("12_0").reason, std::string());
    QCOMPARE(jobs.at("7").node, std::string("n[1-2]"));
    QCOMPARE(jobs.at("8").reason, std::string("it waits for free nodes"));
    QCOMPARE(jobs.at("9").reason, std::string("its nodes start"));
    QCOMPARE(jobs.at("10").phase, Phase::Running);
    QCOMPARE(jobs.at("11").reason, std::string("suspended"));
}

void SlurmQueueTest::queueIsThatOfTheUserThere()
{
    m_programs->addSsh();
    m_programs->add("id", "[ \"$1\" = -un ] && echo 'me there'");
    print("squeue", "Welcome to n1!\n7|RUNNING|n1|None\n");
    const auto jobs = queuedJobs("me@n1");
    QCOMPARE(jobs.size(), std::size_t{1});
    QVERIFY(jobs.contains("7"));
    QCOMPARE(m_programs->arguments("squeue"),
             (std::vector<std::string>{"-h", "-r", "-o", "%i|%T|%N|%r", "-u", "me there"}));
    QCOMPARE(m_programs->text("hosts"), std::string("me@n1\n"));
    print("squeue", "");
    QVERIFY(queuedJobs({}).empty());
}

void SlurmQueueTest::queueThatDoesNotAnswerIsTold_data()
{
    QTest::addColumn<QByteArray>("login");
    QTest::addColumn<QByteArray>("squeue");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("missing") << QByteArray() << QByteArray()
                             << QByteArray("Slurm's commands are not on this computer (squeue was "
                                           "not found)");
    QTest::newRow("missing there")
        << QByteArray("n1") << QByteArray() << QByteArray("Slurm's commands are not on n1 (squeue");
    QTest::newRow("controller")
        << QByteArray()
        << QByteArray("echo 'slurm_load_jobs error: Unable to contact slurm controller (connect "
                      "failure)' >&2; exit 1")
        << QByteArray("Slurm's controller does not answer (Unable to contact slurm controller "
                      "(connect failure)).");
    QTest::newRow("other") << QByteArray("n1")
                           << QByteArray("echo 'squeue: error: Invalid user: me' >&2; exit 1")
                           << QByteArray("squeue of n1 failed: Invalid user: me.");
}

void SlurmQueueTest::queueThatDoesNotAnswerIsTold()
{
    QFETCH(QByteArray, login);
    QFETCH(QByteArray, squeue);
    QFETCH(QByteArray, sentence);
    m_programs->addSsh();
    if (!squeue.isEmpty())
        m_programs->add("squeue", squeue.toStdString());
    m_programs->hideOthers({"sh", "id"});
    VERGENCE_THROWS(InputError, sentence, queuedJobs(login.toStdString()));
}

void SlurmQueueTest::statesHaveAPhase_data()
{
    QTest::addColumn<QByteArray>("state");
    QTest::addColumn<int>("phase");
    const auto rows = [](Phase phase, const std::vector<const char*>& states) {
        for (const char* state : states)
            QTest::newRow(state) << QByteArray(state) << static_cast<int>(phase);
    };
    rows(Phase::Pending, {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                          "RESV_DEL_HOLD", "SPECIAL_EXIT"});
    rows(Phase::Running,
         {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"});
    rows(Phase::Ended,
         {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL",
          "DEADLINE", "OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL"});
    rows(Phase::Unknown, {"OF_A_LATER_VERSION"});
}

void SlurmQueueTest::statesHaveAPhase()
{
    QFETCH(QByteArray, state);
    QFETCH(int, phase);
    print("squeue", "7|" + state.toStdString() + "|n1|None\n");
    const JobState job = queuedJobs({}).at("7");
    QCOMPARE(static_cast<int>(job.phase), phase);
    QCOMPARE(job.slurmState, state.toStdString());
}

void SlurmQueueTest::reasonsAreWords_data()
{
    QTest::addColumn<QByteArray>("reason");
    QTest::addColumn<QByteArray>("words");
    const auto row = [](const char* reason, const char* words) {
        QTest::newRow(reason) << QByteArray(reason) << QByteArray(words);
    };
    row("None", "");
    row("(null)", "");
    row("Priority", "other jobs go first");
    row("Resources", "it waits for free nodes");
    row("BeginTime", "it waits for its time to begin");
    row("Dependency", "it waits for another job");
    row("DependencyNeverSatisfied", "a job that it waits for has failed");
    row("JobArrayTaskLimit", "others of this submission go first");
    row("JobHeldUser", "held; `scontrol release 7_1` lets it go on");
    row("launch failed requeued held",
        "held, because it could not be started; `scontrol release 7_1` lets it go on");
    row("launch_failed_requeued_held",
        "held, because it could not be started; `scontrol release 7_1` lets it go on");
    row("QOSMaxJobsPerUserLimit", "your jobs use all that they may at a time");
    row("QOSGrpGRES", "its quality of service is used up at present");
    row("AssocGrpCpuLimit", "the account uses all that it may at a time");
    row("QOSMaxWallDurationPerJobLimit",
        "it asks for more than one job of yours may have; cancel it and ask for less of `time`, "
        "`cores`, `memory` and `gpus`");
    row("AssocMaxCpuPerNode",
        "it asks for more than one job of yours may have; cancel it and ask for less of `time`, "
        "`cores`, `memory` and `gpus`");
    row("QOSMaxCpuPerUserLimit", "your jobs use all that they may at a time");
    row("QOSNotAllowed",
        "the partition does not take its quality of service; cancel it and set another `qos`");
    row("AccountNotAllowed", "the partition does not take its account; cancel it and set another "
                             "`account` or `partition`");
    row("PartitionConfig",
        "the partition does not allow what it asks for; cancel it and ask for less of `time`, "
        "`cores` and `memory`, or set another `partition`");
    row("PartitionDown", "the partition is down; wait, or cancel it and set another `partition`");
    row("PartitionInactive",
        "the partition starts no jobs; wait, or cancel it and set another `partition`");
    row("PartitionNodeLimit", "it asks for more nodes than the partition allows; cancel it and "
                              "correct `extra`, or set another `partition`");
    row("PartitionTimeLimit",
        "it asks for more time than the partition allows; cancel it and set a shorter `time`");
    row("ReqNodeNotAvail, UnavailableNodes:n1", "nodes that it needs are not available");
    row("ReqNodeNotAvail, May be reserved for other job", "nodes that it needs are not available");
    row("SomethingNew", "SomethingNew");
}

void SlurmQueueTest::reasonsAreWords()
{
    QFETCH(QByteArray, reason);
    QFETCH(QByteArray, words);
    QCOMPARE(pendingReasonText(reason.toStdString(), "7_1"), words.toStdString());
}

void SlurmQueueTest::heldJobNamesItsRelease()
{
    print("squeue", "7_1|PENDING||launch failed requeued held\n8|REQUEUE_HOLD||None\n");
    const auto jobs = queuedJobs({});
    QCOMPARE(jobs.at("7_1").reason,
             std::string("held, because it could not be started; `scontrol release 7_1` lets it go "
                         "on"));
    QCOMPARE(jobs.at("8").reason, std::string("held; `scontrol release 8` lets it go on"));
}

void SlurmQueueTest::endIsThatOfTheController_data()
{
    QTest::addColumn<QByteArray>("state");
    QTest::addColumn<QByteArray>("exit");
    QTest::addColumn<QByteArray>("words");
    QTest::addColumn<int>("code");
    const auto row = [](const char* name, const char* state, const char* exit, const char* words,
                        int code) {
        QTest::newRow(name) << QByteArray(state) << QByteArray(exit) << QByteArray(words) << code;
    };
    row("cancelled", "CANCELLED", "0:15", "cancelled", 0);
    row("node", "NODE_FAIL", "1:0", "its node failed", 1);
    row("time", "TIMEOUT", "0:0", "its time was up", 0);
    row("memory", "OUT_OF_MEMORY", "0:125", "out of memory; raise `memory` of the target", 0);
    row("failed", "FAILED", "3:0", "exit code 3", 3);
    row("killed", "FAILED", "0:9", "ended by signal 9", 0);
    row("folder", "FAILED", "6:0", "exit code 6; its node may not see the runs folder", 6);
    row("program", "FAILED", "127:0", "exit code 127; `vergence` cannot be started on its node",
        127);
    row("preempted", "PREEMPTED", "0:0", "another job took its place", 0);
}

void SlurmQueueTest::endIsThatOfTheController()
{
    QFETCH(QByteArray, state);
    QFETCH(QByteArray, exit);
    QFETCH(QByteArray, words);
    QFETCH(int, code);
    print("scontrol", "JobId=7 JobName=vergence-heat UserId=me(1) Account=(null) JobState=" +
                          state.toStdString() +
                          " Reason=None Dependency=(null) ExitCode=" + exit.toStdString() +
                          " NodeList=n2 Comment=a JobState=PENDING Command=/x y=z\n");
    const JobState job = endedJob({}, {"uni", "", "7", -1});
    QCOMPARE(job.phase, Phase::Ended);
    QCOMPARE(job.slurmState, state.toStdString());
    QCOMPARE(job.reason, words.toStdString());
    QCOMPARE(job.exitCode, code);
    QCOMPARE(job.node, std::string("n2"));
    QCOMPARE(m_programs->arguments("scontrol"),
             (std::vector<std::string>{"-o", "show", "job", "7"}));
}

void SlurmQueueTest::endIsThatOfTheAccounts()
{
    m_programs->add("scontrol",
                    "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    print("sacct", "7_0|CANCELLED by 1000|0:0|None assigned\n7_1|FAILED|2:0|n1\n");
    const auto jobs = endedJobs({}, {{"uni", "", "7", 0}, {"uni", "", "7", 1}});
    QCOMPARE(jobs.at("7_0").slurmState, std::string("CANCELLED"));
    QCOMPARE(jobs.at("7_0").reason, std::string("cancelled"));
    QCOMPARE(jobs.at("7_0").node, std::string());
    QCOMPARE(jobs.at("7_1").reason, std::string("exit code 2"));
    QCOMPARE(jobs.at("7_1").node, std::string("n1"));
    QCOMPARE(m_programs->arguments("sacct"),
             (std::vector<std::string>{"-n", "-X", "-P", "-o", "JobID,State,ExitCode,NodeList",
                                       "-j", "7"}));
}

void SlurmQueueTest::endOfAForgottenJobIsUnknown()
{
    m_programs->add("scontrol",
                    "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    m_programs->add("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    const JobState job = endedJob({}, {"uni", "", "7", 2});
    QCOMPARE(job.phase, Phase::Ended);
    QCOMPARE(job.slurmState, std::string());
    QCOMPARE(job.reason, std::string("Slurm does not know it any more"));
}

void SlurmQueueTest::endIsUnknownWithoutAnAnswer()
{
    m_programs->add("scontrol", "echo 'slurm_load_jobs error: Unable to contact slurm controller "
                                "(connect failure)' >&2; exit 1");
    const JobState job = endedJob({}, {"uni", "", "7", -1});
    QCOMPARE(job.phase, Phase::Unknown);
    QCOMPARE(job.reason, std::string());
}

void SlurmQueueTest::arrayIsAskedForOnce()
{
    print("scontrol", "JobId=7 ArrayJobId=7 ArrayTaskId=1 JobState=FAILED ExitCode=1:0\n"
                      "JobId=8 ArrayJobId=7 ArrayTaskId=0 JobState=COMPLETED ExitCode=0:0\n"
                      "JobId=9 ArrayJobId=7 ArrayTaskId=2-5%2 JobState=PENDING ExitCode=0:0\n");
    print("sacct", "");
    const auto jobs =
        endedJobs({}, {{"uni", "", "7", 0}, {"uni", "", "7", 1}, {"uni", "", "7", 9}});
    QCOMPARE(m_programs->arguments("scontrol").size(), std::size_t{4});
    QCOMPARE(jobs.at("7_0").slurmState, std::string("COMPLETED"));
    QCOMPARE(jobs.at("7_1").slurmState, std::string("FAILED"));
    QCOMPARE(jobs.at("7_9").phase, Phase::Ended);
}

void SlurmQueueTest::jobsAreCancelledTogether()
{
    m_programs->add("scancel", "echo >>\"$FAKES/calls\"");
    cancelJobs({}, {{"uni", "", "7", -1}, {"uni", "", "8", 3}});
    QCOMPARE(m_programs->arguments("scancel"), (std::vector<std::string>{"7", "8_3"}));
    cancelJobs({}, {});
    QCOMPARE(m_programs->text("calls"), std::string("\n"));
    std::vector<Job> many;
    for (int i = 0; i < 1001; ++i)
        many.push_back({"uni", "", "9", i});
    cancelJobs({}, many);
    QCOMPARE(m_programs->text("calls"), std::string("\n\n\n\n"));
    QCOMPARE(m_programs->arguments("scancel").size(), std::size_t{1003});
    QCOMPARE(m_programs->arguments("scancel").back(), std::string("9_1000"));
}

void SlurmQueueTest::refusedCancellationIsTold()
{
    m_programs->add("scancel",
                    "echo 'scancel: error: Kill job error on job id 7: Access/permission "
                    "denied' >&2; exit 228");
    VERGENCE_THROWS(InputError,
                    "Slurm refuses to cancel or signal: Kill job error on job id 7: "
                    "Access/permission denied.",
                    cancelJobs({}, {{"uni", "", "7", -1}}));
}

void SlurmQueueTest::signalGoesToTheScript()
{
    m_programs->add("scancel");
    signalJob({}, {"uni", "", "7", 1}, "USR2");
    QCOMPARE(m_programs->arguments("scancel"),
             (std::vector<std::string>{"--batch", "--signal=USR2", "7_1"}));
}

VERGENCE_TEST(SlurmQueueTest)
#include "tst_slurm_queue.moc"
