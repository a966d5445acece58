#include "core/cluster/job_file.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

class JobFileTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void jobIsRead();
    void schedulerIsRead();
    void runWithoutJobHasNone();
    void damagedFileIsTold_data();
    void damagedFileIsTold();
};

void JobFileTest::jobIsRead()
{
    const Scratch folder;
    const RunFolder run{folder.path()};
    for (const int task : {-1, 0, 7}) {
        writeJob(run, {"uni", "me@n1", "1234", task});
        const auto job = readJob(run);
        QVERIFY(job);
        QCOMPARE(job->target, std::string("uni"));
        QCOMPARE(job->login, std::string("me@n1"));
        QCOMPARE(job->slurmId(), task < 0 ? "1234" : "1234_" + std::to_string(task));
    }
}

void JobFileTest::schedulerIsRead()
{
    const Scratch folder;
    const RunFolder run{folder.path()};
    for (const Scheduler scheduler : {Scheduler::Slurm, Scheduler::Lanes}) {
        writeJob(run, {"desk", "", "1764220000000", 3, scheduler});
        QVERIFY(readJob(run)->scheduler == scheduler);
        QCOMPARE(readJob(run)->slurmId(), std::string("1764220000000_3"));
    }
    // Of before there were lanes.
    writeFileAtomic(jobFile(run), R"({"target": "uni", "login": "", "id": "7"})");
    QVERIFY(readJob(run)->scheduler == Scheduler::Slurm);
}

void JobFileTest::runWithoutJobHasNone()
{
    const Scratch folder;
    QVERIFY(!readJob(RunFolder{folder.path()}));
}

void JobFileTest::damagedFileIsTold_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const char* text, const char* part) {
        QTest::newRow(name) << QByteArray(text) << QByteArray(part);
    };
    row("no JSON", "{", "not valid JSON");
    row("array", "[]", "it is not a JSON object");
    row("no id", R"({"target": "t", "login": ""})", "`id` must be a text");
    row("id that is none", R"({"target": "t", "login": "", "id": "--all"})",
        "`id` must be the number of a job");
    row("empty id", R"({"target": "t", "login": "", "id": ""})", "the number of a job");
    row("login that is an option", R"({"target": "t", "login": "-oX", "id": "1"})",
        "`login` must be a computer");
    row("task below 0", R"({"target": "t", "login": "", "id": "1", "task": -3})",
        "`task` must be a number of a task");
    row("scheduler that is none", R"({"target": "t", "login": "", "id": "1", "scheduler": "cron"})",
        "`scheduler` must be slurm or lanes");
    row("scheduler that is a number", R"({"target": "t", "login": "", "id": "1", "scheduler": 1})",
        "`scheduler` must be a text");
    row("task that is text", R"({"target": "t", "login": "", "id": "1", "task": "2"})",
        "`task` must be a number of a task");
}

void JobFileTest::damagedFileIsTold()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, part);
    const Scratch folder;
    const RunFolder run{folder.path()};
    writeFileAtomic(jobFile(run), text.toStdString());
    VERGENCE_THROWS(InputError, part, readJob(run));
    VERGENCE_THROWS(InputError, "job.json", readJob(run));
}

VERGENCE_TEST(JobFileTest)
#include "tst_job_file.moc"
