#include "core/cluster/remote_submit.h"

#include <nlohmann/json.hpp>

#include "core/artifact/remote_run.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
namespace fs = std::filesystem;

/// Submissions that a `vergence` of the test takes or refuses, on a "computer" that is another
/// folder of this one.
class RemoteSubmitTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void runsAreSentAndFollowed();
    void targetIsSeenAsItIsThere();
    void namesStayNames();
    void wordsBesideTheAnswerAreLogged();
    void refusalLeavesNothing_data();
    void refusalLeavesNothing();
    void copyIsNotSentAgain();
    void copyOfAnotherComputerIsRefused();
    void sharedDiskNeedsNoCopy();
    void lostAnswerKeepsTheRuns_data();
    void lostAnswerKeepsTheRuns();
    void loginThatDoesNotAnswerChangesNothing();
    void commandHasALimit();

    void runsAreCancelledWhereTheyAre();
    void unclearCancellationIsTold_data();
    void unclearCancellationIsTold();

private:
    RunFolder newRun(const std::string& id = {});
    RunFolder newCopy(const std::string& login, const fs::path& program);
    /// The program there; it notes words and input, then does `body`.
    void program(const std::string& body);
    std::vector<Job> submit(const std::vector<RunFolder>& runs,
                            const std::vector<std::string>& arguments = {});
    /// The words of the call, without the name.
    std::vector<std::string> words() const { return m_programs->arguments("vergence"); }
    fs::path there(const RunFolder& run) const { return m_studio.runs / run.id(); }

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_here, m_there;
    Target m_target;
    StudioThere m_studio;
    int m_count = 0;
};

/// Answers with a job of as many tasks as folders were named, which have to be there.
const std::string kTakesRuns =
    "shift\nn=0; rows=\n"
    "while [ \"$1\" != --target ]; do\n"
    "  [ -f \"$1/status.json\" ] || { echo 'vergence: There is no run.' >&2; exit 6; }\n"
    "  echo '{\"target\": \"far\", \"login\": \"\", \"id\": \"7\", \"task\": null}' "
    ">\"$1/job.json\"\n"
    "  rows=\"$rows${rows:+,}{\\\"job\\\": \\\"7_$n\\\"}\"; n=$((n + 1)); shift\n"
    "done\n"
    "echo 'Welcome [to n1] {all}.'\n"
    "echo \"{\\\"job\\\": \\\"7\\\", \\\"runs\\\": [$rows]}\"\n"
    "echo 'Job 7 is in the queue of far.' >&2\n";

void RemoteSubmitTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_programs->addSsh();
    m_here = std::make_unique<Scratch>();
    m_there = std::make_unique<Scratch>();
    m_count = 0;
    m_target = {};
    m_target.name = "far";
    m_target.login = "n1";
    m_target.disk = Disk::Own;
    m_target.scheduler = Scheduler::Lanes;
    m_target.lanes = {"cpu", "cpu"};
    m_studio = {(m_programs->folder() / "vergence").string(), *m_there / "runs", "vergence 1"};
    program(kTakesRuns);
}

void RemoteSubmitTest::cleanup()
{
    m_programs.reset();
}

void RemoteSubmitTest::program(const std::string& body)
{
    m_programs->add("vergence", "cat >\"$FAKES/input\"\n" + body);
}

RunFolder RemoteSubmitTest::newRun(const std::string& id)
{
    const RunFolder run =
        RunFolder::createAt(*m_here / (id.empty() ? "run-" + std::to_string(m_count++) : id));
    RunStatus status;
    status.state = "Queued";
    status.plugin = "heat";
    writeStatus(run, status);
    writeFileAtomic(run.config(), "plugin = \"heat\"\n");
    return run;
}

RunFolder RemoteSubmitTest::newCopy(const std::string& login, const fs::path& program)
{
    const RunFolder run = newRun();
    fs::create_directories(there(run).parent_path());
    fs::copy(run.root, there(run), fs::copy_options::recursive);
    RemoteRun remote;
    remote.target = "far";
    remote.login = login;
    remote.program = program.string();
    remote.folder = there(run);
    remote.state = "Stopped";
    writeRemoteRun(run, remote);
    return run;
}

std::vector<Job> RemoteSubmitTest::submit(const std::vector<RunFolder>& runs,
                                          const std::vector<std::string>& arguments)
{
    return submitThere(m_target, m_studio, {runs, arguments});
}

void RemoteSubmitTest::runsAreSentAndFollowed()
{
    const RunFolder one = newRun(), two = newRun();
    const auto jobs = submit({one, two}, {"--device", "cpu"});
    QCOMPARE(jobs.size(), std::size_t{2});
    QCOMPARE(jobs[1].slurmId(), std::string("7_1"));
    QCOMPARE(jobs[1].target, std::string("far"));
    QVERIFY(jobs[1].scheduler == Scheduler::Lanes);
    QCOMPARE(words(), (std::vector<std::string>{"submit", there(one).string(), there(two).string(),
                                                "--target", "far", "--target-file", "-", "--json",
                                                "--device", "cpu"}));
    for (const RunFolder& run : {one, two}) {
        QCOMPARE(readFile(there(run) / "config.toml"), readFile(run.config()));
        QVERIFY(!fs::exists(there(run) / "remote.json"));
        QVERIFY((*readRemoteRun(run) ==
                 RemoteRun{"far", "n1", m_studio.program, there(run), "Queued", "Queued", {}, 0}));
        QCOMPARE(readJob(run)->id, std::string("7")); // brought from there
    }
}

void RemoteSubmitTest::targetIsSeenAsItIsThere()
{
    submit({newRun()});
    const TargetFile file = parseTarget("far", m_programs->text("input"));
    QVERIFY(file.issues.empty());
    QCOMPARE(file.target.login, std::string());
    QVERIFY(file.target.disk == Disk::Shared && file.target.scheduler == Scheduler::Lanes);
    QCOMPARE(file.target.lanes, m_target.lanes);
    QCOMPARE(file.target.folder, m_studio.runs.string());
    QCOMPARE(file.target.vergence, m_studio.program);
    QVERIFY(!isAskedThere(file.target));
}

void RemoteSubmitTest::namesStayNames()
{
    m_studio.runs = *m_there / "it's $(touch trace) 100% é";
    std::vector<RunFolder> runs;
    for (const char* id : {"two words", "it's", "$(touch trace)", "-n", "*", "new\nline"})
        runs.push_back(newRun(id));
    QCOMPARE(submit(runs).size(), runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i)
        QCOMPARE(words().at(1 + i), there(runs[i]).string());
    QVERIFY(!fs::exists("trace") && !fs::exists(*m_there / "trace"));
}

void RemoteSubmitTest::wordsBesideTheAnswerAreLogged()
{
    program("echo 'run line 3: size is large.' >&2\n" + kTakesRuns);
    std::vector<std::string> lines;
    const int handle = addLogListener([&](const LogLine& line) { lines.push_back(line.text); });
    submit({newRun()});
    removeLogListener(handle);
    QCOMPARE(lines, (std::vector<std::string>{"n1: run line 3: size is large."}));
}

void RemoteSubmitTest::refusalLeavesNothing_data()
{
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("exitCode");
    QTest::newRow("configuration") << 3 << 3;
    QTest::newRow("plugin") << 4 << 4;
    QTest::newRow("killed") << 137 << 1;
}

void RemoteSubmitTest::refusalLeavesNothing()
{
    QFETCH(int, code);
    QFETCH(int, exitCode);
    program("[ -f \"$2/status.json\" ] && touch \"$FAKES/was-there\"\n"
            "echo 'vergence: The configuration has errors.' >&2; exit " +
            std::to_string(code));
    const RunFolder run = newRun();
    const std::set<std::string> before = contentOf(run.root);
    try {
        submit({run});
        QFAIL("the refusal was not heard");
    } catch (const Error& error) {
        QCOMPARE(QString(error.what()), QString("On n1: The configuration has errors."));
        QCOMPARE(static_cast<int>(error.exitCode()), exitCode);
    }
    QVERIFY(fs::exists(m_programs->folder() / "was-there"));
    QVERIFY(!fs::exists(there(run)));
    QVERIFY(contentOf(run.root) == before);
}

void RemoteSubmitTest::copyIsNotSentAgain()
{
    const RunFolder run = newCopy("n1", "/old/vergence");
    writeFileAtomic(there(run) / "config.toml", "of there");
    submit({run}, {"--set", "sweeps=3"});
    QCOMPARE(words().at(1), there(run).string());
    QCOMPARE(readFile(there(run) / "config.toml"), std::string("of there"));
    QCOMPARE(readRemoteRun(run)->state, std::string("Queued"));
    QCOMPARE(readRemoteRun(run)->program, m_studio.program);

    program("echo 'vergence: The run is completed.' >&2; exit 2");
    VERGENCE_THROWS(Error, "On n1: The run is completed.", submit({run}));
    QVERIFY(fs::exists(there(run) / "config.toml"));
    QVERIFY(isRemote(run));
}

void RemoteSubmitTest::copyOfAnotherComputerIsRefused()
{
    const RunFolder run = newCopy("n2", "/vergence"), plain = newRun();
    VERGENCE_THROWS(Error, "is on n2; `vergence fetch ", submit({plain, run}));
    m_target.disk = Disk::Shared;
    m_target.login = "n2";
    VERGENCE_THROWS(Error, "is on n2; `vergence fetch ", submit({run}));
    QVERIFY(m_programs->text("hosts").empty());
}

void RemoteSubmitTest::sharedDiskNeedsNoCopy()
{
    m_target.disk = Disk::Shared;
    const RunFolder run = newRun();
    QCOMPARE(submit({run}).front().slurmId(), std::string("7_0"));
    QCOMPARE(words().at(1), run.root.string());
    QVERIFY(!isRemote(run));
    QCOMPARE(m_programs->text("hosts"), std::string("n1\n"));
    program("echo 'vergence: No.' >&2; exit 2");
    VERGENCE_THROWS(Error, "On n1: No.", submit({run}));
    QVERIFY(fs::exists(run.status()));
}

void RemoteSubmitTest::lostAnswerKeepsTheRuns_data()
{
    QTest::addColumn<QByteArray>("end");
    QTest::newRow("link") << QByteArray("echo 'client_loop: send disconnect: Broken pipe' >&2; "
                                        "exit 255");
    QTest::newRow("silence") << QByteArray("exit 0");
    QTest::newRow("no JSON") << QByteArray("echo '{ so'; echo 'la }'");
    QTest::newRow("no jobs") << QByteArray("echo '{\"runs\": []}'");
    QTest::newRow("a job that is none") << QByteArray("echo '{\"runs\": [{\"job\": \"7_x\"}]}'");
    QTest::newRow("too many jobs")
        << QByteArray("echo '{\"runs\": [{\"job\": \"7_0\"}, {\"job\": \"7_1\"}]}'");
    QTest::newRow("a number") << QByteArray("echo '{\"runs\": [{\"job\": 7}]}'");
}

void RemoteSubmitTest::lostAnswerKeepsTheRuns()
{
    QFETCH(QByteArray, end);
    program(end.toStdString());
    const RunFolder run = newRun();
    VERGENCE_THROWS(AnswerLost,
                    "may be in the queue of far; `vergence runs list --target far` tells.",
                    submit({run}));
    QVERIFY(fs::exists(there(run) / "status.json"));
    QCOMPARE(readRemoteRun(run)->folder.string(), there(run).string());
}

void RemoteSubmitTest::loginThatDoesNotAnswerChangesNothing()
{
    m_programs->add("ssh", "echo 'ssh: connect to host n1 port 22: Connection refused' >&2\n"
                           "exit 255");
    const RunFolder run = newRun();
    VERGENCE_THROWS(InputError, "n1", submit({run}));
    QVERIFY(!isRemote(run) && !fs::exists(there(run)));
    QVERIFY(words().empty());
}

void RemoteSubmitTest::commandHasALimit()
{
    m_studio.runs = "/" + std::string(60'000, 'r');
    VERGENCE_THROWS(Error,
                    "2 runs are too many for one submission to n1; submit about 1 at a time.",
                    submit({newRun(), newRun()}));
    QVERIFY(m_programs->text("hosts").empty());
}

void RemoteSubmitTest::runsAreCancelledWhereTheyAre()
{
    const auto program = m_programs->folder() / "vergence";
    const std::vector<RunFolder> runs{newCopy("n1", program), newCopy("n2", program),
                                      newCopy("n1", program), newCopy("n1", program)};
    m_programs->add("vergence", "shift 2; echo hello; echo '['; s=\n"
                                "for run; do case $run in *0) o=stops;; *2) o=left_queue;;\n"
                                "*3) o=has_no_job;; *) o=has_ended;; esac\n"
                                "echo \"$s{\\\"outcome\\\": \\\"$o\\\"}\"; s=,; done; echo ']'\n"
                                "exit 2");
    using enum Cancellation;
    QVERIFY((cancelThere(runs) == std::vector{Stops, HasEnded, LeftQueue, HasNoJob}));
    QCOMPARE(m_programs->text("hosts"), std::string("n1\nn2\n"));
    QCOMPARE(words(), (std::vector<std::string>{"cancel", "--json", there(runs[0]).string(),
                                                there(runs[2]).string(), there(runs[3]).string(),
                                                "cancel", "--json", there(runs[1]).string()}));
    QVERIFY(cancelThere({}).empty());
}

void RemoteSubmitTest::unclearCancellationIsTold_data()
{
    QTest::addColumn<QByteArray>("end");
    QTest::addColumn<QString>("sentence");
    QTest::addColumn<int>("code");
    QTest::newRow("refusal") << QByteArray("echo 'vergence: Slurm refuses.' >&2; exit 6")
                             << "On n1: Slurm refuses." << 6;
    QTest::newRow("nothing") << QByteArray("exit 0") << "n1 did not say what became" << 6;
    QTest::newRow("another word") << QByteArray("echo '[{\"outcome\": \"gone\"}]'")
                                  << "n1 did not say what became" << 6;
    QTest::newRow("too many") << QByteArray(
                                     "echo '[{\"outcome\": \"stops\"}, {\"outcome\": \"stops\"}]'")
                              << "n1 did not say what became" << 6;
}

void RemoteSubmitTest::unclearCancellationIsTold()
{
    QFETCH(QByteArray, end);
    QFETCH(QString, sentence);
    QFETCH(int, code);
    m_programs->add("vergence", end.toStdString());
    try {
        cancelThere({newCopy("n1", m_programs->folder() / "vergence")});
        QFAIL("an unclear answer was taken");
    } catch (const Error& error) {
        QVERIFY2(QString(error.what()).contains(sentence), error.what());
        QCOMPARE(static_cast<int>(error.exitCode()), code);
    }
}

VERGENCE_TEST(RemoteSubmitTest)
#include "tst_remote_submit.moc"
