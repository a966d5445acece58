#include "core/cluster/run_follower.h"

#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/run/request_box.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

class RunFollowerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void whatIsNewComesAndIsNoted();
    void watchedRunHasPictures();
    void endedRunSettlesWithItsResults();
    void settledRunThatGoesOnIsFollowedAgain();
    void lostRunIsFollowedOn();
    void brokenLinkChangesNoState();
    void missingRunIsLostUntilItIsBack();
    void endedRunThatIsRemovedThereStays();
    void unreadableRunIsTold();
    void noteOfAnotherIsNotWrittenOver();
    void asksWhereAStatusChanged();
    void requestsGoFirst();
    void otherRunsAreLeftAlone();
    void fullDiskHereIsNoBrokenLink();
    void statesAreReadFromRows();
    void silentStudioIsTold();

private:
    RemoteRun newRun(const std::string& id, const std::string& state = "Running");
    void setState(const std::string& id, const std::string& state);
    /// What `vergence runs list` there says from now on.
    void sayRows(const json& rows);
    RunFolder here(const std::string& id) const { return {*m_here / id}; }
    RemoteRun noted(const std::string& id) const { return readRemoteRun(here(id)).value(); }
    int calls(const std::string& word) const;
    /// Looks at "a" and another run whose state has changed, so that the look asks.
    RunFollower::Look askingLook(RunFollower& follower);

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_here, m_there;
    std::map<std::string, json> m_rows;
};

void RunFollowerTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_programs->addSsh();
    m_programs->add("vergence", "cat \"$FAKES/rows\"");
    m_here = std::make_unique<Scratch>();
    m_there = std::make_unique<Scratch>();
    m_rows.clear();
}

void RunFollowerTest::cleanup()
{
    m_there.reset();
    m_here.reset();
    m_programs.reset();
}

void RunFollowerTest::sayRows(const json& rows)
{
    writeFileAtomic(m_programs->folder() / "rows", rows.dump());
}

void RunFollowerTest::setState(const std::string& id, const std::string& state)
{
    const RunFolder there{*m_there / id};
    RunStatus status;
    status.state = state;
    status.host = "gpu07";
    writeStatus(there, status);
    m_rows[id] = {{"folder", there.root.string()}, {"status", status.toJson()}};
    auto rows = json::array();
    for (const auto& [name, row] : m_rows)
        rows.push_back(row);
    sayRows(rows);
}

RemoteRun RunFollowerTest::newRun(const std::string& id, const std::string& state)
{
    const fs::path there = *m_there / id;
    for (const char* folder : {"live", "artifacts"}) {
        fs::create_directories(there / folder);
        writeFileAtomic(there / folder / "file", "x");
    }
    setState(id, state);
    fs::create_directories(here(id).root);
    const RemoteRun run{"uni", "n1", (m_programs->folder() / "vergence").string(), there};
    writeRemoteRun(here(id), run);
    return run;
}

/// Of programs there.
int RunFollowerTest::calls(const std::string& word) const
{
    const auto words = m_programs->arguments(word == "rsync" ? "ssh" : "vergence");
    return static_cast<int>(std::ranges::count(words, word));
}

RunFollower::Look RunFollowerTest::askingLook(RunFollower& follower)
{
    if (!m_rows.contains("other"))
        newRun("other");
    const bool wasPaused = m_rows["other"]["status"]["state"] == "Paused";
    setState("other", wasPaused ? "Running" : "Paused");
    return follower.look({{here("a")}, {here("other")}});
}

void RunFollowerTest::whatIsNewComesAndIsNoted()
{
    const RemoteRun before = newRun("a");
    RunFollower follower("n1");
    auto look = follower.look({{here("a")}});
    QCOMPARE(look.problem, std::string());
    QVERIFY(look.changed == std::vector{here("a").root});
    RemoteRun expected = before;
    expected.state = "Running";
    expected.text = "Running on gpu07";
    QVERIFY(noted("a") == expected);
    QVERIFY(look.runs.at(here("a").root) == expected);
    QCOMPARE(readStatus(here("a")).state, std::string("Running"));
    QVERIFY(!fs::exists(here("a").root / "live"));
    QVERIFY(!fs::exists(here("a").artifacts()));

    writeFileAtomic(before.folder / "metrics.csv", "step,loss\n");
    look = follower.look({{here("a")}});
    QVERIFY(look.changed.empty());
    QCOMPARE(readFile(here("a").metrics()), std::string("step,loss\n"));
}

void RunFollowerTest::watchedRunHasPictures()
{
    newRun("a");
    newRun("b");
    RunFollower("n1").look({{here("a"), true}, {here("b")}});
    QVERIFY(fs::exists(here("a").root / "live/file"));
    QVERIFY(!fs::exists(here("a").artifacts()));
    QVERIFY(!fs::exists(here("b").root / "live"));
}

void RunFollowerTest::endedRunSettlesWithItsResults()
{
    const RemoteRun run = newRun("a", "Completed");
    RunFollower follower("n1");
    askingLook(follower);
    QCOMPARE(noted("a").state, std::string("Completed"));
    writeFileAtomic(run.folder / "artifacts/last", "x"); // whatever comes before the next answer
    askingLook(follower);
    QVERIFY(fs::exists(here("a").artifacts() / "last"));

    writeFileAtomic(run.folder / "artifacts/later", "x");
    const auto look = askingLook(follower);
    QCOMPARE(look.runs.at(here("a").root).state, std::string("Completed"));
    QVERIFY(!fs::exists(here("a").artifacts() / "later"));
    const int before = calls("rsync");
    follower.look({{here("a")}});
    QCOMPARE(calls("rsync"), before); // nobody is asked for settled runs alone
}

void RunFollowerTest::settledRunThatGoesOnIsFollowedAgain()
{
    RemoteRun run = newRun("a", "Completed");
    RunFollower follower("n1");
    for (int look = 0; look < 2; ++look)
        askingLook(follower);
    setState("a", "Running");
    askingLook(follower);
    QCOMPARE(noted("a").state, std::string("Completed")); // nobody has looked
    run.state = "Queued";                                 // who submits it again notes that
    writeRemoteRun(here("a"), run);
    askingLook(follower);
    QCOMPARE(noted("a").state, std::string("Running"));
}

void RunFollowerTest::lostRunIsFollowedOn()
{
    newRun("a", "Lost");
    RunFollower follower("n1");
    for (int look = 0; look < 3; ++look)
        askingLook(follower);
    QCOMPARE(noted("a").state, std::string("Lost"));
    setState("a", "Running"); // its worker was only cut off
    askingLook(follower);
    QCOMPARE(noted("a").state, std::string("Running"));
}

void RunFollowerTest::brokenLinkChangesNoState()
{
    newRun("a");
    RunFollower follower("n1");
    follower.look({{here("a")}});
    m_programs->add("ssh", "sleep 0.2\n"
                           "echo 'ssh: connect to host n1 port 22: Connection refused' >&2\n"
                           "exit 255");
    const double before = epochSeconds();
    auto look = follower.look({{here("a")}});
    const std::string sentence = "n1 takes no connections by ssh. Ask whether it is a login "
                                 "computer.";
    QCOMPARE(look.problem, sentence);
    QVERIFY(look.changed == std::vector{here("a").root});
    const double since = noted("a").unreachedSince;
    QVERIFY(since >= before && since <= epochSeconds() - 0.2); // from when it did not answer on
    QCOMPARE(noted("a").state, std::string("Running"));
    QCOMPARE(noted("a").text, std::string("Running on gpu07"));

    look = follower.look({{here("a")}});
    QCOMPARE(look.problem, sentence);
    QVERIFY(look.changed.empty());
    QCOMPARE(noted("a").unreachedSince, since);

    m_programs->addSsh();
    look = follower.look({{here("a")}});
    QCOMPARE(look.problem, std::string());
    QCOMPARE(noted("a").unreachedSince, 0.0);
}

void RunFollowerTest::missingRunIsLostUntilItIsBack()
{
    const RemoteRun run = newRun("a");
    newRun("b");
    RunFollower follower("n1");
    follower.look({{here("a")}, {here("b")}});
    fs::rename(run.folder, *m_there / "away");
    const json row = m_rows["a"];
    m_rows["a"] = {{"folder", run.folder.string()}, {"problem", "There is no run a."}};
    setState("b", "Paused"); // so that the look asks
    const auto look = follower.look({{here("a")}, {here("b")}});
    QCOMPARE(look.problem, std::string());
    QCOMPARE(noted("a").state, std::string("Lost"));
    QCOMPARE(noted("a").problem, "n1 has no run " + run.folder.string() + " any more.");
    QCOMPARE(noted("b").state, std::string("Paused"));

    fs::rename(*m_there / "away", run.folder);
    m_rows["a"] = row;
    setState("b", "Running");
    follower.look({{here("a")}, {here("b")}});
    QCOMPARE(noted("a").state, std::string("Running"));
    QCOMPARE(noted("a").problem, std::string());
    writeFileAtomic(run.folder / "metrics.csv", "step,loss\n");
    follower.look({{here("a")}, {here("b")}});
    QCOMPARE(readFile(here("a").metrics()), std::string("step,loss\n"));
}

void RunFollowerTest::endedRunThatIsRemovedThereStays()
{
    const RemoteRun run = newRun("a", "Completed");
    RunFollower follower("n1");
    follower.look({{here("a")}});
    fs::remove_all(run.folder);
    m_rows.erase("a");
    const auto look = askingLook(follower);
    QCOMPARE(look.problem, std::string());
    QCOMPARE(noted("a").state, std::string("Completed"));
    QCOMPARE(noted("a").problem, std::string());
    const int before = calls("rsync");
    follower.look({{here("a")}});
    QCOMPARE(calls("rsync"), before);
}

void RunFollowerTest::unreadableRunIsTold()
{
    const RemoteRun run = newRun("a");
    sayRows({{{"folder", run.folder.string()}, {"problem", "status.json is damaged."}}});
    RunFollower("n1").look({{here("a")}});
    QCOMPARE(noted("a").state, std::string());
    QCOMPARE(noted("a").problem,
             "The studio on n1 cannot read the run " + run.folder.string() + ".");
}

void RunFollowerTest::noteOfAnotherIsNotWrittenOver()
{
    RemoteRun run = newRun("a", "Stopped");
    run.state = "Queued"; // noted by who submits it while this look asks
    const fs::path other = m_programs->folder() / "remote";
    fs::create_directories(other);
    writeRemoteRun({other}, run);
    m_programs->add("vergence", "cp \"$FAKES/remote/remote.json\" '" +
                                    remoteFile(here("a")).string() + "'; cat \"$FAKES/rows\"");
    const auto look = RunFollower("n1").look({{here("a")}});
    QVERIFY(look.changed.empty());
    QCOMPARE(noted("a").state, std::string("Queued"));
}

void RunFollowerTest::asksWhereAStatusChanged()
{
    newRun("a");
    newRun("b", "Paused");
    const double begin = steadySeconds();
    RunFollower follower("n1");
    const int looks = 5;
    for (int look = 0; look < looks; ++look)
        follower.look({{here("a")}, {here("b")}});
    // The first, and one more for each three seconds that this took.
    QVERIFY(calls("runs") >= 1 && calls("runs") <= 1 + (steadySeconds() - begin) / 3);
    QCOMPARE(calls("rsync"), looks);
    setState("b", "Running");
    follower.look({{here("a")}, {here("b")}});
    QCOMPARE(noted("b").state, std::string("Running"));
}

void RunFollowerTest::requestsGoFirst()
{
    const RemoteRun run = newRun("a");
    postRequest(here("a"), "window", {{"type", "pause"}, {"id", 7}});
    RunFollower("n1").look({{here("a")}});
    QCOMPARE(contentOf(run.folder / "requests").size(), 1u);
    QVERIFY(contentOf(here("a").root / "requests").empty());
}

void RunFollowerTest::otherRunsAreLeftAlone()
{
    RemoteRun elsewhere = newRun("a");
    elsewhere.login = "n2";
    writeRemoteRun(here("a"), elsewhere);
    fs::create_directories(here("local").root);
    RunFollower follower("n1");
    auto look = follower.look({{here("a")}, {here("local")}});
    QVERIFY(look.runs.empty() && look.problem.empty());
    QCOMPARE(m_programs->text("hosts"), std::string());

    newRun("b");
    writeFileAtomic(remoteFile(here("a")), "{");
    look = follower.look({{here("a")}, {here("b")}});
    QVERIFY2(look.problem.find("remote.json") != std::string::npos, look.problem.c_str());
    QCOMPARE(look.runs.size(), 1u);
}

void RunFollowerTest::fullDiskHereIsNoBrokenLink()
{
    newRun("a");
    m_programs->add("rsync", "echo 'rsync: [receiver] write failed on \"/x\": No space left on "
                             "device (28)' >&2; exit 11");
    const auto look = RunFollower("n1").look({{here("a")}});
    QVERIFY2(look.problem.find("the disk is full") != std::string::npos, look.problem.c_str());
    QCOMPARE(noted("a").unreachedSince, 0.0);
}

void RunFollowerTest::statesAreReadFromRows()
{
    std::vector<RemoteRun> runs{newRun("queued"), newRun("plain"), newRun("gone"), newRun("ended")};
    runs[0].state = "Stopped";
    runs[0].unreachedSince = 5;
    const auto row = [&](int run, const json& rest) {
        json row = {{"folder", runs[static_cast<std::size_t>(run)].folder.string()}};
        row.update(rest);
        return row;
    };
    sayRows({row(0, {{"status", {{"state", "Queued"}}}, {"job", {{"text", "Queued (priority)"}}}}),
             row(1, {{"status", {{"state", "Running"}}}}),
             row(3, {{"status", {{"state", "Failed"}, {"problem", "exit code 1"}, {"host", "g"}}}}),
             {{"folder", "/other"}, {"status", {{"state", "Running"}}}},
             row(2, {{"status", {{"state", "Nonsense"}}}}),
             "no row"});
    const auto states = askStates("n1", runs[0].program, runs);
    QCOMPARE(states.size(), 3u);
    RemoteRun expected = runs[0];
    expected.state = "Queued";
    expected.text = "Queued (priority)";
    expected.unreachedSince = 0;
    QVERIFY(states.at(runs[0].folder) == expected);
    QCOMPARE(states.at(runs[1].folder).text, std::string("Running"));
    QCOMPARE(states.at(runs[3].folder).text, std::string("Failed"));
    QCOMPARE(states.at(runs[3].folder).problem, std::string("exit code 1"));

    // However many there are, no command is too long.
    std::vector<RemoteRun> many;
    for (int i = 0; i < 3000; ++i) {
        many.push_back(runs[1]);
        many.back().folder = *m_there / (std::string(100, 'x') + std::to_string(i));
    }
    sayRows(json::array());
    QVERIFY(askStates("n1", runs[0].program, many).empty());
    const auto words = m_programs->arguments("vergence");
    QCOMPARE(std::ranges::count(words, (*m_there / (std::string(100, 'x') + "2999")).string()), 1);
}

void RunFollowerTest::silentStudioIsTold()
{
    const RemoteRun run = newRun("a");
    m_programs->add("vergence", "echo 'RUN was not expected' >&2; exit 2");
    const auto look = RunFollower("n1").look({{here("a")}});
    QVERIFY2(look.problem.starts_with("The studio on n1 does not say how its runs stand: "),
             look.problem.c_str());
    QVERIFY(noted("a").unreachedSince > 0);
    QVERIFY(fs::exists(here("a").status())); // what came before that is kept
}

VERGENCE_TEST(RunFollowerTest)
#include "tst_run_follower.moc"
