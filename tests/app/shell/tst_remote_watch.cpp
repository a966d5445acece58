#include <QSignalSpy>
#include <QTest>

#include <nlohmann/json.hpp>

#include "app/shell/job_watch.h"
#include "app/shell/remote_watch.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/metrics/metric_store.h"
#include "tests/support/fake_programs.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;
namespace fs = std::filesystem;

namespace {

/// A run on the disk of the computer "h1", reached by a fake ssh, and its copy here. What the
/// studio there says of it is written by hand.
class FarRun {
public:
    explicit FarRun(const std::string& login = "h1", const std::string& id = "run-1")
        : m_login(login),
          m_there(RunFolder::createAt(m_disk / "runs" / id)),
          m_here(RunFolder::createAt(fs::path(m_home.path()) / "runs" / id))
    {
        writeFileAtomic(m_there.config(), "");
        writeStatus(m_there, status("Queued"));
        fs::copy(m_there.config(), m_here.config());
        fs::copy(m_there.status(), m_here.status());
        const fs::path program = m_disk / "vergence";
        writeFileAtomic(program, "#!/bin/sh\ncat '" + (m_disk / "answer").string() + "'\n");
        fs::permissions(program, fs::perms::owner_all);
        say("Queued", "Queued (other jobs go first)");
        writeRemoteRun(m_here, remote());
    }

    RemoteRun remote() const
    {
        RemoteRun run{"uni", m_login, m_disk / "vergence", m_there.root};
        run.state = run.text = "Queued";
        return run;
    }
    static RunStatus status(const std::string& state, int step = 0)
    {
        RunStatus status;
        status.state = state;
        status.plugin = "chaos";
        status.step = step;
        status.total = 9;
        if (state != "Queued") {
            status.host = "gpu07";
            status.bootId = "of that computer";
            status.pid = 4711;
        }
        return status;
    }
    /// The answer of `vergence runs list` there.
    void say(const std::string& state, const std::string& text, const std::string& problem = {})
    {
        const nlohmann::json row{{"folder", m_there.root.string()},
                                 {"status", {{"state", state}, {"problem", problem}}},
                                 {"job", {{"text", text}}}};
        writeFileAtomic(m_disk / "answer", nlohmann::json::array({row}).dump());
    }
    /// Its worker writes numbers up to this step, and its status.
    void work(const std::string& state, int step)
    {
        std::string lines = MetricStore::csvHeader();
        for (int i = 0; i < step; ++i)
            lines += MetricStore::toCsv({{i, 0.1 * i, "train/loss", 1.0 / (1 + i)}});
        writeFileAtomic(m_there.metrics(), lines);
        writeStatus(m_there, status(state, step));
    }

    const RunFolder& there() const { return m_there; }
    const RunFolder& here() const { return m_here; }
    QString runs() const { return QString::fromStdString(m_here.root.parent_path().string()); }
    QString id() const { return QString::fromStdString(m_here.id()); }

private:
    test::Scratch m_disk, m_home;
    std::string m_login;
    RunFolder m_there, m_here;
};

/// The list of runs and who keeps it up to date.
struct WatchedList {
    explicit WatchedList(const FarRun& bench, bool isViewed = true)
        : watch(runs, [isViewed](const QString&) { return isViewed; })
    {
        runs.setFolder(bench.runs());
    }
    QString textOf(const QString& id) const
    {
        const RunEntry* run = runs.find(id);
        return run == nullptr ? QString() : stateText(*run);
    }
    std::size_t numbersOf(const QString& id) const
    {
        const RunEntry* run = runs.find(id);
        if (run == nullptr || run->session == nullptr)
            return 0;
        const Series* loss = run->session->client().metrics().find("train/loss");
        return loss == nullptr ? 0 : loss->size();
    }

    RunListModel runs;
    RemoteWatch watch;
};

/// `ssh` as addSsh() has it, after `before`.
void addSshAfter(test::FakePrograms& programs, const std::string& before)
{
    programs.addSsh();
    const std::string text = programs.text("ssh");
    const std::size_t second = text.find('\n') + 1;
    writeFileAtomic(programs.folder() / "ssh", text.substr(0, second) + "FAKES='" +
                                                   programs.folder().string() + "'\n" + before +
                                                   "\n" + text.substr(second));
    fs::permissions(programs.folder() / "ssh", fs::perms::owner_all);
}

std::size_t callsTo(const test::FakePrograms& programs, const std::string& host)
{
    std::istringstream hosts(programs.text("hosts"));
    std::size_t calls = 0;
    for (std::string line; std::getline(hosts, line);)
        calls += line == host;
    return calls;
}

} // namespace

/// Copies of runs on other disks follow them while a window is open.
class TestRemoteWatch : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aCopyWaitsWorksAndEndsWithItsRun()
    {
        test::FakePrograms programs;
        programs.addSsh();
        programs.add("squeue");
        FarRun bench;
        WatchedList window(bench, false);
        const JobWatch jobs(window.runs);
        const Job job{"uni", "", "12"}; // of the queue there
        writeJob(bench.there(), job);
        QTRY_COMPARE(window.textOf(bench.id()), QString("Queued (other jobs go first)"));
        QVERIFY(window.runs.find(bench.id())->isElsewhere());
        QCOMPARE(window.runs.find(bench.id())->target(), QString("uni"));
        bench.say("Running", "Running on gpu07");
        bench.work("Running", 4);
        QTRY_COMPARE(window.textOf(bench.id()), QString("Running on gpu07"));
        QTRY_COMPARE(window.numbersOf(bench.id()), std::size_t{4});
        fs::create_directories(bench.there().artifacts());
        writeFileAtomic(bench.there().artifacts() / "plate.txt", "warm");
        bench.work("Completed", 9);
        bench.say("Completed", "Completed");
        QTRY_COMPARE(window.textOf(bench.id()), QString("Completed"));
        QTRY_COMPARE(window.numbersOf(bench.id()), std::size_t{9});
        QTRY_VERIFY(fs::exists(bench.here().artifacts() / "plate.txt"));
        QCOMPARE(programs.text("squeue.arguments"), std::string());
    }
    void aRunThatHasEndedIsLeftAlone()
    {
        test::FakePrograms programs;
        programs.addSsh();
        FarRun ended, other("h2", "run-2"); // the other one tells the time
        other.work("Running", 4);
        other.say("Running", "Running on gpu07");
        ended.work("Completed", 9);
        writeStatus(ended.here(), FarRun::status("Completed", 9));
        RemoteRun remote = ended.remote();
        remote.state = remote.text = "Completed";
        writeRemoteRun(ended.here(), remote);
        WatchedList window(ended);
        window.runs.setFurtherFolders({other.runs()});
        QTRY_VERIFY(callsTo(programs, "h2") > 6);
        QCOMPARE(callsTo(programs, "h1"), std::size_t{0});
        QCOMPARE(window.textOf(ended.id()), QString("Completed"));
    }
    void aSilentLinkIsToldOnceAndLosesNothing()
    {
        test::FakePrograms programs;
        addSshAfter(
            programs,
            "[ -e \"$FAKES/broken\" ] && { echo x >>\"$FAKES/tries\"; echo 'ssh: connect to "
            "host h1 port 22: Connection timed out' >&2; exit 255; }");
        FarRun bench;
        bench.work("Running", 4);
        bench.say("Running", "Running on gpu07");
        WatchedList window(bench);
        QSignalSpy silent(&window.watch, &RemoteWatch::linkSilent);
        QSignalSpy answers(&window.watch, &RemoteWatch::linkAnswers);
        QSignalSpy states(&window.runs, &RunListModel::runStateChanged);
        QTRY_COMPARE(window.textOf(bench.id()), QString("Running on gpu07"));
        QTRY_COMPARE(window.numbersOf(bench.id()), std::size_t{4});
        states.clear();
        writeFileAtomic(programs.folder() / "broken", "");
        QTRY_COMPARE(silent.size(), 1);
        const QString said = silent.front().front().toString();
        QVERIFY2(said.startsWith("uni has not been reached since "), qPrintable(said));
        QVERIFY2(said.endsWith(". The runs there go on; this window follows again as soon as it "
                               "answers."),
                 qPrintable(said));
        QTRY_VERIFY(programs.text("tries").size() > 6); // and again, and again
        QVERIFY2(window.textOf(bench.id()).startsWith("Running on gpu07, not reached since "),
                 qPrintable(window.textOf(bench.id())));
        const auto cell = window.runs.index(window.runs.rowOf(bench.id()), RunListModel::State);
        QCOMPARE(cell.data().toString(), QString("Not reached"));
        fs::remove(programs.folder() / "broken");
        QTRY_COMPARE(answers.size(), 1);
        QCOMPARE(answers.front().front().toString(), QString("uni"));
        QTRY_COMPARE(window.textOf(bench.id()), QString("Running on gpu07"));
        bench.work("Running", 6);
        QTRY_COMPARE(window.numbersOf(bench.id()), std::size_t{6});
        QCOMPARE(silent.size(), 1);
        QVERIFY(states.isEmpty());
    }
    void theEndThatOnlyTheOtherSideKnowsIsTheRuns()
    {
        test::FakePrograms programs;
        programs.addSsh();
        FarRun bench;
        bench.work("Running", 4);
        bench.say("Running", "Running on gpu07");
        WatchedList window(bench);
        QTRY_COMPARE(window.textOf(bench.id()), QString("Running on gpu07"));
        QSignalSpy states(&window.runs, &RunListModel::runStateChanged);
        bench.say("Failed", "Failed", "Its job 12 ended before the run was over: its node failed.");
        QTRY_COMPARE(window.runs.find(bench.id())->state, RunState::Failed);
        QVERIFY(window.runs.find(bench.id())->problem.endsWith("its node failed."));
        QCOMPARE(window.runs.find(bench.id())->problemId, QString("E-JOB"));
        QCOMPARE(states.size(), 1); // and was not lost between
    }
    void aLookBeginsAfterTheLastOne()
    {
        test::FakePrograms programs;
        addSshAfter(programs, "mkdir \"$FAKES/busy\" || touch \"$FAKES/overlap\"\n"
                              "trap 'rmdir \"$FAKES/busy\"' EXIT\nsleep 0.3\n(");
        writeFileAtomic(programs.folder() / "ssh", programs.text("ssh") + ")\n");
        fs::permissions(programs.folder() / "ssh", fs::perms::owner_all);
        FarRun bench;
        RunListModel runs;
        RemoteWatch watch(runs, [](const QString&) { return true; });
        bench.work("Running", 4);
        bench.say("Running", "Running on gpu07");
        runs.setFolder(bench.runs());
        QTRY_VERIFY(callsTo(programs, "h1") > 8);
        QVERIFY(!fs::exists(programs.folder() / "overlap"));
    }
    void aRunThatComesHomeIsLeftAlone()
    {
        test::FakePrograms programs;
        programs.addSsh();
        FarRun bench, other("h2", "run-2");
        other.work("Running", 4);
        other.say("Running", "Running on gpu07");
        WatchedList window(bench);
        window.watch.leave(bench.id());
        window.runs.setFurtherFolders({other.runs()});
        QTRY_VERIFY(callsTo(programs, "h2") > 6);
        QCOMPARE(callsTo(programs, "h1"), std::size_t{0});
        window.watch.takeBack(bench.id());
        QTRY_VERIFY(callsTo(programs, "h1") > 0);
    }
    void aWindowThatClosesWaitsForNoLink()
    {
        test::FakePrograms programs;
        addSshAfter(programs,
                    "touch \"$FAKES/asked\"; while ! [ -e \"$FAKES/goes\" ]; do sleep 0.1; done; "
                    "exit 255");
        const FarRun bench;
        {
            const WatchedList window(bench);
            QTRY_VERIFY(fs::exists(programs.folder() / "asked"));
        } // would never end
        writeFileAtomic(programs.folder() / "goes", "");
    }
};

VERGENCE_WINDOW_TEST(TestRemoteWatch)
#include "tst_remote_watch.moc"
