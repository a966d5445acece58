#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/cluster/slurm.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

class SlurmSubmitTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void runsKnowTheirJobs_data();
    void runsKnowTheirJobs();
    void singleRunHasNoTask();
    void resumedRunKeepsItsProgress();
    void statusOfAFastWorkerStays();
    void refusalIsASentence_data();
    void refusalIsASentence();
    void refusalNamesWhatTheClusterHas();
    void refusalOfAnExtraOptionNamesIt_data();
    void refusalOfAnExtraOptionNamesIt();
    void refusedRunsStayAsTheyWere();
    void clusterThatCannotBeAskedIsTold_data();
    void clusterThatCannotBeAskedIsTold();
    void jobWithoutANameIsTold();
    void jobThatCannotBeNotedIsTakenBack();
    void runThatCannotBeReadStopsTheSubmission();

private:
    RunFolder newRun(const std::string& name, const RunStatus& status);
    Submission submission(int count);
    void refuse(const std::string& words);

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_runs;
    Target m_target;
};

namespace {

RunStatus freshStatus()
{
    RunStatus status;
    status.state = "Queued";
    status.plugin = "heat";
    status.preset = "demo";
    return status;
}

RunStatus stoppedStatus()
{
    RunStatus status = freshStatus();
    status.state = "Stopped";
    status.step = 20;
    status.total = 50;
    status.pid = 17;
    status.bootId = "boot";
    status.host = "n7";
    status.job = "slurm 3";
    status.heartbeat = 1000;
    status.exitCode = 130;
    status.problem = "interrupted";
    status.socket = "socket";
    status.rings = {"ring"};
    return status;
}

} // namespace

void SlurmSubmitTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_runs = std::make_unique<Scratch>();
    m_target = {};
    m_target.name = "uni";
}

RunFolder SlurmSubmitTest::newRun(const std::string& name, const RunStatus& status)
{
    const RunFolder run = RunFolder::createAt(*m_runs / name);
    writeStatus(run, status);
    return run;
}

Submission SlurmSubmitTest::submission(int count)
{
    Submission submission{"heat", {}, {}, {}};
    for (int i = 0; i < count; ++i)
        submission.runs.push_back(newRun("run " + std::to_string(i), freshStatus()));
    return submission;
}

void SlurmSubmitTest::refuse(const std::string& words)
{
    m_programs->add("sbatch", "cat >/dev/null\necho " + shellWord(words) + " >&2\nexit 1");
}

void SlurmSubmitTest::runsKnowTheirJobs_data()
{
    QTest::addColumn<QByteArray>("login");
    QTest::addColumn<QByteArray>("answer");
    QTest::newRow("here") << QByteArray() << QByteArray("1234");
    QTest::newRow("of a federation") << QByteArray() << QByteArray("1234;uni");
    QTest::newRow("there") << QByteArray("me@n1") << QByteArray("1234");
    QTest::newRow("with a greeting")
        << QByteArray("me@n1") << QByteArray("Welcome, 5 users!\n1234");
}

void SlurmSubmitTest::runsKnowTheirJobs()
{
    QFETCH(QByteArray, login);
    QFETCH(QByteArray, answer);
    m_target.login = login.toStdString();
    m_programs->addSsh();
    m_programs->add("sbatch", "cat >\"$FAKES/script\"\necho '" + answer.toStdString() + "'");
    const Submission submission = this->submission(3);
    const auto jobs = submitToSlurm(m_target, submission, "/opt/vergence");

    QCOMPARE(m_programs->arguments("sbatch"), (std::vector<std::string>{"--parsable"}));
    const std::string script = slurmScript(m_target, submission, "/opt/vergence");
    QCOMPARE(m_programs->text("script"), script);
    QCOMPARE(jobs.size(), std::size_t{3});
    for (std::size_t i = 0; i < 3; ++i) {
        const RunFolder& run = submission.runs[i];
        QCOMPARE(jobs[i].slurmId(), "1234_" + std::to_string(i));
        const auto job = readJob(run);
        QVERIFY(job);
        QCOMPARE(job->slurmId(), jobs[i].slurmId());
        QCOMPARE(job->target, std::string("uni"));
        QCOMPARE(job->login, m_target.login);
        QCOMPARE(readFile(jobScript(run)), script);
        QCOMPARE(readStatus(run).state, std::string("Queued"));
    }
    QCOMPARE(m_programs->text("hosts"), login.isEmpty() ? std::string() : std::string("me@n1\n"));
}

void SlurmSubmitTest::singleRunHasNoTask()
{
    m_programs->add("sbatch", "cat >/dev/null\necho 7");
    const Submission submission = this->submission(1);
    QCOMPARE(submitToSlurm(m_target, submission, "v").front().slurmId(), std::string("7"));
    QCOMPARE(readJob(submission.runs[0])->slurmId(), std::string("7"));
}

void SlurmSubmitTest::resumedRunKeepsItsProgress()
{
    m_programs->add("sbatch", "cat >/dev/null\necho 7");
    const RunFolder run = newRun("stopped", stoppedStatus());
    writeJob(run, {"old", "", "3", -1});
    writeFileAtomic(jobScript(run), "old");
    submitToSlurm(m_target, {"heat", {run}, {}, {}}, "v");
    const RunStatus status = readStatus(run);
    QCOMPARE(status.state, std::string("Queued"));
    QCOMPARE(status.preset, std::string("demo"));
    QCOMPARE(status.step, std::int64_t{20});
    QCOMPARE(status.total, std::int64_t{50});
    QCOMPARE(status.rings, (std::vector<std::string>{"ring"}));
    QCOMPARE(status.pid, 0);
    QVERIFY(!status.exitCode && status.problem.empty() && status.host.empty() &&
            status.job.empty() && status.socket.empty());
    QCOMPARE(readJob(run)->slurmId(), std::string("7"));
    QVERIFY(readFile(jobScript(run)) != "old");
}

/// The job begins before sbatch has told its number.
void SlurmSubmitTest::statusOfAFastWorkerStays()
{
    const Submission submission = this->submission(2);
    RunStatus running = freshStatus();
    running.state = "Running";
    writeFileAtomic(m_programs->folder() / "running", running.toJson().dump());
    m_programs->add("sbatch", "cat >/dev/null\ncp \"$FAKES/running\" '" +
                                  submission.runs[1].status().string() + "'\necho 7");
    submitToSlurm(m_target, submission, "v");
    QCOMPARE(readStatus(submission.runs[0]).state, std::string("Queued"));
    QCOMPARE(readStatus(submission.runs[1]).state, std::string("Running"));
    QCOMPARE(readJob(submission.runs[1])->slurmId(), std::string("7_1"));
}

void SlurmSubmitTest::refusalIsASentence_data()
{
    QTest::addColumn<QByteArray>("said");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* name, const char* said, const char* sentence) {
        QTest::newRow(name) << QByteArray(said) << QByteArray(sentence);
    };
    row("partition",
        "sbatch: error: invalid partition specified: gpu\nsbatch: error: Batch job submission "
        "failed: Invalid partition name specified",
        "The cluster has no partition `gpu`. Correct `partition`.");
    row("account",
        "sbatch: error: Batch job submission failed: Invalid account or account/partition "
        "combination specified",
        "The account `lab` may not use the partition, or does not exist. Correct `account`; "
        "`sacctmgr show associations user=$USER` names yours.");
    row("quality of service",
        "sbatch: error: Batch job submission failed: Invalid qos specification",
        "The quality of service `high` is not open to you. Correct `qos`.");
    row("time",
        "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or "
        "exceeds some limit)",
        "The time 9-0 is longer than the partition allows. Set a shorter `time`; a run that needs "
        "longer goes back into the queue.");
    row("features", "sbatch: error: Batch job submission failed: Invalid feature specification",
        "No node has the features `fast`. Correct `constraint`.");
    row("GPUs",
        "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification",
        "The cluster has no `gpu:9`. Correct `gpus`.");
    row("nodes",
        "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        "No node of the partition has what the target asks for. Ask for fewer of `gpus`, `cores` "
        "and `memory`, or for another `partition`.");
    row("memory",
        "sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job "
        "submission failed: Requested node configuration is not available",
        "No node of the partition has what the target asks for.");
    row("group", "sbatch: error: User's group not permitted to use this partition",
        "The partition `gpu` is not open to you. Choose another `partition`.");
    row("cores",
        "sbatch: error: Batch job submission failed: More processors requested than permitted",
        "No node of the partition has so many cores. Correct `cores`.");
    row("default partition",
        "sbatch: error: Batch job submission failed: No partition specified or system default "
        "partition",
        "The cluster has no default partition. Set `partition`.");
    row("limit",
        "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job "
        "submit limit, user's size and/or time limits)",
        "You may not have so many jobs, or so much at a time, in this queue. Submit fewer runs, or "
        "later.");
    row("array", "sbatch: error: Batch job submission failed: Invalid job array specification",
        "The cluster takes fewer runs in one submission. Submit them in parts.");
    row("unknown option", "sbatch: unrecognized option --foo\nTry \"sbatch --help\"",
        "Slurm takes no such job: sbatch: unrecognized option --foo.");
    row("anything else", "sbatch: error: Batch job submission failed: Something new.",
        "Slurm takes no such job: Something new.");
    row("nothing", "", "Slurm takes no such job: exit code 1.");
}

void SlurmSubmitTest::refusalIsASentence()
{
    QFETCH(QByteArray, said);
    QFETCH(QByteArray, sentence);
    m_target.partition = "gpu";
    m_target.account = "lab";
    m_target.qos = "high";
    m_target.time = "9-0";
    m_target.constraint = "fast";
    m_target.gpus = "gpu:9";
    m_target.cores = 64;
    refuse(said.toStdString());
    m_programs->hideOthers({"sh", "cat"}); // sinfo and scontrol say nothing
    try {
        submitToSlurm(m_target, submission(1), "v");
        QFAIL("it was submitted");
    } catch (const Error& error) {
        QCOMPARE(error.exitCode(), ExitCode::ConfigInvalid);
        QVERIFY2(QByteArray(error.what()).contains(sentence), error.what());
        QVERIFY2(QByteArray(error.what()).startsWith("Slurm takes no such job"), error.what());
    }
}

void SlurmSubmitTest::refusalNamesWhatTheClusterHas()
{
    m_target.partition = "gpu";
    m_target.cores = 64;
    refuse("sbatch: error: invalid partition specified: gpu");
    m_programs->add("sinfo", "echo all; echo long");
    VERGENCE_THROWS(Error, "has no partition `gpu`. It has: all, long. Correct `partition`.",
                    submitToSlurm(m_target, submission(1), "v"));
    QCOMPARE(m_programs->arguments("sinfo"), (std::vector<std::string>{"-h", "-o", "%R"}));

    refuse("sbatch: error: Batch job submission failed: More processors requested than permitted");
    m_programs->add("sinfo",
                    "printf 'all*|1|idle|256|infinite\\ngpu|2|idle|32|infinite\\ngpu|1|mixed|"
                    "48|infinite\\n'");
    m_runs = std::make_unique<Scratch>();
    VERGENCE_THROWS(Error, "has so many cores (the largest has 48). Correct `cores`.",
                    submitToSlurm(m_target, submission(1), "v"));

    refuse("sbatch: error: Batch job submission failed: Invalid job array specification");
    m_programs->add("scontrol", "echo 'MaxArraySize            = 1001'; echo 'MaxX = 3'");
    m_runs = std::make_unique<Scratch>();
    VERGENCE_THROWS(Error, "fewer runs in one submission (MaxArraySize is 1001).",
                    submitToSlurm(m_target, submission(2), "v"));
}

void SlurmSubmitTest::refusalOfAnExtraOptionNamesIt_data()
{
    QTest::addColumn<QByteArray>("option");
    QTest::addColumn<QByteArray>("said");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* option, const char* said, const char* sentence) {
        QTest::addRow("%s, %s", option, said)
            << QByteArray(option) << QByteArray(said) << QByteArray(sentence);
    };
    row("--gpus=1", "Invalid generic resource (gres) specification",
        "The cluster has no such GPUs. Correct `--gpus=1` in `extra`.");
    row("--partition=gpu", "Invalid partition name specified",
        "The cluster has no partition `gpu`. Correct `--partition=gpu` in `extra`.");
    row("--time=9-0", "Requested time limit is invalid (missing or exceeds some limit)",
        "The time 9-0 is longer than the partition allows. Set a shorter `--time=9-0` in `extra`;");
    row("--cpus=64", "More processors requested than permitted",
        "has so many cores. Correct `--cpus=64` in `extra`.");
    row("--constr=fast", "Invalid feature specification",
        "No node has the features `fast`. Correct `--constr=fast` in `extra`.");
    row("--exclusive", "Invalid partition name specified",
        "The cluster has no partition that the job asks for. Correct `partition` or `extra`.");
    row("--exclusive", "Invalid generic resource (gres) specification",
        "The cluster has no such GPUs. Correct `gpus` or `extra`.");
}

void SlurmSubmitTest::refusalOfAnExtraOptionNamesIt()
{
    QFETCH(QByteArray, option);
    QFETCH(QByteArray, said);
    QFETCH(QByteArray, sentence);
    m_target.extra = {"--mail-type=END", option.toStdString()};
    refuse("sbatch: error: Batch job submission failed: " + said.toStdString());
    m_programs->hideOthers({"sh", "cat"}); // sinfo says nothing
    VERGENCE_THROWS(Error, sentence, submitToSlurm(m_target, submission(1), "v"));
}

void SlurmSubmitTest::refusedRunsStayAsTheyWere()
{
    const RunFolder run = newRun("stopped", stoppedStatus());
    const std::string before = readFile(run.status());
    writeJob(run, {"old", "", "3", -1});
    refuse("sbatch: error: no");
    VERGENCE_THROWS(Error, "Slurm takes no such job: no.",
                    submitToSlurm(m_target, {"heat", {run}, {}, {}}, "v"));
    QCOMPARE(readFile(run.status()), before);
    QCOMPARE(readJob(run)->slurmId(), std::string("3"));
    QVERIFY(!std::filesystem::exists(jobScript(run)));
}

void SlurmSubmitTest::clusterThatCannotBeAskedIsTold_data()
{
    QTest::addColumn<QByteArray>("login");
    QTest::addColumn<QByteArray>("program"); ///< empty: there is none
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("no Slurm here")
        << QByteArray() << QByteArray()
        << QByteArray("Slurm's commands are not on this computer (sbatch was not found); set "
                      "`login` to one that has them.");
    QTest::newRow("no Slurm there")
        << QByteArray("n1") << QByteArray()
        << QByteArray("Slurm's commands are not on n1 (sbatch was not found); set `login` to a "
                      "computer that has them, or add their folder to PATH in ~/.bashrc there.");
    QTest::newRow("controller")
        << QByteArray()
        << QByteArray("echo 'sbatch: error: Batch job submission failed: Unable to contact slurm "
                      "controller (connect failure)' >&2; exit 1")
        << QByteArray("Slurm's controller does not answer (Unable to contact slurm controller "
                      "(connect failure)). Try again later, or ask the administrators of the "
                      "cluster.");
    QTest::newRow("ssh") << QByteArray("n1")
                         << QByteArray("echo 'n1: Permission denied (publickey).' >&2; exit 255")
                         << QByteArray("n1 lets nobody in without a password.");
}

void SlurmSubmitTest::clusterThatCannotBeAskedIsTold()
{
    QFETCH(QByteArray, login);
    QFETCH(QByteArray, program);
    QFETCH(QByteArray, sentence);
    m_target.login = login.toStdString();
    m_programs->addSsh();
    if (!program.isEmpty())
        m_programs->add(login.isEmpty() ? "sbatch" : "ssh", program.toStdString());
    m_programs->hideOthers({"sh"});
    try {
        submitToSlurm(m_target, submission(1), "v");
        QFAIL("it was submitted");
    } catch (const InputError& error) {
        QCOMPARE(error.exitCode(), ExitCode::InputUnreadable);
        QVERIFY2(QByteArray(error.what()).startsWith(sentence), error.what());
    }
}

void SlurmSubmitTest::jobWithoutANameIsTold()
{
    m_programs->add("sbatch", "cat >/dev/null\necho hello");
    VERGENCE_THROWS(InputError, "sbatch did not name the job",
                    submitToSlurm(m_target, submission(1), "v"));
}

void SlurmSubmitTest::jobThatCannotBeNotedIsTakenBack()
{
    m_programs->add("sbatch", "cat >/dev/null\necho 7");
    m_programs->add("scancel");
    const RunFolder run = newRun("stopped", stoppedStatus());
    const std::string before = readFile(run.status());
    std::filesystem::create_directories(jobFile(run) / "in the way");
    VERGENCE_THROWS(OutputError, "job.json", submitToSlurm(m_target, {"heat", {run}, {}, {}}, "v"));
    QCOMPARE(m_programs->arguments("scancel"), (std::vector<std::string>{"7"}));
    QCOMPARE(readFile(run.status()), before);
}

void SlurmSubmitTest::runThatCannotBeReadStopsTheSubmission()
{
    m_programs->add("sbatch");
    Submission submission{"heat", {newRun("stopped", stoppedStatus())}, {}, {}};
    submission.runs.push_back(newRun("broken", freshStatus()));
    writeFileAtomic(submission.runs[1].status(), "{");
    const std::string before = readFile(submission.runs[0].status());
    VERGENCE_THROWS(InputError, "not valid JSON", submitToSlurm(m_target, submission, "v"));
    QCOMPARE(readFile(submission.runs[0].status()), before);
    QVERIFY(m_programs->arguments("sbatch").empty());
}

VERGENCE_TEST(SlurmSubmitTest)
#include "tst_slurm_submit.moc"
