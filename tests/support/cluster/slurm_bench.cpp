#include "tests/support/cluster/slurm_bench.h"

#include <QFile>
#include <QRandomGenerator>
#include <QRegularExpression>
#include <QTest>
#include <QVersionNumber>

#include <unistd.h>

#include "tests/support/patience.h"

namespace vergence::test {

namespace {

constexpr int kCommandMilliseconds = 30'000;

/// slurmd 22.05 wants control groups to be there or not configured; 24.05 can do without them,
/// as it must in a container.
bool canLeaveControlGroups()
{
    const QString version = SlurmBench::ask({"slurmctld", "-V"}); // "slurm-wlm 22.05.8"
    return QVersionNumber::fromString(version.section(' ', -1)) >= QVersionNumber(24, 5);
}

/// A program of Slurm that this computer lacks, in a sentence; empty where there are all.
QString missingProgram()
{
    for (const char* name : {"munged", "slurmctld", "slurmd", "sbatch", "scontrol"}) {
        if (daemonProgram(name).isEmpty()) {
            return QStringLiteral("There is no %1; packaging/debian-packages.txt names the "
                                  "packages of Slurm.")
                .arg(name);
        }
    }
    return {};
}

} // namespace

QString SlurmBench::whyNot()
{
    if (QString missing = missingProgram(); !missing.isEmpty())
        return missing;
    SlurmBench trial;
    return trial.start() ? QString()
                         : "Slurm does not come up on this computer.\n" + trial.lastWords();
}

SlurmBench::SlurmBench()
    : m_folder("/tmp/vergence-slurm-XXXXXX"), // short: sockets lie in it
      m_configuration("SLURM_CONF", QFile::encodeName(path("slurm.conf"))),
      m_ports(freePorts(3)),
      m_machines(m_folder.path())
{
}

SlurmBench::~SlurmBench()
{
    if (QTest::currentTestFailed())
        qInfo("%s", qPrintable(lastWords()));
}

QByteArray SlurmBench::configuration(Limits limits) const
{
    // KillWait, the time between TERM and KILL, and BatchStartTimeout stay as on real clusters:
    // they end what hangs. A token that is good for five seconds lets a job that was put back into
    // the queue begin after six instead of 121.
    const QString text = QStringLiteral(R"(ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=%1
SlurmdUser=%1
SlurmctldPort=%2
AuthType=auth/munge
AuthInfo=socket=%3/munge.sock,cred_expire=5
StateSaveLocation=%3/state
SlurmdSpoolDir=%3/spool-%n
SlurmctldPidFile=%3/slurmctld.pid
SlurmdPidFile=%3/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
EnforcePartLimits=%6
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=5
MessageTimeout=5
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=%4 CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=%5 CPUs=2 RealMemory=4000
PartitionName=DEFAULT Nodes=n1,n2 MaxTime=1:00:00 State=UP
PartitionName=all Default=YES PriorityTier=2 PreemptMode=OFF
PartitionName=low PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high PriorityTier=3 PreemptMode=OFF
)");
    return text.arg(::getuid())
        .arg(m_ports[0])
        .arg(m_folder.path())
        .arg(m_ports[1])
        .arg(m_ports[2])
        .arg(limits == Limits::Enforced ? "ALL" : "NO")
        .toUtf8();
}

bool SlurmBench::start(Limits limits)
{
    QFile::setPermissions(m_folder.path(), // MUNGE wants its socket to be reached by everybody
                          QFile::Permissions(0x7055));
    QByteArray key(128, 0);
    QRandomGenerator::system()->fillRange(reinterpret_cast<quint32*>(key.data()), 32);
    writeForDaemon(path("munge.key"), key);
    QFile::setPermissions(path("munge.key"), QFile::ReadOwner);
    writeForDaemon(path("slurm.conf"), configuration(limits));
    if (canLeaveControlGroups())
        writeForDaemon(path("cgroup.conf"), "CgroupPlugin=disabled\n");
    QDir(m_folder.path()).mkdir("state");

    m_machines.boot("munge", {"munged", "--foreground", "--key-file=" + path("munge.key"),
                              "--socket=" + path("munge.sock"), "--pid-file=" + path("munged.pid"),
                              "--seed-file=" + path("munge.seed")});
    const auto hasMunge = [this] { return QFile::exists(path("munge.sock")); };
    if (!waitFor([&] { return hasMunge() || m_machines.hasLost(); }) || !hasMunge())
        return false;
    startController();
    for (const char* node : {"n1", "n2"})
        m_machines.boot(node, {"slurmd", "-D", "-N", node});
    const auto hasNodes = [] {
        return ask({"sinfo", "--noheader", "-p", "all", "-t", "idle", "-o", "%D"}) == "2";
    };
    return waitFor([&] { return m_machines.hasLost() || hasNodes(); }) && !m_machines.hasLost();
}

void SlurmBench::killController()
{
    m_machines.powerOff("controller");
}

void SlurmBench::shutController()
{
    ask({"scontrol", "shutdown", "slurmctld"});
    m_machines.waitForEnd("controller");
}

void SlurmBench::startController()
{
    m_machines.boot("controller", {"slurmctld", "-D"});
}

bool SlurmBench::isDown(const QString& node) const
{
    return ask({"sinfo", "--noheader", "-p", "all", "-n", node, "-o", "%T"}).startsWith("down");
}

QString SlurmBench::ask(const QStringList& command)
{
    QProcess process;
    process.start(daemonProgram(command.front()), command.mid(1));
    if (!process.waitForFinished(kCommandMilliseconds) || process.exitCode() != 0)
        return {};
    return QString::fromUtf8(process.readAllStandardOutput()).trimmed();
}

QString SlurmBench::jobWord(const QString& job, const QString& word)
{
    const QString text = ask({"scontrol", "--oneliner", "show", "job", job});
    const QRegularExpression pattern("(?:^| )" + word + "=(\\S*)");
    return pattern.match(text).captured(1);
}

} // namespace vergence::test
