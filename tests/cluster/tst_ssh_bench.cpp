#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>

#include "tests/support/cluster/ssh_bench.h"
#include "tests/support/fake_programs.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence::test;

/// The computers behind ssh of the tests do what those of a user do to a plain command.
class SshBenchTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { VERGENCE_NEEDS_SSHD(); }
    void init();
    void cleanup() { m_ssh.reset(); }

    void computersAreApart();
    void filesGoThereByRsync();
    void brokenLinkIsSilentUntilItIsMended();
    void deadComputerTakesAllWithIt();
    void changedKeyIsNoticed();
    void strangersAndLockedOutUsersAreRefused();
    void hiddenProgramIsMissingAlone();
    void sshdThatDoesNotComeUpIsTold();

private:
    /// Output of `ssh` as the studio calls it, with what it complains of.
    QString words(const QString& host, const QString& command, const QStringList& options = {});
    /// Starts a process there that outlives its session and counts into `file`.
    void startCounting(const QString& file);
    qint64 counted(const QString& file) const { return QFile(file).size(); }

    std::unique_ptr<SshBench> m_ssh;
};

void SshBenchTest::init()
{
    m_ssh = std::make_unique<SshBench>();
    QVERIFY(m_ssh->start());
}

QString SshBenchTest::words(const QString& host, const QString& command, const QStringList& options)
{
    QProcess ssh;
    ssh.setProcessChannelMode(QProcess::MergedChannels);
    ssh.start("ssh", QStringList{"-o", "BatchMode=yes"} + options + QStringList{host, command});
    ssh.waitForFinished(kGuardMilliseconds);
    return QString::fromUtf8(ssh.readAll()).trimmed();
}

void SshBenchTest::startCounting(const QString& file)
{
    m_ssh->ask("h1", "nohup sh -c 'while echo >>" + file +
                         "; do sleep 0.05; done' >/dev/null 2>&1 </dev/null &");
    QTRY_VERIFY(counted(file) > 0);
}

void SshBenchTest::computersAreApart()
{
    QCOMPARE(m_ssh->ask("h1", "pwd; echo $HOME"), m_ssh->home("h1") + '\n' + m_ssh->home("h1"));
    QCOMPARE(m_ssh->ask("h2", "echo $HOME"), m_ssh->home("h2"));
    QCOMPARE(m_ssh->ask("h1", "env | grep -c '^XDG_'"), QString("1"));
    m_ssh->setVariable("h1", "WORD", "it's `id` $HOME");
    QCOMPARE(m_ssh->ask("h1", "printf %s \"$WORD\""), QString("it's `id` $HOME"));
    QCOMPARE(m_ssh->ask("h2", "printf %s \"$WORD\" none"), QString("none"));
    const QString name = m_ssh->ask("h1", "hostname"); // where this user may give it one
    QVERIFY2(name == "h1" || name == QSysInfo::machineHostName(), qPrintable(name));
}

void SshBenchTest::filesGoThereByRsync()
{
    const QTemporaryDir folder;
    QFile file(folder.filePath("a 'b' $c"));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("text") == 4);
    file.close();
    QCOMPARE(QProcess::execute("rsync", {"-rt", folder.path() + '/', "h1:" + m_ssh->disk("h1")}),
             0);
    QCOMPARE(m_ssh->ask("h1", "cat '" + m_ssh->disk("h1") + "/a '\\''b'\\'' $c'"), QString("text"));
}

void SshBenchTest::brokenLinkIsSilentUntilItIsMended()
{
    const QString file = m_ssh->disk("h1") + "/count";
    startCounting(file);
    QProcess session;
    QByteArray heard;
    connect(&session, &QProcess::readyReadStandardOutput,
            [&] { heard += session.readAllStandardOutput(); });
    session.start("ssh", {"h1", "while read line; do echo \"$line\"; done"});
    session.write("one\n");
    QTRY_COMPARE(heard, QByteArray("one\n"));

    m_ssh->breakLink("h1");
    session.write("two\n");
    const QString refusal = words("h1", "echo here", {"-o", "ConnectTimeout=1"});
    QVERIFY2(refusal.contains("timed out"), qPrintable(refusal));
    QCOMPARE(heard, QByteArray("one\n"));
    QCOMPARE(m_ssh->ask("h2", "echo here"), QString("here"));
    const qint64 before = counted(file);
    QTRY_VERIFY(counted(file) > before);

    m_ssh->mendLink("h1");
    QTRY_COMPARE(heard, QByteArray("one\ntwo\n"));
    QCOMPARE(m_ssh->ask("h1", "echo here"), QString("here"));
    session.closeWriteChannel();
    QTRY_COMPARE(session.state(), QProcess::NotRunning);
}

void SshBenchTest::deadComputerTakesAllWithIt()
{
    const QString file = m_ssh->disk("h1") + "/count";
    startCounting(file);
    const QString pid = m_ssh->ask("h1", "pgrep -f " + file + " | head -n 1");
    QVERIFY2(QDir("/proc/" + pid).exists(), qPrintable(pid));
    m_ssh->powerOff("h1");
    QVERIFY(!QDir("/proc/" + pid).exists());
    QVERIFY2(words("h1", "true").contains("refused"), qPrintable(words("h1", "true")));
    QVERIFY(m_ssh->powerOn("h1"));
    QCOMPARE(m_ssh->ask("h1", "test -e " + file + " && echo kept"), QString("kept"));
}

void SshBenchTest::changedKeyIsNoticed()
{
    QVERIFY(m_ssh->changeHostKey("h1"));
    QVERIFY2(words("h1", "true").contains("REMOTE HOST IDENTIFICATION HAS CHANGED"),
             qPrintable(words("h1", "true")));
}

void SshBenchTest::strangersAndLockedOutUsersAreRefused()
{
    QVERIFY2(words("stranger", "true").contains("Host key verification failed"),
             qPrintable(words("stranger", "true")));
    QVERIFY(m_ssh->letNobodyIn("h1"));
    QVERIFY2(words("h1", "true").contains("Permission denied"), qPrintable(words("h1", "true")));
}

void SshBenchTest::hiddenProgramIsMissingAlone()
{
    m_ssh->hideProgram("h1", "rsync");
    QCOMPARE(m_ssh->ask("h1", "command -v rsync || echo none; echo | sed s/^/sed/"),
             QString("none\nsed"));
}

void SshBenchTest::sshdThatDoesNotComeUpIsTold()
{
    m_ssh.reset();
    FakePrograms programs;
    programs.add("sshd", "echo 'this container forbids it'; exit 1");
    const QString reason = SshBench::whyNot();
    QVERIFY2(reason.startsWith("Nobody can log in by ssh on this computer.\n"), qPrintable(reason));
    QVERIFY2(reason.contains("this container forbids it"), qPrintable(reason));
}

VERGENCE_TEST(SshBenchTest)
#include "tst_ssh_bench.moc"
