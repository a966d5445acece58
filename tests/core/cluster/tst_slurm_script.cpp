#include <csignal>

#include <QProcess>

#include "core/base/error.h"
#include "core/cluster/slurm.h"
#include "core/run/worker_log.h"
#include "tests/support/fake_programs.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

/// What sbatch reads of the script, and what bash makes of it.
class SlurmScriptTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_programs = std::make_unique<FakePrograms>();
        m_runs = std::make_unique<Scratch>();
        m_target = {};
    }
    void cleanup() { m_programs.reset(); }

    void optionsStandInFront();
    void emptySettingsAreNoOptions();
    void valuesAreQuotedForSbatch_data();
    void valuesAreQuotedForSbatch();
    void newlineInAnOptionIsABug();
    void workerHasItsWordsByteForByte_data();
    void workerHasItsWordsByteForByte();
    void taskTakesItsRun();
    void singleRunIsOfNoOtherArray();
    void relativePathsBeginWhereTheyDidBefore();
    void missingFolderEndsTheJob();
    void jobEndsAsItsWorker_data();
    void jobEndsAsItsWorker();
    void signalReachesTheWorker_data();
    void signalReachesTheWorker();
    void earlyTimeSignalQueuesAgain();
    void checkpointSignalBeforeTheWorkerListensIsNoEnd();
    void silentControllerIsAskedAgain();
    void silentControllerIsNotAskedForEver();
    void jobCancelledMeanwhileAsksNoMore();

private:
    /// The script in bash, as a job of Slurm finds itself.
    std::unique_ptr<QProcess> start(const Submission& submission, const char* task = nullptr);
    /// A run whose time is up, while scontrol does `body`; the script does not wait in between.
    std::unique_ptr<QProcess> startRequeue(const std::string& body);
    RunFolder newRun(const std::string& name);
    /// Whether that file has come to be.
    bool has(const char* file) { return !m_programs->text(file).empty(); }
    std::string worker() const { return (m_programs->folder() / "worker").string(); }

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_runs;
    Target m_target;
};

namespace {

Submission submissionOf(std::vector<RunFolder> runs)
{
    return {"heat", std::move(runs), {}, {}};
}

} // namespace

RunFolder SlurmScriptTest::newRun(const std::string& name)
{
    const RunFolder run{*m_runs / name};
    std::filesystem::create_directories(run.root);
    return run;
}

std::unique_ptr<QProcess> SlurmScriptTest::start(const Submission& submission, const char* task)
{
    auto process = std::make_unique<QProcess>();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("SLURM_JOB_ID", "42");
    if (task) {
        environment.insert("SLURM_ARRAY_JOB_ID", "40");
        environment.insert("SLURM_ARRAY_TASK_ID", task);
    }
    process->setProcessEnvironment(environment);
    writeFileAtomic(*m_runs / "job.sh", slurmScript(m_target, submission, worker()));
    process->start("bash", {QString::fromStdString(*m_runs / "job.sh")});
    return process;
}

void SlurmScriptTest::optionsStandInFront()
{
    Target target;
    target.partition = "gpu";
    target.account = "lab";
    target.qos = "normal";
    target.constraint = "a100|h100";
    target.time = "4:00:00";
    target.memory = "16G";
    target.gpus = "gpu:a100:1";
    target.cores = 8;
    target.atOnce = 2;
    target.grace = 90;
    target.extra = {"--exclusive", "--mail-type=END"};
    const std::string script =
        slurmScript(target, submissionOf({RunFolder{"/a"}, RunFolder{"/b"}, RunFolder{"/c"}}), "v");
    const std::string options = script.substr(0, script.find("\n\n"));
    QCOMPARE(options, std::string("#!/bin/bash\n"
                                  "#SBATCH --job-name=vergence-heat\n"
                                  "#SBATCH --array=0-2%2\n"
                                  "#SBATCH --partition=gpu\n"
                                  "#SBATCH --account=lab\n"
                                  "#SBATCH --qos=normal\n"
                                  "#SBATCH --constraint=\"a100|h100\"\n"
                                  "#SBATCH --time=4:00:00\n"
                                  "#SBATCH --gres=gpu:a100:1\n"
                                  "#SBATCH --cpus-per-task=8\n"
                                  "#SBATCH --mem=16G\n"
                                  "#SBATCH --signal=B:USR1@90\n"
                                  "#SBATCH --requeue\n"
                                  "#SBATCH --open-mode=append\n"
                                  "#SBATCH --output=/dev/null\n"
                                  "#SBATCH --exclusive\n"
                                  "#SBATCH --mail-type=END"));
}

void SlurmScriptTest::emptySettingsAreNoOptions()
{
    const std::string script = slurmScript({}, submissionOf({RunFolder{"/a"}}), "v");
    for (const char* option : {"--array", "--partition", "--account", "--qos", "--constraint",
                               "--time", "--gres", "--cpus", "--mem"})
        QVERIFY2(script.find(option) == std::string::npos, option);
    const std::string two = slurmScript({}, submissionOf({RunFolder{"/a"}, RunFolder{"/b"}}), "v");
    QVERIFY(two.find("#SBATCH --array=0-1\n") != std::string::npos);
}

void SlurmScriptTest::valuesAreQuotedForSbatch_data()
{
    QTest::addColumn<QByteArray>("option");
    QTest::addColumn<QByteArray>("line");
    const auto row = [](const char* option, const char* line) {
        QTest::newRow(option) << QByteArray(option) << QByteArray(line);
    };
    row("--comment=a b", "--comment=\"a b\"");
    row("--comment=a \"b\"", "--comment=\"a \\\"b\\\"\"");
    row("--comment=back\\slash", "--comment=\"back\\\\slash\"");
    row("--comment=#5", "--comment=\"#5\"");
    row("--comment=it's", "--comment=\"it's\"");
    row("--comment=a=b", "--comment=a=b");
    row("--nodelist=n[1-2]", "--nodelist=\"n[1-2]\"");
}

void SlurmScriptTest::valuesAreQuotedForSbatch()
{
    QFETCH(QByteArray, option);
    QFETCH(QByteArray, line);
    Target target;
    target.extra = {option.toStdString()};
    const std::string script = slurmScript(target, submissionOf({RunFolder{"/a"}}), "v");
    QVERIFY2(script.find("\n#SBATCH " + line.toStdString() + "\n") != std::string::npos,
             script.c_str());
}

void SlurmScriptTest::newlineInAnOptionIsABug()
{
    Target target;
    target.partition = "a\n#SBATCH --wrap=x";
    VERGENCE_THROWS(ContractError, "options are one line",
                    slurmScript(target, submissionOf({RunFolder{"/a"}}), "v"));
}

void SlurmScriptTest::workerHasItsWordsByteForByte_data()
{
    QTest::addColumn<QByteArray>("name");
    for (const char* name :
         {"plain", "two words", "it's \"quoted\"", "$(touch trace)", "`touch trace`",
          "line\nline\n#SBATCH --wrap=x", "back\\slash\\", "-n", "*?[a]", "é ☃", "~", "a;b&c"})
        QTest::newRow(name) << QByteArray(name);
}

void SlurmScriptTest::workerHasItsWordsByteForByte()
{
    QFETCH(QByteArray, name);
    const std::string text = name.toStdString();
    m_programs->add("worker", "echo said; echo complained >&2");
    Submission submission = submissionOf({newRun(text)});
    submission.arguments = {"--set", "title=" + text};
    const auto process = start(submission);
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 0);
    QCOMPARE(process->readAllStandardError(), QByteArray());
    const std::string folder = submission.runs[0].root.string();
    QCOMPARE(
        m_programs->arguments("worker"),
        (std::vector<std::string>{"run", folder, "--resume", "--wait", "--set", "title=" + text}));
    QCOMPARE(readFile(workerLog(submission.runs[0])), std::string("said\ncomplained\n"));
    QVERIFY(!std::filesystem::exists("trace"));

    QProcess check;
    check.start("bash", {"-n", QString::fromStdString(*m_runs / "job.sh")});
    QVERIFY(check.waitForFinished(kGuardMilliseconds));
    QCOMPARE(check.exitCode(), 0);
}

void SlurmScriptTest::taskTakesItsRun()
{
    m_programs->add("worker");
    const Submission submission = submissionOf({newRun("a"), newRun("b"), newRun("c")});
    QVERIFY(start(submission, "1")->waitForFinished(kGuardMilliseconds));
    QCOMPARE(m_programs->arguments("worker")[1], submission.runs[1].root.string());
    QVERIFY(std::filesystem::exists(workerLog(submission.runs[1])));
    QVERIFY(!std::filesystem::exists(workerLog(submission.runs[0])));
}

/// sbatch hands the environment of its caller on, which may itself be a task of an array.
void SlurmScriptTest::singleRunIsOfNoOtherArray()
{
    m_programs->add("worker", "echo \"task $SLURM_ARRAY_TASK_ID\"; exit 124");
    m_programs->add("scontrol");
    const Submission submission = submissionOf({newRun("a")});
    QVERIFY(start(submission, "5")->waitForFinished(kGuardMilliseconds));
    QCOMPARE(readFile(workerLog(submission.runs[0])), std::string("task \n"));
    QCOMPARE(m_programs->arguments("scontrol"), (std::vector<std::string>{"requeue", "42"}));
}

void SlurmScriptTest::relativePathsBeginWhereTheyDidBefore()
{
    m_programs->add("worker", "pwd");
    Submission submission = submissionOf({newRun("a")});
    submission.workingFolder = *m_runs / "it's $(here)";
    std::filesystem::create_directories(submission.workingFolder);
    QVERIFY(start(submission)->waitForFinished(kGuardMilliseconds));
    QCOMPARE(readFile(workerLog(submission.runs[0])), submission.workingFolder.string() + "\n");
}

void SlurmScriptTest::missingFolderEndsTheJob()
{
    m_programs->add("worker");
    const auto process = start(submissionOf({RunFolder{*m_runs / "nowhere"}}));
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 6);
    QVERIFY(m_programs->arguments("worker").empty());
}

void SlurmScriptTest::jobEndsAsItsWorker_data()
{
    QTest::addColumn<QByteArray>("end");
    QTest::addColumn<int>("code");
    QTest::addColumn<bool>("queuesAgain");
    QTest::newRow("success") << QByteArray("exit 0") << 0 << false;
    QTest::newRow("failure") << QByteArray("exit 5") << 5 << false;
    QTest::newRow("crash") << QByteArray("kill -SEGV $$") << 139 << false;
    QTest::newRow("time limit") << QByteArray("exit 124") << 124 << true;
    QTest::newRow("missing program") << QByteArray() << 127 << false;
}

void SlurmScriptTest::jobEndsAsItsWorker()
{
    QFETCH(QByteArray, end);
    QFETCH(int, code);
    QFETCH(bool, queuesAgain);
    if (!end.isEmpty())
        m_programs->add("worker", end.toStdString());
    m_programs->add("scontrol");
    const auto process = start(submissionOf({newRun("a"), newRun("b")}), "1");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), code);
    QCOMPARE(m_programs->arguments("scontrol"), queuesAgain
                                                    ? (std::vector<std::string>{"requeue", "40_1"})
                                                    : std::vector<std::string>());
}

void SlurmScriptTest::signalReachesTheWorker_data()
{
    QTest::addColumn<int>("signal");
    QTest::addColumn<QByteArray>("heard");
    QTest::addColumn<int>("code"); ///< of the worker, and of the job
    QTest::addColumn<bool>("queuesAgain");
    QTest::newRow("time is nearly up") << SIGUSR1 << QByteArray("USR1") << 124 << true;
    QTest::newRow("checkpoint") << SIGUSR2 << QByteArray("USR2") << 0 << false;
    QTest::newRow("cancelled") << SIGTERM << QByteArray("HUP") << 0 << false;
    QTest::newRow("interrupted") << SIGINT << QByteArray("HUP") << 0 << false;
    // A job that is cancelled while it saves because its time is up does not come back.
    QTest::newRow("cancelled in the end") << SIGTERM << QByteArray("HUP") << 124 << false;
}

/// The worker goes on after the signal until the test lets it end: the job does not end before.
void SlurmScriptTest::signalReachesTheWorker()
{
    QFETCH(int, signal);
    QFETCH(QByteArray, heard);
    QFETCH(int, code);
    QFETCH(bool, queuesAgain);
    // A shell, other than the worker, cannot listen to what was ignored when it began.
    m_programs->add("worker",
                    "if [ -z \"$hears\" ]; then export hears=1; exec env --default-signal=USR2 sh "
                    "\"$0\"; fi\n"
                    "for s in USR1 USR2 HUP TERM INT; do trap \"echo $s >>$FAKES/heard\" $s; done\n"
                    "echo >\"$FAKES/ready\"\n"
                    "until [ -e \"$FAKES/end\" ]; do sleep 0.02; done\nexit " +
                        std::to_string(code));
    m_programs->add("scontrol");
    const auto process = start(submissionOf({newRun("a")}));
    QTRY_VERIFY(has("ready"));
    for (int times = 1; times <= 2; ++times) { // `wait` is interrupted each time
        ::kill(static_cast<pid_t>(process->processId()), signal);
        std::string all;
        for (int i = 0; i < times; ++i)
            all += heard.toStdString() + "\n";
        QTRY_COMPARE(m_programs->text("heard"), all);
    }
    QVERIFY(process->state() == QProcess::Running);
    writeFileAtomic(m_programs->folder() / "end", "now");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitStatus(), QProcess::NormalExit);
    QCOMPARE(process->exitCode(), code);
    QCOMPARE(!m_programs->arguments("scontrol").empty(), queuesAgain);
}

/// A worker that does not listen yet ends by the signal; nothing is lost but its beginning.
void SlurmScriptTest::earlyTimeSignalQueuesAgain()
{
    m_programs->add("worker", "echo >\"$FAKES/ready\"; exec sleep 1000");
    m_programs->add("scontrol");
    const auto process = start(submissionOf({newRun("a")}));
    QTRY_VERIFY(has("ready"));
    ::kill(static_cast<pid_t>(process->processId()), SIGUSR1);
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 124);
    QCOMPARE(m_programs->arguments("scontrol"), (std::vector<std::string>{"requeue", "42"}));
}

void SlurmScriptTest::checkpointSignalBeforeTheWorkerListensIsNoEnd()
{
    m_programs->add("worker", "echo >\"$FAKES/ready\"\n"
                              "until [ -e \"$FAKES/end\" ]; do sleep 0.02; done");
    const auto process = start(submissionOf({newRun("a")}));
    QTRY_VERIFY(has("ready"));
    ::kill(static_cast<pid_t>(process->processId()), SIGUSR2);
    ::kill(static_cast<pid_t>(process->processId()), SIGUSR2);
    writeFileAtomic(m_programs->folder() / "end", "now");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 0);
}

std::unique_ptr<QProcess> SlurmScriptTest::startRequeue(const std::string& body)
{
    m_programs->add("worker", "exit 124");
    m_programs->add("sleep");
    m_programs->add("scontrol", body);
    return start(submissionOf({newRun("a")}));
}

void SlurmScriptTest::silentControllerIsAskedAgain()
{
    const auto process =
        startRequeue("echo >>\"$FAKES/calls\"; [ $(wc -l <\"$FAKES/calls\") = 3 ]");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 124);
    QCOMPARE(m_programs->text("calls"), std::string("\n\n\n"));
    QCOMPARE(m_programs->arguments("sleep"), (std::vector<std::string>{"5", "5"}));
}

void SlurmScriptTest::silentControllerIsNotAskedForEver()
{
    m_target.grace = 1;
    const auto process = startRequeue("exit 1");
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitCode(), 124);
    QVERIFY(!m_programs->arguments("sleep").empty());
}

void SlurmScriptTest::jobCancelledMeanwhileAsksNoMore()
{
    const auto process = startRequeue("echo >>\"$FAKES/ready\"; exit 1");
    QTRY_VERIFY(has("ready"));
    ::kill(static_cast<pid_t>(process->processId()), SIGTERM);
    QTRY_COMPARE(process->state(), QProcess::NotRunning);
    QCOMPARE(process->exitStatus(), QProcess::NormalExit);
    QCOMPARE(process->exitCode(), 124);
}

VERGENCE_TEST(SlurmScriptTest)
#include "tst_slurm_script.moc"
