#include "core/cluster/lane_jobs.h"

#include <algorithm>
#include <cmath>

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cluster/submit_runs.h"
#include "core/run/worker_log.h"
#include "tests/support/fake_programs.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;
namespace fs = std::filesystem;

/// Runs that wait for lanes of this computer, with a program of the test in place of `vergence`.
class LaneJobsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void scriptIsReadable();
    void wordsAreNeverExecuted();
    void runsKnowTheirJobs();
    void processesComeToTheirFolders();
    void orderOfSubmissionIsThatOfThePlaces();
    void resumedRunKeepsItsProgress();
    void processThatCannotBeStartedLeavesTheRunsAsTheyWere();
    void runThatCannotBeWrittenStartsNothing();
    void schedulerOfTheTargetDecides();

private:
    RunFolder newRun(const std::string& name, const std::string& state = "Draft");
    std::vector<Job> submit(const Submission& submission)
    {
        return submitToLanes(m_target, submission, (m_programs->folder() / "vergence").string());
    }
    /// Words behind the `--place` of each process, which the program notes.
    std::vector<std::string> places() const;

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_runs;
    Target m_target;
};

void LaneJobsTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_programs->add("vergence", "echo \"in $PWD\"\necho done >>\"$2/done\"");
    m_runs = std::make_unique<Scratch>();
    m_target = {};
    m_target.name = "desk";
    m_target.scheduler = Scheduler::Lanes;
    m_target.lanes = {"cpu", "cuda:0"};
}

RunFolder LaneJobsTest::newRun(const std::string& name, const std::string& state)
{
    const RunFolder run = RunFolder::createAt(*m_runs / name);
    RunStatus status;
    status.state = state;
    status.plugin = "heat";
    writeStatus(run, status);
    return run;
}

std::vector<std::string> LaneJobsTest::places() const
{
    std::vector<std::string> found;
    const std::vector<std::string> words = m_programs->arguments("vergence");
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i] == "--place")
            found.push_back(words[i + 1]);
    std::ranges::sort(found);
    return found;
}

void LaneJobsTest::scriptIsReadable()
{
    const Submission submission{
        "heat", {{"/r/a"}, {"/r/b"}}, {"--checkpoint-every", "5"}, "/home/me"};
    const Job job{"desk", "", "1764220000000", 1, Scheduler::Lanes};
    QCOMPARE(laneScript(m_target, submission, 1, job, "/opt/vergence"),
             std::string("#!/bin/bash\n"
                         "# A run of Vergence Studio, which waits for a lane of this computer.\n"
                         "run=/r/b\n"
                         "exec >>\"$run\"/worker.log 2>&1\n"
                         "cd -- /home/me  # where relative paths of a configuration begin\n"
                         "exec /opt/vergence lane \"$run\" --place 17642200000000000001 --lane cpu "
                         "--lane cuda:0 -- --checkpoint-every 5\n"));
    m_target.lanes.clear();
    const std::string plain = laneScript(m_target, {"heat", {{"/r/a"}}, {}, {}}, 0,
                                         {"desk", "", "1764220000000"}, "/opt/vergence");
    QVERIFY2(plain.ends_with("exec >>\"$run\"/worker.log 2>&1\n"
                             "exec /opt/vergence lane \"$run\" --place 17642200000000000000\n"),
             plain.c_str());
}

void LaneJobsTest::wordsAreNeverExecuted()
{
    const std::string evil = "a b'\"$(touch evil)`touch evil`;touch evil&\\ é";
    const RunFolder run = newRun(evil);
    const fs::path place = *m_runs / ("in " + evil);
    fs::create_directories(place);
    m_target.lanes = {evil};
    submit({"heat", {run}, {"--set", "title=" + evil}, place});
    QTRY_VERIFY(fs::exists(run.root / "done"));
    const auto words = m_programs->arguments("vergence");
    QCOMPARE(words.size(), std::size_t{9});
    QCOMPARE(words[1], run.root.string());
    QCOMPARE(words[5], evil);
    QCOMPARE(words[8], "title=" + evil);
    QCOMPARE(readFile(workerLog(run)), "in " + place.string() + "\n");
    for (const auto& entry : fs::recursive_directory_iterator(m_runs->path()))
        QVERIFY(entry.path().filename() != "evil");
}

void LaneJobsTest::runsKnowTheirJobs()
{
    const Submission submission{"heat", {newRun("a"), newRun("b"), newRun("c")}, {}, {}};
    const double before = epochSeconds();
    const auto jobs = submit(submission);
    QCOMPARE(jobs.size(), std::size_t{3});
    QVERIFY(std::stod(jobs[0].id) >= std::floor(before * 1000));
    QVERIFY(std::stod(jobs[0].id) <= std::ceil(epochSeconds() * 1000));
    for (std::size_t i = 0; i < 3; ++i) {
        const RunFolder& run = submission.runs[i];
        QCOMPARE(readStatus(run).state, std::string("Queued"));
        QCOMPARE(readStatus(run).plugin, std::string("heat"));
        const auto job = readJob(run);
        QVERIFY(job && job->scheduler == Scheduler::Lanes);
        QCOMPARE(job->target, std::string("desk"));
        QCOMPARE(job->slurmId(), jobs[0].id + "_" + std::to_string(i));
        QCOMPARE(readFile(jobScript(run)),
                 laneScript(m_target, submission, i, *job,
                            (m_programs->folder() / "vergence").string()));
        QTRY_VERIFY(fs::exists(run.root / "done"));
    }
    const RunFolder single = newRun("d");
    QCOMPARE(submit({"heat", {single}, {}, {}}).front().task, -1);
    QTRY_VERIFY(fs::exists(single.root / "done"));
}

void LaneJobsTest::processesComeToTheirFolders()
{
    const RunFolder run = newRun("a");
    writeFileAtomic(workerLog(run), "earlier\n");
    m_programs->add("vergence", "echo \"of session $(ps -o sid= -p $$)\"\ncat\necho oops >&2\n"
                                "echo done >>\"$2/done\"");
    submit({"heat", {run}, {}, {}});
    QTRY_VERIFY(fs::exists(run.root / "done"));
    const QString log = QString::fromStdString(readFile(workerLog(run)));
    QVERIFY2(log.startsWith("earlier\nof session ") && log.endsWith("\noops\n"), qPrintable(log));
    const int session = log.section("session", 1).section('\n', 0, 0).trimmed().toInt();
    QVERIFY(session > 0 && session != ::getsid(0));
}

void LaneJobsTest::orderOfSubmissionIsThatOfThePlaces()
{
    Submission many{"heat", {}, {}, {}};
    for (int i = 0; i < 11; ++i)
        many.runs.push_back(newRun(std::to_string(i)));
    const auto jobs = submit(many);
    std::vector<std::string> wanted;
    for (const Job& job : jobs)
        wanted.push_back(job.id + (job.task < 10 ? "000000" : "00000") + std::to_string(job.task));
    QTRY_COMPARE(places().size(), std::size_t{11});
    QCOMPARE(places(), wanted);
    const Job next = submit({"heat", {newRun("next")}, {}, {}}).front();
    QVERIFY(next.id >= jobs[0].id);
    QCOMPARE(next.id.size(), jobs[0].id.size());
    QTRY_COMPARE(places().size(), std::size_t{12});
    QTRY_VERIFY(fs::exists(*m_runs / "next/done"));
}

void LaneJobsTest::resumedRunKeepsItsProgress()
{
    const RunFolder run = newRun("a");
    RunStatus status = readStatus(run);
    status.state = "Crashed";
    status.step = 20;
    status.total = 50;
    status.pid = 17;
    status.host = currentHost();
    status.bootId = currentBootId();
    status.problem = "gone";
    writeStatus(run, status);
    submit({"heat", {run}, {}, {}});
    const RunStatus after = readStatus(run);
    QCOMPARE(after.state, std::string("Queued"));
    QCOMPARE(after.step, std::int64_t{20});
    QCOMPARE(after.total, std::int64_t{50});
    QCOMPARE(after.pid, 0);
    QCOMPARE(after.problem, std::string());
    QTRY_VERIFY(fs::exists(run.root / "done"));
}

void LaneJobsTest::processThatCannotBeStartedLeavesTheRunsAsTheyWere()
{
    m_programs->hideOthers({"cat"});
    const RunFolder run = newRun("a", "Stopped");
    VERGENCE_THROWS(InputError, "The run a cannot wait for a lane: bash cannot be started",
                    submit({"heat", {run}, {}, {}}));
    QCOMPARE(readStatus(run).state, std::string("Stopped"));
}

void LaneJobsTest::runThatCannotBeWrittenStartsNothing()
{
    const RunFolder good = newRun("a", "Stopped"), bad = newRun("b");
    fs::create_directories(jobFile(bad) / "in the way");
    VERGENCE_THROWS(OutputError, "job.json", submit({"heat", {good, bad}, {}, {}}));
    QCOMPARE(readStatus(good).state, std::string("Stopped"));
    QVERIFY(m_programs->arguments("vergence").empty());
    writeFileAtomic(good.status(), "{");
    VERGENCE_THROWS(InputError, "not valid JSON", submit({"heat", {good}, {}, {}}));
}

void LaneJobsTest::schedulerOfTheTargetDecides()
{
    m_programs->add("sbatch", "cat >/dev/null\necho 7");
    const std::string program = (m_programs->folder() / "vergence").string();
    const RunFolder lane = newRun("a"), queue = newRun("b");
    submitRuns(m_target, {"heat", {lane}, {}, {}}, program);
    QVERIFY(readJob(lane)->scheduler == Scheduler::Lanes);
    m_target.scheduler = Scheduler::Slurm;
    m_target.lanes.clear();
    submitRuns(m_target, {"heat", {queue}, {}, {}}, program);
    QVERIFY(readJob(queue)->scheduler == Scheduler::Slurm);
    QTRY_VERIFY(fs::exists(lane.root / "done"));
    QVERIFY(!fs::exists(queue.root / "done"));
}

VERGENCE_TEST(LaneJobsTest)
#include "tst_lane_jobs.moc"
