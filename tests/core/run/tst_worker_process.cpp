#include <QFile>
#include <QSignalSpy>
#include <QtTest>

#include <csignal>

#include <unistd.h>

#include "core/base/file.h"
#include "core/run/worker_process.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;

class WorkerProcessTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void workerStandsBehindTheWindow();
    void workersAreHeardWhereNothingCanBeWritten();
};

/// In a session of its own, which counts less than ours where both want a processor.
void WorkerProcessTest::workerStandsBehindTheWindow()
{
    const test::Scratch folder;
    WorkerProcess process;
    QSignalSpy ended(&process, &WorkerProcess::ended);
    process.start("/bin/sleep", {"30"}, RunFolder::createAt(folder / "run"));
    QTRY_VERIFY(process.processId() > 0);
    const int worker = process.processId();
    QTRY_COMPARE(::getsid(worker), worker);
    QFile group(QString("/proc/%1/autogroup").arg(worker));
    if (group.open(QIODevice::ReadOnly)) {
        const QByteArray text = group.readAll();
        QVERIFY2(text.trimmed().endsWith("nice 5"), text.constData());
    }
    ::kill(worker, SIGKILL);
    QTRY_COMPARE(ended.count(), 1);
    QVERIFY(!process.isRunning());
}

void WorkerProcessTest::workersAreHeardWhereNothingCanBeWritten()
{
    WorkerProcess process;
    QSignalSpy ended(&process, &WorkerProcess::ended);
    process.start("/bin/sh", {"-c", "echo vergence: no room here >&2; exit 8"},
                  RunFolder{"/proc/sys/run"}); // the administrator cannot write there either
    QTRY_COMPARE(ended.count(), 1);
    QVERIFY2(process.ending()->whyNotStarted.isEmpty(),
             qPrintable(process.ending()->whyNotStarted));
    QCOMPARE(process.ending()->exitCode, 8);
    QCOMPARE(readFile(process.strayLog()), std::string("vergence: no room here\n"));
}

VERGENCE_TEST(WorkerProcessTest)
#include "tst_worker_process.moc"
