#include "tests/support/cluster/slurm_bench.h"

#include <algorithm>
#include <csignal>

#include <QFile>
#include <QRandomGenerator>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTcpServer>
#include <QTest>
#include <QVersionNumber>

#include <unistd.h>

#include "tests/support/patience.h"

namespace vergence::test {

namespace {

constexpr int kCommandMilliseconds = 30'000;

/// A program of Slurm or MUNGE; daemons lie where the PATH of most users does not lead.
QString program(const QString& name)
{
    const QString found = QStandardPaths::findExecutable(name);
    return found.isEmpty() ? QStandardPaths::findExecutable(
                                 name, {"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"})
                           : found;
}

void write(const QString& path, const QByteArray& text)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        qFatal("%s cannot be written.", qPrintable(path));
}

/// Below those that the system gives to outgoing connections, so that none of them takes one of
/// ours while a daemon is down.
std::vector<int> freePorts(std::size_t count)
{
    std::vector<std::unique_ptr<QTcpServer>> held;
    std::vector<int> ports;
    while (ports.size() < count) {
        const int port = QRandomGenerator::global()->bounded(10'000, 32'000);
        held.push_back(std::make_unique<QTcpServer>());
        if (held.back()->listen(QHostAddress::LocalHost, static_cast<quint16>(port)))
            ports.push_back(port);
    }
    return ports;
}

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
        if (program(name).isEmpty()) {
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
      m_ports(freePorts(3))
{
}

SlurmBench::~SlurmBench()
{
    if (QTest::currentTestFailed())
        qInfo("%s", qPrintable(lastWords()));
    for (const auto& [name, machine] : m_machines)
        machine->terminate();
    for (const auto& [name, machine] : m_machines)
        machine->waitForFinished(kGuardMilliseconds);
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

void SlurmBench::boot(const QString& machine, const QStringList& command)
{
    auto process = std::make_unique<QProcess>();
    process->setProcessChannelMode(QProcess::MergedChannels);
    process->setStandardOutputFile(path(machine + ".log"));
    process->setWorkingDirectory(m_folder.path());
    process->start(QStringLiteral(VERGENCE_BINARY_DIR "/bin/tests/vergence-test-machine"),
                   QStringList{machine, program(command.front())} + command.mid(1));
    m_machines[machine] = std::move(process);
}

bool SlurmBench::hasLost() const
{
    return std::ranges::any_of(m_machines, [](const auto& machine) {
        return machine.second->state() == QProcess::NotRunning;
    });
}

bool SlurmBench::start(Limits limits)
{
    QFile::setPermissions(m_folder.path(), // MUNGE wants its socket to be reached by everybody
                          QFile::Permissions(0x7055));
    QByteArray key(128, 0);
    QRandomGenerator::system()->fillRange(reinterpret_cast<quint32*>(key.data()), 32);
    write(path("munge.key"), key);
    QFile::setPermissions(path("munge.key"), QFile::ReadOwner);
    write(path("slurm.conf"), configuration(limits));
    if (canLeaveControlGroups())
        write(path("cgroup.conf"), "CgroupPlugin=disabled\n");
    QDir(m_folder.path()).mkdir("state");

    boot("munge", {"munged", "--foreground", "--key-file=" + path("munge.key"),
                   "--socket=" + path("munge.sock"), "--pid-file=" + path("munged.pid"),
                   "--seed-file=" + path("munge.seed")});
    const auto hasMunge = [this] { return QFile::exists(path("munge.sock")); };
    if (!waitFor([&] { return hasMunge() || hasLost(); }) || !hasMunge())
        return false;
    startController();
    for (const char* node : {"n1", "n2"})
        boot(node, {"slurmd", "-D", "-N", node});
    const auto hasNodes = [] {
        return ask({"sinfo", "--noheader", "-p", "all", "-t", "idle", "-o", "%D"}) == "2";
    };
    return waitFor([&] { return hasLost() || hasNodes(); }) && !hasLost();
}

QString SlurmBench::lastWords() const
{
    constexpr int kLines = 25;
    QString text;
    for (const auto& [name, machine] : m_machines) {
        QFile file(path(name + ".log"));
        if (!file.open(QIODevice::ReadOnly))
            continue;
        const QStringList lines = QString::fromUtf8(file.readAll()).split('\n');
        text += "== " + name + '\n' + lines.mid(lines.size() - kLines).join('\n');
    }
    return text;
}

void SlurmBench::powerOff(const QString& node)
{
    const auto& machine = m_machines.at(node);
    machine->terminate();
    machine->waitForFinished(kGuardMilliseconds);
}

void SlurmBench::killDaemon(const QString& node)
{
    ::kill(static_cast<pid_t>(m_machines.at(node)->processId()), SIGUSR1);
}

void SlurmBench::killController()
{
    powerOff("controller");
}

void SlurmBench::shutController()
{
    ask({"scontrol", "shutdown", "slurmctld"});
    m_machines.at("controller")->waitForFinished(kGuardMilliseconds);
}

void SlurmBench::startController()
{
    boot("controller", {"slurmctld", "-D"});
}

bool SlurmBench::isDown(const QString& node) const
{
    return ask({"sinfo", "--noheader", "-p", "all", "-n", node, "-o", "%T"}).startsWith("down");
}

QString SlurmBench::ask(const QStringList& command)
{
    QProcess process;
    process.start(program(command.front()), command.mid(1));
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
