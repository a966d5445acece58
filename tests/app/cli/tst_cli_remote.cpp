#include "tests/app/cli/cli_bench.h"

#include "core/artifact/remote_run.h"
#include "core/base/file.h"
#include "core/cluster/job_file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

QString pathText(const fs::path& path)
{
    return QString::fromStdString(path.string());
}

} // namespace

/// Runs on a computer with a disk of its own, which is another folder of this one: the ssh of the
/// test reaches it, and Slurm's programs there are the test's.
class CliRemoteTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void runWorksThereAndIsFollowedHere();
    void sweepIsOneArray();
    void targetComesFromAFile();
    void wrongConfigurationLeavesNothing();
    void pathsAreThoseOfTheTarget();
    void otherVersionIsRefused();
    void copyGoesOnThere();
    void runOfThisComputerMoves();
    void runIsNeverInTwoPlaces();
    void severalRunsAreOneSubmission();
    void waitingRunIsCancelled();
    void resultsAreFetched();
    void runComesHome();
    void runThatGoesOnStaysThere();
    void runThatIsUnknownHereIsFetched();
    void fetchIsRefused();
    void listTakesRuns();
    void listShowsWhatIsThere();
    void brokenLinkIsTold();

private:
    Outcome submit(const QStringList& arguments)
    {
        return vergence(QStringList{"submit"} + arguments + QStringList{"--target", "far"});
    }
    RunFolder submitted(const QStringList& arguments = {"heat", "--preset", "demo"});
    RunFolder there(const RunFolder& run)
    {
        return {path("there/runs").toStdString() / fs::path(run.id())};
    }
    /// What squeue answers from now on.
    void queue(const std::string& lines) { writeFileAtomic(m_programs->folder() / "queue", lines); }
    /// The run there, worked on to its end as its job would.
    void work(const RunFolder& run);
    Outcome list(const QStringList& arguments = {})
    {
        return vergence(QStringList{"runs", "list", "--json"} + arguments);
    }

    std::unique_ptr<FakePrograms> m_programs;
};

void CliRemoteTest::init()
{
    makeHome();
    m_programs = std::make_unique<FakePrograms>();
    m_programs->addSsh();
    m_programs->add("sbatch", "cat >\"$FAKES/script\"\necho 7");
    m_programs->add("squeue", "cat \"$FAKES/queue\"");
    m_programs->add("scontrol", "exit 1");
    m_programs->add("sacct", "exit 1");
    m_programs->add("scancel");
    queue("7|PENDING||Priority\n");
    const Outcome outcome =
        vergence({"targets", "new", "far", "--set", "login=n1", "--set", "disk=own", "--set",
                  "folder=" + path("there/runs"), "--set", "program=" + kBuild + "/bin/vergence"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
}

RunFolder CliRemoteTest::submitted(const QStringList& arguments)
{
    const Outcome outcome = submit(arguments);
    if (outcome.code != 0)
        qWarning("%s", qPrintable(outcome.err));
    return RunFolder::open(outcome.folder());
}

void CliRemoteTest::work(const RunFolder& run)
{
    const Outcome outcome =
        vergence({"run", pathText(there(run).root), "--resume", "--wait", "--device", "cpu"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    queue({});
}

void CliRemoteTest::runWorksThereAndIsFollowedHere()
{
    const Outcome outcome = submit({"heat", "--preset", "demo", "--device", "cpu"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains("Job 7 is in the queue of far.\n"), qPrintable(outcome.err));
    const RunFolder here = RunFolder::open(outcome.folder());
    QVERIFY(here.root.parent_path() == path("runs").toStdString());
    const auto remote = readRemoteRun(here);
    QVERIFY(remote.has_value());
    QCOMPARE(remote->target, std::string("far"));
    QCOMPARE(remote->folder.string(), there(here).root.string());
    QCOMPARE(readJob(here)->slurmId(), std::string("7"));
    QCOMPARE(readStatus(there(here)).state, std::string("Queued"));
    const std::string script = m_programs->text("script");
    QVERIFY2(script.find(there(here).root.string()) != std::string::npos, script.c_str());
    QVERIFY2(script.find("--wait --device cpu)") != std::string::npos, script.c_str());

    const json waiting = list().parsed();
    QCOMPARE(waiting[0]["status"]["state"].get<std::string>(), std::string("Queued"));
    QCOMPARE(waiting[0]["remote"]["login"].get<std::string>(), std::string("n1"));
    work(here);
    const json done = list().parsed();
    QCOMPARE(done[0]["status"]["state"].get<std::string>(), std::string("Completed"));
    QCOMPARE(readFile(here.metrics()), readFile(there(here).metrics()));
}

void CliRemoteTest::sweepIsOneArray()
{
    const Outcome outcome = submit({"heat", "--sweep", "size=8,16", "--json"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const json answer = outcome.parsed();
    QCOMPARE(answer["runs"].size(), std::size_t{2});
    QCOMPARE(answer["runs"][1]["job"].get<std::string>(), std::string("7_1"));
    const RunFolder second = RunFolder::open(answer["runs"][1]["folder"].get<std::string>());
    QVERIFY(second.root.parent_path() == path("runs").toStdString());
    QVERIFY(readFile(there(second).config()).find("size = 16") != std::string::npos);
    QVERIFY(m_programs->text("script").find("#SBATCH --array=0-1\n") != std::string::npos);
}

/// As it is asked of the other side.
void CliRemoteTest::targetComesFromAFile()
{
    const QByteArray toml = "time = '1:00:00'\nfolder = '" + path("others").toUtf8() + "'\n";
    const Outcome input =
        vergence({"submit", "heat", "--target", "it", "--target-file", "-", "--json"}, toml);
    QVERIFY2(input.code == 0, qPrintable(input.err));
    QCOMPARE(input.parsed()["target"].get<std::string>(), std::string("it"));
    QVERIFY(m_programs->text("script").find("--time=1:00:00\n") != std::string::npos);
    const Outcome file =
        vergence({"submit", "heat", "--target", "it", "--target-file", written("it.toml", toml)});
    QVERIFY(fs::path(file.folder()).parent_path() == path("others").toStdString());

    const Outcome broken =
        vergence({"submit", "heat", "--target", "it", "--target-file", "-"}, "memory = 'much'");
    QCOMPARE(broken.code, 3);
    QVERIFY2(broken.err.contains("it.toml line 1: memory must be"), qPrintable(broken.err));
    QVERIFY2(broken.err.contains("correct what standard input holds."), qPrintable(broken.err));
    const Outcome name =
        vergence({"submit", "heat", "--target", "-it", "--target-file", "it.toml"});
    QCOMPARE(name.code, 2);
    const Outcome twice =
        vergence({"submit", "heat", "--config", "-", "--target", "it", "--target-file", "-"}, toml);
    QCOMPARE(twice.code, 2);
    QVERIFY2(twice.err.contains("Standard input can be read once"), qPrintable(twice.err));
    QCOMPARE(vergence({"submit", "heat", "--target", "it", "--target-file", "no.toml"}).code, 6);
}

void CliRemoteTest::wrongConfigurationLeavesNothing()
{
    const Outcome here = submit({"heat", "--set", "size=-1"});
    QCOMPARE(here.code, 3);
    QVERIFY2(here.err.contains("size must be at least"), qPrintable(here.err));
    const Outcome rule = submit({"heat", "--set", "hot=1", "--set", "cold=2"});
    QCOMPARE(rule.code, 3);
    QVERIFY2(rule.err.contains("hot must be above cold."), qPrintable(rule.err));
    m_programs->add("sbatch", "cat >/dev/null; echo 'sbatch: error: invalid partition specified: "
                              "gpo' >&2; exit 1");
    const Outcome there = submit({"heat", "--sweep", "size=8,16"});
    QCOMPARE(there.code, 3);
    QVERIFY2(there.err.contains("On n1: "), qPrintable(there.err));
    QVERIFY(contentOf(path("runs").toStdString()).empty());
    QVERIFY(contentOf(path("there/runs").toStdString()).empty());
}

/// A photograph that only the other computer has.
void CliRemoteTest::pathsAreThoseOfTheTarget()
{
    const QStringList arguments{"light_field",
                                "--set",
                                "sweep=image",
                                "--set",
                                "color_image=" + path("photo.png"),
                                "--set",
                                "depth_image=" + path("photo.png")};
    const Outcome missing = submit(arguments);
    QCOMPARE(missing.code, 3);
    QVERIFY2(missing.err.contains("color_image does not exist: " + path("photo.png")),
             qPrintable(missing.err));
    QVERIFY2(missing.err.contains("On n1: The configuration has errors."), qPrintable(missing.err));
    const Outcome wrong = submit(arguments + QStringList{"--set", "depth_image_near=9000"});
    QCOMPARE(wrong.code, 3);
    QVERIFY2(wrong.err.contains("vergence: The configuration has errors."), qPrintable(wrong.err));
    QVERIFY(contentOf(path("runs").toStdString()).empty());

    const std::string photo = path("photo.png").toStdString();
    m_programs->add("vergence", "touch '" + photo + "'; " + kBuild.toStdString() +
                                    "/bin/vergence \"$@\"; e=$?; rm '" + photo + "'; exit $e");
    vergence({"targets", "remove", "far"});
    vergence({"targets", "new", "far", "--set", "login=n1", "--set", "disk=own", "--set",
              "folder=" + path("there/runs"), "--set",
              "program=" + pathText(m_programs->folder() / "vergence")});
    const RunFolder run = submitted(arguments);
    QVERIFY(readFile(there(run).config()).find(photo) != std::string::npos);
}

void CliRemoteTest::otherVersionIsRefused()
{
    m_programs->add("old", "echo vergence 0.0.1");
    vergence({"targets", "new", "old", "--set", "login=n1", "--set", "disk=own", "--set",
              "program=" + pathText(m_programs->folder() / "old")});
    const Outcome other = vergence({"submit", "heat", "--target", "old"});
    QCOMPARE(other.code, 3);
    QVERIFY2(other.err.contains("n1 has vergence 0.0.1 ("), qPrintable(other.err));
    vergence({"targets", "new", "none", "--set", "login=n1", "--set", "disk=own"});
    const Outcome none = vergence({"submit", "heat", "--target", "none"});
    QCOMPARE(none.code, 3);
    QVERIFY2(none.err.contains("`vergence targets install none` puts this one there."),
             qPrintable(none.err));
    QVERIFY(!fs::exists(path("runs").toStdString()));
}

void CliRemoteTest::copyGoesOnThere()
{
    const RunFolder run = submitted();
    const Outcome waits = submit({pathText(run.root)});
    QCOMPARE(waits.code, 2);
    QVERIFY2(waits.err.contains("On n1: The run " + QString::fromStdString(run.id()) +
                                " is still in the queue of far as job 7"),
             qPrintable(waits.err));
    work(run);
    list();
    const Outcome done = submit({pathText(run.root)});
    QCOMPARE(done.code, 2);
    QVERIFY2(done.err.contains("On n1: The run is completed; give it more to do with --set."),
             qPrintable(done.err));
    QCOMPARE(submit({pathText(run.root), "--preset", "demo"}).code, 2);
    const Outcome more = submit({QString::fromStdString(run.id()), "--set", "sweeps=30"});
    QVERIFY2(more.code == 0, qPrintable(more.err));
    QCOMPARE(more.folder(), run.root.string());
    QVERIFY(m_programs->text("script").find("--wait --set sweeps=30)") != std::string::npos);
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QCOMPARE(readStatus(run).step, std::int64_t{20});
}

void CliRemoteTest::runOfThisComputerMoves()
{
    const RunFolder run = RunFolder::open(demoRun().folder());
    QCOMPARE(submit({pathText(run.root)}).code, 2); // completed
    QVERIFY(!isRemote(run));
    const Outcome outcome = submit({pathText(run.root), "--set", "sweeps=30"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY(isRemote(run));
    QCOMPARE(readStatus(there(run)).step, std::int64_t{20});
    QVERIFY(contentOf(there(run).checkpoints()) == contentOf(run.checkpoints()));
    const Outcome here = vergence({"run", pathText(run.root), "--resume", "--set", "sweeps=30"});
    QCOMPARE(here.code, 2);
}

void CliRemoteTest::runIsNeverInTwoPlaces()
{
    const RunFolder run = submitted();
    vergence({"targets", "new", "near"});
    const Outcome near = vergence({"submit", pathText(run.root), "--target", "near"});
    QCOMPARE(near.code, 2);
    QVERIFY2(near.err.contains("is on n1, and what is here is a copy; `vergence fetch "),
             qPrintable(near.err));
    vergence({"targets", "new", "else", "--set", "login=n2", "--set", "disk=own", "--set",
              "program=" + kBuild + "/bin/vergence"});
    const Outcome other = vergence({"submit", pathText(run.root), "--target", "else"});
    QCOMPARE(other.code, 2);
    QVERIFY2(other.err.contains("is on n1; `vergence fetch "), qPrintable(other.err));
    QCOMPARE(readRemoteRun(run)->login, std::string("n1"));

    const RunFolder working = RunFolder::open(demoRun().folder());
    RunStatus status = readStatus(working);
    status.state = "Running";
    status.host = "n7";
    status.bootId = "another boot";
    writeStatus(working, status);
    const Outcome busy = submit({pathText(working.root), "--set", "sweeps=30"});
    QCOMPARE(busy.code, 2);
    QVERIFY2(busy.err.contains("is still going on on n7; stop it first"), qPrintable(busy.err));
    QVERIFY(!fs::exists(there(working).root));
}

void CliRemoteTest::severalRunsAreOneSubmission()
{
    const RunFolder one = RunFolder::open(demoRun().folder()),
                    two = RunFolder::open(demoRun().folder());
    const QStringList runs{pathText(one.root), QString::fromStdString(two.id())};
    vergence({"targets", "new", "near"});
    const Outcome mixed = vergence({"submit", pathText(one.root), "heat", "--target", "near"});
    QCOMPARE(mixed.code, 2);
    QVERIFY2(mixed.err.contains("`heat` is no run folder;"), qPrintable(mixed.err));
    const Outcome completed =
        vergence(QStringList{"submit"} + runs + QStringList{"--target", "near"});
    QCOMPARE(completed.code, 2);
    QVERIFY2(completed.err.contains(" is completed; give it more"), qPrintable(completed.err));
    const Outcome near = vergence(QStringList{"submit"} + runs +
                                  QStringList{"--target", "near", "--set", "sweeps=30"});
    QVERIFY2(near.code == 0, qPrintable(near.err));
    QCOMPARE(readJob(one)->slurmId(), std::string("7_0"));
    QCOMPARE(readJob(two)->slurmId(), std::string("7_1"));
    queue({});
    const Outcome far = submit(runs + QStringList{"--set", "sweeps=30"});
    QVERIFY2(far.code == 0, qPrintable(far.err));
    QCOMPARE(far.out, pathText(one.root) + "\n" + pathText(two.root) + "\n");
    QVERIFY(isRemote(one) && isRemote(two));
}

void CliRemoteTest::waitingRunIsCancelled()
{
    const RunFolder run = submitted();
    const Outcome outcome = vergence({"cancel", "--json", pathText(run.root)});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(QString::fromStdString(run.id()) + " has left the queue."),
             qPrintable(outcome.err));
    QCOMPARE(outcome.parsed()[0]["outcome"].get<std::string>(), std::string("left_queue"));
    QCOMPARE(m_programs->arguments("scancel"), (std::vector<std::string>{"7"}));
    QCOMPARE(readStatus(there(run)).state, std::string("Stopped"));
    queue({});
    QCOMPARE(list().parsed()[0]["status"]["state"].get<std::string>(), std::string("Stopped"));
}

void CliRemoteTest::resultsAreFetched()
{
    const RunFolder run = submitted();
    work(run);
    const Outcome outcome = vergence({"fetch", QString::fromStdString(run.id())});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.folder(), run.root.string());
    QVERIFY(!contentOf(run.artifacts()).empty());
    QVERIFY(contentOf(run.artifacts()) == contentOf(there(run).artifacts()));
    QVERIFY(contentOf(run.checkpoints()).empty());
    QCOMPARE(readRemoteRun(run)->state, std::string("Completed"));
    QCOMPARE(vergence({"fetch", pathText(run.root), "--checkpoints"}).code, 0);
    QVERIFY(!contentOf(run.checkpoints()).empty());
    QVERIFY(contentOf(run.checkpoints()) == contentOf(there(run).checkpoints()));
    QVERIFY(isRemote(run));
}

void CliRemoteTest::runComesHome()
{
    const RunFolder run = submitted();
    work(run);
    const Outcome home = vergence({"fetch", pathText(run.root), "--home"});
    QVERIFY2(home.code == 0, qPrintable(home.err));
    QVERIFY(!isRemote(run) && !readJob(run));
    const Outcome more =
        vergence({"run", pathText(run.root), "--resume", "--device", "cpu", "--set", "sweeps=30"});
    QVERIFY2(more.code == 0, qPrintable(more.err));
    QCOMPARE(readStatus(run).step, std::int64_t{30});
    QCOMPARE(readStatus(there(run)).step, std::int64_t{20});

    const Outcome again = vergence({"fetch", pathText(run.root)});
    QCOMPARE(again.code, 2);
    QVERIFY2(again.err.contains("is of this computer already."), qPrintable(again.err));
}

void CliRemoteTest::runThatGoesOnStaysThere()
{
    const RunFolder run = submitted();
    const Outcome home = vergence({"fetch", pathText(run.root), "--home"});
    QCOMPARE(home.code, 2);
    QVERIFY2(home.err.contains("is still going on on n1 (Queued (other jobs go first)); `vergence "
                               "cancel "),
             qPrintable(home.err));
    QVERIFY(isRemote(run));
    // Slurm alone knows that it will never begin.
    queue({});
    m_programs->add("scontrol", "echo 'JobId=7 JobState=CANCELLED ExitCode=0:0'");
    const Outcome cancelled = vergence({"fetch", pathText(run.root), "--home"});
    QVERIFY2(cancelled.code == 0, qPrintable(cancelled.err));
    QCOMPARE(readStatus(run).state, std::string("Stopped"));
    QVERIFY(!isRemote(run));
}

void CliRemoteTest::runThatIsUnknownHereIsFetched()
{
    const RunFolder run = submitted();
    work(run);
    fs::remove_all(run.root);
    const QString id = QString::fromStdString(run.id());
    const Outcome outcome = vergence({"fetch", id, "--target", "far"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.folder(), run.root.string());
    QCOMPARE(readStatus(RunFolder::open(run.root)).state, std::string("Completed"));
    QCOMPARE(readRemoteRun(run)->folder.string(), there(run).root.string());
    QCOMPARE(vergence({"fetch", id, "--target", "far"}).code, 0); // known now
    fs::remove_all(run.root);
    QCOMPARE(vergence({"fetch", pathText(there(run).root), "--target", "far", "--runs-dir",
                       path("others")})
                 .folder(),
             path("others").toStdString() + "/" + run.id());
}

void CliRemoteTest::fetchIsRefused()
{
    QCOMPARE(vergence({"fetch"}).code, 2);
    QCOMPARE(vergence({"fetch", "nothing"}).code, 6);
    const Outcome unknown = vergence({"fetch", "nothing", "--target", "far"});
    QCOMPARE(unknown.code, 6);
    QVERIFY2(unknown.err.contains("There is no run " + path("there/runs/nothing") + " on n1."),
             qPrintable(unknown.err));
    QVERIFY(!fs::exists(path("runs/nothing").toStdString()));
    for (const char* id : {"..", ".", "", "a/"})
        QCOMPARE(vergence({"fetch", id, "--target", "far"}).code, 2);
    vergence({"targets", "new", "near"});
    const Outcome near = vergence({"fetch", "nothing", "--target", "near"});
    QCOMPARE(near.code, 2);
    QVERIFY2(near.err.contains("its disk is shared."), qPrintable(near.err));
}

void CliRemoteTest::listTakesRuns()
{
    const QString one = QString::fromStdString(demoRun().folder()),
                  two = QString::fromStdString(demoRun().folder());
    const Outcome outcome = list({two, "nothing", one});
    QCOMPARE(outcome.code, 0);
    const json rows = outcome.parsed();
    QCOMPARE(rows.size(), std::size_t{3});
    QCOMPARE(rows[0]["folder"].get<std::string>(), two.toStdString());
    QCOMPARE(rows[1]["folder"].get<std::string>(), std::string("nothing"));
    QVERIFY(rows[1]["problem"].get<std::string>().starts_with("There is no run `nothing`"));
    QCOMPARE(rows[2]["status"]["state"].get<std::string>(), std::string("Completed"));
    QCOMPARE(list({pathText(fs::path(one.toStdString()).filename())}).parsed().size(),
             std::size_t{1});
    const Outcome table = vergence({"runs", "list", two, "nothing"});
    QVERIFY2(table.out.contains("unreadable"), qPrintable(table.out));
    QVERIFY2(table.err.contains("There is no run `nothing`"), qPrintable(table.err));
}

void CliRemoteTest::listShowsWhatIsThere()
{
    const RunFolder run = submitted();
    fs::remove_all(run.root);
    const Outcome outcome = list({"--target", "far"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const json rows = outcome.parsed();
    QCOMPARE(rows.size(), std::size_t{1});
    QCOMPARE(rows[0]["folder"].get<std::string>(), there(run).root.string());
    QCOMPARE(rows[0]["job"]["text"].get<std::string>(),
             std::string("Queued (other jobs go first)"));
    QVERIFY(vergence({"runs", "list", "--target", "far"}).out.contains("other jobs go first"));
    vergence({"targets", "new", "near", "--set", "folder=" + path("there/runs")});
    QCOMPARE(list({"--target", "near"}).parsed().size(), std::size_t{1});
    QCOMPARE(list({"--target", "fur"}).code, 6);
}

void CliRemoteTest::brokenLinkIsTold()
{
    const RunFolder run = submitted();
    m_programs->add("ssh",
                    "echo 'ssh: connect to host n1 port 22: No route to host' >&2; exit 255");
    const Outcome table = vergence({"runs", "list"});
    QCOMPARE(table.code, 0);
    QCOMPARE(table.err.count("n1 cannot be reached from this network."), 1);
    QVERIFY2(table.out.contains("Queued"), qPrintable(table.out));
    QCOMPARE(list({"--target", "far"}).code, 6);
    QCOMPARE(submit({"heat"}).code, 6);
    QCOMPARE(vergence({"fetch", pathText(run.root)}).code, 6);
    QCOMPARE(vergence({"cancel", pathText(run.root)}).code, 6);
    QVERIFY(readRemoteRun(run)->unreachedSince > 0);
    QCOMPARE(listRuns(path("runs").toStdString()).size(), std::size_t{1});
}

VERGENCE_TEST(CliRemoteTest)
#include "tst_cli_remote.moc"
