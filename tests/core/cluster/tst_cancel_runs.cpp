#include "core/cluster/cancel_runs.h"

#include "core/base/error.h"
#include "core/cluster/job_file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

class CancelRunsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_programs.reset(); }

    void eachRunHasItsAnswer();
    void runThatBeganAfterAllIsLeftAlone();
    void silentQueueCancelsNothing();

private:
    RunFolder newRun(const std::string& state, int task, std::int64_t step = 0);

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<Scratch> m_runs;
    int m_count = 0;
};

void CancelRunsTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_runs = std::make_unique<Scratch>();
    m_programs->add("squeue",
                    "printf '7_0|PENDING||None\\n7_1|RUNNING|n1|None\\n7_2|PENDING||None\\n"
                    "7_3|PENDING||None\\n'");
    m_programs->add("scancel");
}

RunFolder CancelRunsTest::newRun(const std::string& state, int task, std::int64_t step)
{
    const RunFolder run = RunFolder::createAt(*m_runs / std::to_string(m_count++));
    RunStatus status;
    status.state = state;
    status.step = step;
    status.job = state == "Queued" ? "" : "slurm 7";
    writeStatus(run, status);
    if (task >= 0)
        writeJob(run, {"uni", "", "7", task});
    return run;
}

void CancelRunsTest::eachRunHasItsAnswer()
{
    const std::vector<RunFolder> runs{newRun("Queued", 0),       newRun("Running", 1, 5),
                                      newRun("Queued", 2, 5),    newRun("Stopped", 3, 5),
                                      newRun("Queued", 8),       newRun("Running", 9, 5),
                                      newRun("Completed", 1, 5), newRun("Running", -1)};
    const auto answers = cancelRuns(runs);
    using enum Cancellation;
    QVERIFY((answers == std::vector{LeftQueue, Stops, LeftQueue, LeftQueue, HasEnded, HasEnded,
                                    HasEnded, HasNoJob}));
    QCOMPARE(m_programs->arguments("scancel"),
             (std::vector<std::string>{"7_0", "7_1", "7_2", "7_3"}));
    QCOMPARE(readStatus(runs[0]).state, std::string("Stopped"));
    QCOMPARE(readStatus(runs[0]).problem, std::string("cancelled before it began"));
    QCOMPARE(readStatus(runs[1]).state, std::string("Running"));
    QCOMPARE(readStatus(runs[2]).problem, std::string("cancelled while it waited to go on"));
    QCOMPARE(readStatus(runs[3]).problem, std::string());
    QCOMPARE(readStatus(runs[4]).state, std::string("Queued")); // Slurm knows how it ended
}

void CancelRunsTest::runThatBeganAfterAllIsLeftAlone()
{
    const RunFolder run = newRun("Queued", 0), running = newRun("Running", 0, 3);
    m_programs->add("scancel",
                    "cp '" + running.status().string() + "' '" + run.status().string() + "'");
    QVERIFY(cancelRuns({run}) == std::vector{Cancellation::LeftQueue});
    QCOMPARE(readStatus(run).state, std::string("Running"));
}

void CancelRunsTest::silentQueueCancelsNothing()
{
    const RunFolder run = newRun("Queued", 0);
    m_programs->add("squeue", "echo 'error: Unable to contact slurm controller' >&2; exit 1");
    VERGENCE_THROWS(InputError, "Slurm's controller does not answer", cancelRuns({run}));
    QCOMPARE(readStatus(run).state, std::string("Queued"));
    QVERIFY(m_programs->arguments("scancel").empty());
}

VERGENCE_TEST(CancelRunsTest)
#include "tst_cancel_runs.moc"
