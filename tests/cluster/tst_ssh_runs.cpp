#include "tests/cluster/ssh_cluster_bench.h"

#include <algorithm>

#include "core/artifact/remote_run.h"
#include "core/base/file.h"
#include "tests/cluster/cluster_results.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// Runs in the lanes of another computer, on its disk, are those that this computer would have
/// made.
class SshRunsTest : public SshClusterBench {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SSHD(); }
    void init() { QVERIFY(begin()); }
    void cleanup() { end(); }

    void computerIsFoundGood();
    void runEqualsItsLocalTwin();
    void sweepHasTwoAtATime();
    void lineIsServedInTheOrderOfSubmission();
    void strangeNamesOfFoldersStayNames();
};

namespace {

/// When a run began to work and when it ended, as its own clock wrote it: texts that sort.
struct WorkTime {
    std::string begin, end;
};

WorkTime workTimeOf(const RunFolder& run)
{
    WorkTime time;
    const QString text = QString::fromStdString(readFile(run.events()));
    for (const QString& line : text.split('\n', Qt::SkipEmptyParts)) {
        const auto event = nlohmann::json::parse(line.toStdString());
        if (event["type"] == "begin" && time.begin.empty())
            time.begin = event["time"].get<std::string>();
        if (event["type"] == "done")
            time.end = event["time"].get<std::string>();
    }
    return time;
}

/// Most runs that worked at one time.
long mostAtOnce(const std::vector<WorkTime>& times)
{
    long most = 0;
    for (const WorkTime& one : times)
        most = std::max(most, std::ranges::count_if(times, [&one](const WorkTime& other) {
                            return other.begin <= one.begin && one.begin < other.end;
                        }));
    return most;
}

/// Half a second of work.
QStringList shortRun(const QStringList& more = {})
{
    return QStringList{"chaos", "--set", "steps=10", "--set", "step_ms=50"} + more;
}

} // namespace

void SshRunsTest::computerIsFoundGood()
{
    const Outcome outcome = vergence({"targets", "check", "h1"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.out + outcome.err));
}

void SshRunsTest::runEqualsItsLocalTwin()
{
    const QStringList demo{"heat", "--preset", "demo"};
    const Outcome outcome = submitTo(demo);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder run{outcome.folder()};
    QVERIFY2(outcome.out.startsWith(path("runs")), qPrintable(outcome.out));
    QVERIFY(nameOf(folderThere(run)).startsWith(ssh().home("h1")));

    QTRY_COMPARE(listedState(run), QString("Completed"));
    const Outcome fetched = fetch(run);
    QVERIFY2(fetched.code == 0, qPrintable(fetched.err));

    QCOMPARE(statusOf(run).preset, std::string("demo"));
    QCOMPARE(differences(run, madeHere(demo)), QString());
    QCOMPARE(repeatedLines(run), QString());
    QCOMPARE(vergence({"runs", "verify", nameOf(run)}).code, 0);
    QVERIFY(isRemote(run) && !isRemote(folderThere(run)));
}

void SshRunsTest::sweepHasTwoAtATime()
{
    const Outcome outcome = submitTo(shortRun({"--sweep", "seed=1,2,3,4,5,6"}));
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const std::vector<RunFolder> runs = foldersOf(outcome);
    QCOMPARE(runs.size(), std::size_t{6});
    QTRY_VERIFY(std::ranges::all_of(
        runs, [this](const RunFolder& run) { return stateOf(folderThere(run)) == "Completed"; }));

    std::vector<WorkTime> times;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        QCOMPARE(listedState(runs[i]), QString("Completed"));
        QCOMPARE(fetch(runs[i]).code, 0);
        times.push_back(workTimeOf(runs[i]));
        const RunFolder twin = madeHere(shortRun({"--set", "seed=" + QString::number(i + 1)}));
        QCOMPARE(differences(runs[i], twin), QString());
    }
    QVERIFY(mostAtOnce(times) <= 2);
}

/// One lane is taken, so that the runs of the other one follow each other.
void SshRunsTest::lineIsServedInTheOrderOfSubmission()
{
    const RunFolder first = submitWaiting();
    std::vector<RunFolder> runs = foldersOf(submitTo(shortRun({"--sweep", "seed=1,2"})));
    runs.push_back(RunFolder{submitTo(shortRun({"--set", "seed=3"})).folder()});
    QCOMPARE(runs.size(), std::size_t{3});
    QTRY_COMPARE(listedState(runs[2]), QString("Completed"));

    for (std::size_t i = 1; i < runs.size(); ++i) {
        const WorkTime before = workTimeOf(folderThere(runs[i - 1])),
                       after = workTimeOf(folderThere(runs[i]));
        QVERIFY2(before.end <= after.begin, qPrintable(nameOf(runs[i])));
    }
    QVERIFY(waitsInTheMiddle(folderThere(first)));
}

void SshRunsTest::strangeNamesOfFoldersStayNames()
{
    const QString name = "runs of \"me\", 'you' & $(touch trace) `touch trace` *? é";
    QCOMPARE(
        newComputer("strange", {{"folder", "'''" + ssh().disk("h1") + '/' + name + "'''"}}).code,
        0);
    const QStringList demo{"heat", "--preset", "demo"};
    const Outcome outcome = submitTo(demo + QStringList{"--runs-dir", path(name)}, "strange");
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder run{outcome.folder()};
    QVERIFY2(outcome.out.startsWith(path(name) + '/'), qPrintable(outcome.out));
    QVERIFY(nameOf(folderThere(run)).startsWith(ssh().disk("h1") + '/' + name + '/'));

    QTRY_COMPARE(stateOf(folderThere(run)), QString("Completed"));
    QCOMPARE(fetch(run).code, 0);
    QCOMPARE(differences(run, madeHere(demo)), QString());
    for (const QString& place : {home(), ssh().home("h1"), ssh().disk("h1")}) {
        for (const std::string& entry : contentOf(place.toStdString()))
            QVERIFY2(!QString::fromStdString(entry).endsWith("/trace"), entry.c_str());
    }
}

VERGENCE_TEST(SshRunsTest)
#include "tst_ssh_runs.moc"
