#include "tests/app/cli/cli_bench.h"

#include <set>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/cluster/job_file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// Runs that go into a queue, with programs of the test in place of Slurm's.
class CliSubmitTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void runHasItsFolderAndItsJob();
    void jobIsTheRun();
    void optionsReachTheWorker();
    void foldersAreThoseOfTheTarget();
    void sweepMakesEveryCombination();
    void sweepIsAnsweredInJson();
    void wrongSweepIsRefused_data();
    void wrongSweepIsRefused();
    void wrongConfigurationMakesNothing();
    void refusedSubmissionLeavesNothing_data();
    void refusedSubmissionLeavesNothing();
    void targetMustBeUsable();
    void runGoesOnInItsFolder();
    void runThatCannotGoOnIsRefused();
    void listShowsTheQueue();
    void silentQueueIsToldOnce();
    void runWhoseJobIsGoneHasFailed();
    void waitingRunIsCancelled();
    void failedRunKeepsItsReason();
    void runWithoutAJobIsNotCancelled();

private:
    /// Folders that `vergence submit` printed; none where it failed.
    std::vector<RunFolder> submitted(const QStringList& arguments);
    Outcome submit(const QStringList& arguments)
    {
        return vergence(QStringList{"submit"} + arguments + QStringList{"--target", "uni"});
    }
    /// What squeue answers from now on.
    void queue(const std::string& lines) { writeFileAtomic(m_programs->folder() / "queue", lines); }
    bool hasRuns() { return !listRuns(path("runs").toStdString()).empty(); }

    std::unique_ptr<FakePrograms> m_programs;
};

void CliSubmitTest::init()
{
    makeHome();
    m_programs = std::make_unique<FakePrograms>();
    m_programs->add("sbatch", "cat >\"$FAKES/script\"\necho 7");
    m_programs->add("squeue", "cat \"$FAKES/queue\"");
    m_programs->add("scontrol", "exit 1");
    m_programs->add("sacct", "exit 1");
    m_programs->add("scancel");
    queue({});
    const Outcome outcome = vergence({"targets", "new", "uni", "--set", "time=4:00:00"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
}

std::vector<RunFolder> CliSubmitTest::submitted(const QStringList& arguments)
{
    const Outcome outcome = submit(arguments);
    if (outcome.code != 0)
        qWarning("%s", qPrintable(outcome.err));
    std::vector<RunFolder> runs;
    for (const QString& line : outcome.out.split('\n', Qt::SkipEmptyParts))
        runs.push_back(RunFolder::open(line.toStdString()));
    return runs;
}

void CliSubmitTest::runHasItsFolderAndItsJob()
{
    const QByteArray text = "plugin   = \"heat\"\n[plate]\r\nsize=8 # mine";
    const Outcome outcome = submit({written("mine.toml", text)});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.err, QString("Job 7 is in the queue of uni.\n"));
    const RunFolder run = RunFolder::open(outcome.folder());
    QVERIFY(run.root.parent_path() == path("runs").toStdString());
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QCOMPARE(readStatus(run).plugin, std::string("heat"));
    QCOMPARE(readFile(run.configInput()), text.toStdString());
    QVERIFY(readFile(run.config()).find("size = 8  # changed") != std::string::npos);
    QCOMPARE(readJob(run)->slurmId(), std::string("7"));
    QCOMPARE(readJob(run)->target, std::string("uni"));
    QCOMPARE(readFile(jobScript(run)), m_programs->text("script"));
    QVERIFY(m_programs->text("script").find("#SBATCH --time=4:00:00\n") != std::string::npos);
}

/// The script, run as it stands, makes the run that `vergence run` makes.
void CliSubmitTest::jobIsTheRun()
{
    m_programs->add("sbatch", "cat >\"$FAKES/script\"\n"
                              "SLURM_JOB_ID=7 bash \"$FAKES/script\" >&2 || exit 1\necho 7");
    const auto runs = submitted({"heat", "--preset", "demo", "--device", "cpu"});
    QCOMPARE(runs.size(), std::size_t{1});
    const RunStatus status = readStatus(runs[0]);
    QCOMPARE(status.state, std::string("Completed"));
    QCOMPARE(status.preset, std::string("demo"));
    QCOMPARE(status.job, std::string("slurm 7"));
    const RunFolder local = RunFolder::open(demoRun().folder());
    QCOMPARE(readFile(runs[0].artifacts() / "plate/fade_1.png"),
             readFile(local.artifacts() / "plate/fade_1.png"));
}

void CliSubmitTest::optionsReachTheWorker()
{
    fs::create_directories(path("my plugins").toStdString());
    submitted(
        {"heat", "--device", "cpu", "--checkpoint-every", "2.5", "--plugin-path", "my plugins"});
    const std::string script = m_programs->text("script");
    const std::string words = "run \"$run\" --resume --wait --device cpu --checkpoint-every 2.5 "
                              "--plugin-path '" +
                              path("my plugins").toStdString() + "') &\n";
    QVERIFY2(script.find(words) != std::string::npos, script.c_str());
    QVERIFY2(script.find("\ncd -- " + home().toStdString()) != std::string::npos, script.c_str());
    QVERIFY2(script.find("exec " + kBuild.toStdString() + "/bin/vergence run") != std::string::npos,
             script.c_str());
}

void CliSubmitTest::foldersAreThoseOfTheTarget()
{
    const std::string shared = path("shared runs").toStdString();
    vergence({"targets", "new", "disk", "--set", "folder=" + path("shared runs"), "--set",
              "program=/opt/vergence"});
    const Outcome there = vergence({"submit", "heat", "--target", "disk"});
    QVERIFY2(there.code == 0, qPrintable(there.err));
    QVERIFY(fs::path(there.folder()).parent_path() == shared);
    QVERIFY(m_programs->text("script").find("exec /opt/vergence run") != std::string::npos);
    const Outcome here =
        vergence({"submit", "heat", "--target", "disk", "--runs-dir", path("others")});
    QVERIFY(fs::path(here.folder()).parent_path() == path("others").toStdString());
}

void CliSubmitTest::sweepMakesEveryCombination()
{
    const auto runs = submitted(
        {"heat", "--preset", "demo", "--sweep", "size=8,16", "--sweep", "solver.sweeps=3, 4,5"});
    QCOMPARE(runs.size(), std::size_t{6});
    QVERIFY(m_programs->text("script").find("#SBATCH --array=0-5\n") != std::string::npos);
    std::set<std::string> groups;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string size = i < 3 ? "8" : "16", sweeps = std::to_string(3 + i % 3);
        const std::string config = readFile(runs[i].config());
        QVERIFY(config.find("size = " + size + "  # changed") != std::string::npos);
        QVERIFY(config.find("sweeps = " + sweeps + "  # changed") != std::string::npos);
        QCOMPARE(readFile(runs[i].configInput()),
                 "plugin = \"heat\"\npreset = \"demo\"\n# --sweep size=" + size +
                     "\n# --sweep solver.sweeps=" + sweeps + "\n");
        QCOMPARE(readJob(runs[i])->slurmId(), "7_" + std::to_string(i));
        const json labels = json::parse(readFile(runs[i].root / "labels.json"));
        QCOMPARE(labels["name"].get<std::string>(),
                 "heat demo · size=" + size + ", solver.sweeps=" + sweeps);
        QCOMPARE(labels["sweep"]["key"].get<std::string>(), std::string("size, sweeps"));
        QCOMPARE(labels["sweep"]["value"].get<std::string>(), size + ", " + sweeps);
        QCOMPARE(labels["sweep"]["share"].get<double>(), static_cast<double>(i) / 5);
        groups.insert(labels["sweep"]["group"].get<std::string>());
    }
    QCOMPARE(groups.size(), std::size_t{1});
    QCOMPARE(groups.begin()->size(), std::size_t{8});
}

void CliSubmitTest::sweepIsAnsweredInJson()
{
    const Outcome outcome = submit({"heat", "--sweep", "size=8,16", "--json"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.err, QString());
    const json answer = outcome.parsed();
    QCOMPARE(answer["target"].get<std::string>(), std::string("uni"));
    QCOMPARE(answer["job"].get<std::string>(), std::string("7"));
    QCOMPARE(answer["runs"].size(), std::size_t{2});
    QCOMPARE(answer["runs"][1]["job"].get<std::string>(), std::string("7_1"));
    QVERIFY(fs::exists(answer["runs"][1]["folder"].get<std::string>() + "/status.json"));
}

void CliSubmitTest::wrongSweepIsRefused_data()
{
    QTest::addColumn<QStringList>("sweeps");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("no values") << QStringList{"size"} << "Write --sweep KEY=VALUE,VALUE,…";
    QTest::newRow("no key") << QStringList{"=8"} << "Write --sweep KEY=VALUE,VALUE,…";
    QTest::newRow("empty value") << QStringList{"size=8,,9"} << "Write --sweep KEY=VALUE,VALUE,…";
    QTest::newRow("value twice") << QStringList{"size=8, 9,8"} << "--sweep size has 8 twice.";
    QTest::newRow("setting twice") << QStringList{"size=8", "size=9"} << "--sweep has size twice.";
    QStringList many;
    for (int i = 0; i < 101; ++i)
        many << QString::number(8 + i);
    QTest::newRow("too many") << QStringList{"size=" + many.join(','),
                                             "sweeps=" + many.mid(1).join(',')}
                              << "One submission takes at most 10,000 runs";
}

void CliSubmitTest::wrongSweepIsRefused()
{
    QFETCH(QStringList, sweeps);
    QFETCH(QString, sentence);
    QStringList arguments{"heat"};
    for (const QString& sweep : sweeps)
        arguments << "--sweep" << sweep;
    const Outcome outcome = submit(arguments);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains(sentence), qPrintable(outcome.err));
    QVERIFY(!hasRuns() && m_programs->arguments("sbatch").empty());
}

void CliSubmitTest::wrongConfigurationMakesNothing()
{
    const Outcome single = submit({"heat", "--set", "size=-1"});
    QCOMPARE(single.code, 3);
    QVERIFY2(single.err.contains("size must be at least"), qPrintable(single.err));
    const Outcome sweep = submit({"heat", "--sweep", "size=8,-1", "--sweep", "sweeps=3,4"});
    QCOMPARE(sweep.code, 3);
    QCOMPARE(sweep.err.count("size must be at least"), 1);
    QVERIFY2(sweep.err.contains("2 of 4 configurations have errors; nothing was submitted."),
             qPrintable(sweep.err));
    const Outcome key = submit({"heat", "--sweep", "sise=8,9"});
    QCOMPARE(key.code, 3);
    QVERIFY2(key.err.contains("Unknown key `sise`. Did you mean `size`?"), qPrintable(key.err));
    QVERIFY(!hasRuns() && m_programs->arguments("sbatch").empty());
}

void CliSubmitTest::refusedSubmissionLeavesNothing_data()
{
    QTest::addColumn<QByteArray>("sbatch");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("setting")
        << QByteArray("cat >/dev/null\necho 'sbatch: error: Batch job submission failed: Requested "
                      "time limit is invalid (missing or exceeds some limit)' >&2\nexit 1")
        << 3 << "The time 4:00:00 is longer than the partition allows.";
    QTest::newRow("controller")
        << QByteArray("cat >/dev/null\necho 'sbatch: error: Batch job submission failed: Unable to "
                      "contact slurm controller (connect failure)' >&2\nexit 1")
        << 6 << "Slurm's controller does not answer";
}

void CliSubmitTest::refusedSubmissionLeavesNothing()
{
    QFETCH(QByteArray, sbatch);
    QFETCH(int, code);
    QFETCH(QString, sentence);
    m_programs->add("sbatch", sbatch.toStdString());
    const Outcome outcome = submit({"heat", "--sweep", "size=8,9"});
    QCOMPARE(outcome.code, code);
    QVERIFY2(outcome.err.contains(sentence), qPrintable(outcome.err));
    QVERIFY(contentOf(path("runs").toStdString()).empty());
}

void CliSubmitTest::targetMustBeUsable()
{
    const Outcome unknown = vergence({"submit", "heat", "--target", "une"});
    QCOMPARE(unknown.code, 6);
    QVERIFY2(unknown.err.contains("There is no target `une`. Did you mean `uni`?"),
             qPrintable(unknown.err));
    const fs::path file = path("XDG_CONFIG_HOME/vergence/targets/uni.toml").toStdString();
    writeFileAtomic(file, "memory = 'much'\n");
    const Outcome broken = submit({"heat"});
    QCOMPARE(broken.code, 3);
    QVERIFY2(broken.err.contains("uni.toml line 1: memory must be"), qPrintable(broken.err));
    QVERIFY2(broken.err.contains("correct " + QString::fromStdString(file)),
             qPrintable(broken.err));
    QCOMPARE(vergence({"submit", "heat"}).code, 2);
}

void CliSubmitTest::runGoesOnInItsFolder()
{
    const RunFolder run = RunFolder::open(demoRun().folder());
    const Outcome outcome =
        submit({QString::fromStdString(run.root.string()), "--set", "sweeps=30"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.folder(), run.root.string());
    const RunStatus status = readStatus(run);
    QCOMPARE(status.state, std::string("Queued"));
    QCOMPARE(status.step, std::int64_t{20});
    QVERIFY(m_programs->text("script").find("--wait --set sweeps=30)") != std::string::npos);
    QCOMPARE(readJob(run)->slurmId(), std::string("7"));

    queue("7|PENDING||Priority\n");
    const Outcome again = submit({QString::fromStdString(run.id())}); // by its id
    QCOMPARE(again.code, 2);
    QVERIFY2(
        again.err.contains("is still in the queue of uni as job 7 (PENDING); `vergence cancel "),
        qPrintable(again.err));
    queue({});
    QCOMPARE(submit({QString::fromStdString(run.id())}).code, 0);
}

void CliSubmitTest::runThatCannotGoOnIsRefused()
{
    const RunFolder run = RunFolder::open(demoRun().folder());
    const QString name = QString::fromStdString(run.root.string());
    const Outcome completed = submit({name});
    QCOMPARE(completed.code, 2);
    QVERIFY2(completed.err.contains("The run is completed; give it more to do with --set."),
             qPrintable(completed.err));
    const Outcome sweep = submit({name, "--sweep", "size=8,9"});
    QCOMPARE(sweep.code, 2);
    QVERIFY2(sweep.err.contains("are for new ones"), qPrintable(sweep.err));
    QCOMPARE(submit({name, "--set", "size=-1"}).code, 3);

    RunStatus status = readStatus(run);
    status.state = "Running";
    status.host = "n7";
    status.bootId = "another boot";
    writeStatus(run, status);
    const Outcome working = submit({name, "--set", "sweeps=30"});
    QCOMPARE(working.code, 2);
    QVERIFY2(working.err.contains("is still going on on n7; stop it first"),
             qPrintable(working.err));
    QVERIFY(m_programs->arguments("sbatch").empty());
    QCOMPARE(readStatus(run).state, std::string("Running"));
}

void CliSubmitTest::listShowsTheQueue()
{
    const auto runs = submitted({"heat", "--sweep", "size=8,16"});
    queue("7_0|PENDING||Resources\n7_1|RUNNING|n2|None\n");
    const Outcome table = vergence({"runs", "list"});
    QVERIFY2(table.out.contains("Queued (it waits for free nodes)"), qPrintable(table.out));
    QVERIFY2(table.out.contains("Starting on n2"), qPrintable(table.out));
    for (const json& row : vergence({"runs", "list", "--json"}).parsed()) {
        const bool isFirst = row["id"].get<std::string>() == runs[0].id();
        QCOMPARE(row["status"]["state"].get<std::string>(),
                 std::string(isFirst ? "Queued" : "Starting"));
        QCOMPARE(row["job"]["id"].get<std::string>(), std::string(isFirst ? "7_0" : "7_1"));
        QCOMPARE(row["job"]["target"].get<std::string>(), std::string("uni"));
    }
    const Outcome shown = vergence({"runs", "show", QString::fromStdString(runs[0].id())});
    QVERIFY2(shown.out.contains("  state   Queued (it waits for free nodes)\n"),
             qPrintable(shown.out));
    QVERIFY2(shown.out.contains("  job     7_0 of uni\n"), qPrintable(shown.out));
}

void CliSubmitTest::silentQueueIsToldOnce()
{
    submitted({"heat", "--sweep", "size=8,16"});
    m_programs->add("squeue", "echo 'error: Unable to contact slurm controller' >&2; exit 1");
    const Outcome table = vergence({"runs", "list"});
    QCOMPARE(table.code, 0);
    QCOMPARE(table.err.count("Slurm's controller does not answer"), 1);
    QCOMPARE(table.out.count("Queued"), 2);
    QCOMPARE(vergence({"runs", "list", "--json"}).parsed().size(), std::size_t{2});
}

void CliSubmitTest::runWhoseJobIsGoneHasFailed()
{
    const auto runs = submitted({"heat"});
    m_programs->add("scontrol", "echo 'JobId=7 JobState=FAILED ExitCode=127:0'");
    const json row = vergence({"runs", "list", "--json"}).parsed()[0];
    QCOMPARE(row["status"]["state"].get<std::string>(), std::string("Failed"));
    QCOMPARE(row["status"]["problem"].get<std::string>(),
             std::string("Its job 7 ended before the run began: exit code 127; `vergence` cannot "
                         "be started on its node."));
    m_programs->add("scontrol", "echo 'JobId=7 JobState=CANCELLED ExitCode=0:0'");
    const Outcome shown = vergence({"runs", "show", QString::fromStdString(runs[0].id())});
    QVERIFY2(shown.out.contains("state   Stopped (cancelled)"), qPrintable(shown.out));
    QVERIFY2(shown.out.contains("problem Its job 7 ended before the run began: cancelled."),
             qPrintable(shown.out));
}

void CliSubmitTest::waitingRunIsCancelled()
{
    const auto runs = submitted({"heat", "--sweep", "size=8,16"});
    queue("7_0|PENDING||Resources\n7_1|RUNNING|n2|None\n");
    const Outcome outcome = vergence({"cancel", QString::fromStdString(runs[0].root.string()),
                                      QString::fromStdString(runs[1].id())});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(QString::fromStdString(runs[0].id()) + " has left the queue."),
             qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(QString::fromStdString(runs[1].id()) + " saves and stops."),
             qPrintable(outcome.err));
    QCOMPARE(m_programs->arguments("scancel"), (std::vector<std::string>{"7_0", "7_1"}));
    QCOMPARE(readStatus(runs[0]).state, std::string("Stopped"));
    QCOMPARE(readStatus(runs[0]).problem, std::string("cancelled before it began"));
    QCOMPARE(readStatus(runs[1]).state, std::string("Queued"));
}

/// Whoever cancels a run whose job failed before it began does not hide why.
void CliSubmitTest::failedRunKeepsItsReason()
{
    const QString run = QString::fromStdString(submitted({"heat"}).at(0).root.string());
    m_programs->add("scontrol", "echo 'JobId=7 JobState=FAILED ExitCode=127:0'");
    const Outcome outcome = vergence({"cancel", run});
    QVERIFY2(outcome.code == 0 && outcome.err.contains("had ended already"),
             qPrintable(outcome.err));
    const json row = vergence({"runs", "list", "--json"}).parsed()[0];
    QCOMPARE(row["status"]["state"].get<std::string>(), std::string("Failed"));
    QVERIFY2(row["status"]["problem"].get<std::string>().find("exit code 127") != std::string::npos,
             row.dump(2).c_str());
    QVERIFY(m_programs->arguments("scancel").empty());
}

void CliSubmitTest::runWithoutAJobIsNotCancelled()
{
    const QString run = QString::fromStdString(demoRun().folder());
    const Outcome outcome = vergence({"cancel", run});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("was not submitted; end its process instead"),
             qPrintable(outcome.err));
    QCOMPARE(vergence({"cancel", "nothing"}).code, 6);
    QCOMPARE(vergence({"cancel"}).code, 2);

    const auto runs = submitted({"heat"});
    m_programs->add("scancel",
                    "echo 'scancel: error: Kill job error on job id 7: Access/permission "
                    "denied' >&2; exit 1");
    queue("7|PENDING||Resources\n");
    const Outcome refused = vergence({"cancel", QString::fromStdString(runs[0].id())});
    QCOMPARE(refused.code, 6);
    QVERIFY2(refused.err.contains("Slurm refuses to cancel"), qPrintable(refused.err));
    QCOMPARE(readStatus(runs[0]).state, std::string("Queued"));
}

VERGENCE_TEST(CliSubmitTest)
#include "tst_cli_submit.moc"
