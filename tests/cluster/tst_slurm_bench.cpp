#include <QFile>
#include <QTemporaryDir>

#include "tests/support/cluster/slurm_bench.h"
#include "tests/support/fake_programs.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence::test;

namespace {

/// Notes its node and begins a child that never ends; the first start alone.
const QByteArray kWaits = R"(
echo $SLURMD_NODENAME >>nodes
[ -z "$SLURM_RESTART_COUNT" ] || exit 0
sleep 1000 & echo $! >child
)";

/// Whether the process whose number is in `file` still works.
bool isAlive(const QString& file)
{
    QFile number(file);
    if (!number.open(QIODevice::ReadOnly))
        return false;
    QFile stat("/proc/" + QString::fromUtf8(number.readAll()).trimmed() + "/stat");
    return stat.open(QIODevice::ReadOnly) && !stat.readAll().contains(") Z ");
}

} // namespace

/// The Slurm of the tests does what that of a cluster does to a plain script.
class SlurmBenchTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SLURM(); }
    void init();
    void cleanup() { m_slurm.reset(); }

    void jobsFillBothNodes();
    void deadNodesJobQueuesAgain();
    void jobsDieWithTheTest();
    void slurmThatDoesNotComeUpIsTold();

private:
    QString path(const QString& name) const { return m_folder->filePath(name); }
    /// Submits a script that fills a node; its number.
    QString submit(const QByteArray& script, const QStringList& options = {});
    QByteArray textOf(const QString& name) const;

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<SlurmBench> m_slurm;
};

void SlurmBenchTest::init()
{
    m_folder = std::make_unique<QTemporaryDir>();
    m_slurm = std::make_unique<SlurmBench>();
    QVERIFY(m_slurm->start());
}

QString SlurmBenchTest::submit(const QByteArray& script, const QStringList& options)
{
    QFile file(path("script"));
    if (file.open(QIODevice::WriteOnly))
        file.write("#!/bin/sh\n" + script);
    file.close();
    return SlurmBench::ask(QStringList{"sbatch", "--parsable", "-c", "2", "-D", m_folder->path()} +
                           options + QStringList{file.fileName()});
}

QByteArray SlurmBenchTest::textOf(const QString& name) const
{
    QFile file(path(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void SlurmBenchTest::jobsFillBothNodes()
{
    const QString job =
        submit("echo $SLURMD_NODENAME >>nodes; while [ ! -e go ]; do :; done", {"--array=0-2"});
    QTRY_COMPARE(SlurmBench::jobState(job + "_1"), QString("RUNNING"));
    QCOMPARE(SlurmBench::jobState(job + "_2"), QString("PENDING"));
    QTRY_VERIFY(textOf("nodes") == "n1\nn2\n" || textOf("nodes") == "n2\nn1\n");
    QFile go(path("go"));
    QVERIFY(go.open(QIODevice::WriteOnly));
    QTRY_COMPARE(SlurmBench::jobState(job + "_2"), QString("COMPLETED"));
}

void SlurmBenchTest::deadNodesJobQueuesAgain()
{
    const QString job = submit(kWaits + "wait");
    QTRY_VERIFY(isAlive(path("child")));
    m_slurm->powerOff("n1");
    QVERIFY(!isAlive(path("child")));
    QTRY_VERIFY(m_slurm->isDown("n1"));
    QTRY_COMPARE(SlurmBench::jobState(job), QString("COMPLETED"));
    QCOMPARE(textOf("nodes"), QByteArray("n1\nn2\n"));
}

/// Whoever holds the machines is killed without a chance to end them.
void SlurmBenchTest::jobsDieWithTheTest()
{
    QProcess test;
    test.setWorkingDirectory(m_folder->path());
    test.start("/bin/sh",
               {"-c", "\"$0\" here sh -c 'setsid sleep 1000 & echo $! >child; wait' & wait",
                VERGENCE_BINARY_DIR "/bin/tests/vergence-test-machine"});
    QTRY_VERIFY(isAlive(path("child")));
    test.kill();
    QTRY_VERIFY(!isAlive(path("child")));
    QTRY_COMPARE(test.state(), QProcess::NotRunning);
}

void SlurmBenchTest::slurmThatDoesNotComeUpIsTold()
{
    m_slurm.reset();
    FakePrograms programs;
    programs.add("slurmctld", "echo 'this container forbids it'; exit 1");
    const QString reason = SlurmBench::whyNot();
    QVERIFY2(reason.startsWith("Slurm does not come up on this computer.\n"), qPrintable(reason));
    QVERIFY2(reason.contains("this container forbids it"), qPrintable(reason));
}

VERGENCE_TEST(SlurmBenchTest)
#include "tst_slurm_bench.moc"
