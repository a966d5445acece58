#include "tests/support/cluster/ssh_bench.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <set>

#include <QDir>
#include <QFile>
#include <QTcpSocket>
#include <QTest>

#include <unistd.h>

#include "tests/support/patience.h"

namespace vergence::test {

namespace {

const QStringList kHosts{"h1", "h2"};
constexpr int kLoginMilliseconds = 30'000;

/// For a shell: one word.
QString quoted(QString word)
{
    return '\'' + word.replace('\'', "'\\''") + '\'';
}

void writeScript(const QString& path, const QString& text)
{
    writeForDaemon(path, ("#!/bin/sh\n" + text).toUtf8());
    QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
}

/// A new pair, `file` and `file`.pub.
void makeKey(const QString& file)
{
    QFile::remove(file);
    QProcess process;
    process.start(daemonProgram("ssh-keygen"), {"-q", "-t", "ed25519", "-N", "", "-f", file});
    if (!process.waitForFinished() || process.exitCode() != 0)
        qFatal("No key for ssh can be made: %s", process.readAllStandardError().constData());
}

QByteArray textOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QString missingPart()
{
    for (const char* name : {"sshd", "ssh", "ssh-keygen", "rsync"}) {
        if (daemonProgram(name).isEmpty())
            return QStringLiteral("There is no %1; packaging/debian-packages.txt names the "
                                  "packages of OpenSSH and rsync.")
                .arg(name);
    }
    return {};
}

/// root's sshd wants an empty folder to lock itself into, which the system's service makes at its
/// start; there need not be one.
void makeEmptyFolder()
{
    if (::getuid() == 0)
        QDir("/run").mkdir("sshd");
}

struct Process {
    pid_t pid = 0, parent = 0;
    QByteArray name;
    char state = 0;
};

std::vector<Process> allProcesses()
{
    std::vector<Process> found;
    for (const QString& entry : QDir("/proc").entryList(QDir::Dirs)) {
        const QByteArray stat = textOf("/proc/" + entry + "/stat"); // "12 (name) S 1 …"
        const auto begin = stat.indexOf('('), end = stat.lastIndexOf(") ");
        if (entry.toInt() <= 0 || begin < 0 || end < begin)
            continue;
        found.push_back({entry.toInt(), stat.mid(end + 4).split(' ').front().toInt(),
                         stat.mid(begin + 1, end - begin - 1), stat[end + 2]});
    }
    return found;
}

/// A machine's sshd and those that it made for sessions: "sshd", and from 9.8 on "sshd-session" and
/// "sshd-auth".
std::vector<Process> sshdsOf(qint64 machine)
{
    const std::vector<Process> all = allProcesses();
    std::set<pid_t> there{static_cast<pid_t>(machine)};
    for (std::size_t before = 0; before != there.size();) {
        before = there.size();
        for (const Process& process : all) {
            if (there.contains(process.parent))
                there.insert(process.pid);
        }
    }
    std::vector<Process> found;
    std::ranges::copy_if(all, std::back_inserter(found), [&there](const Process& process) {
        return there.contains(process.pid) && process.name.startsWith("sshd") &&
               process.state != 'Z';
    });
    return found;
}

} // namespace

QString SshBench::whyNot()
{
    if (QString missing = missingPart(); !missing.isEmpty())
        return missing;
    SshBench trial;
    return trial.start() ? QString()
                         : "Nobody can log in by ssh on this computer.\n" + trial.lastWords();
}

SshBench::SshBench()
    : m_folder("/tmp/vergence-ssh-XXXXXX"), // short: sockets lie in it
      m_path("PATH", QFile::encodeName(path("bin")) + ':' + qgetenv("PATH")),
      m_machines(m_folder.path())
{
}

SshBench::~SshBench()
{
    if (QTest::currentTestFailed())
        qInfo("%s", qPrintable(lastWords()));
}

QString SshBench::lastWords() const
{
    return m_machines.lastWords() + "== ssh\n" + m_lastLogin;
}

void SshBench::makeHost(const QString& host)
{
    const QDir folder(path(host));
    for (const char* name : {"home", "disk", "run"})
        folder.mkpath(name);
    QFile::setPermissions(folder.filePath("run"), QFile::Permissions(0x7000)); // XDG wants it so
    makeKey(folder.filePath("key"));
    QFile::copy(path("user.pub"), folder.filePath("authorized"));
    m_variables[host] = {
        {"HOME", home(host)},
        {"XDG_RUNTIME_DIR", folder.filePath("run")},
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},
        {"VERGENCE_PLUGIN_PATH", VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"}};
    writeEnvironment(host);
    writeScript(folder.filePath("enter"),
                QStringLiteral("unset $(env | sed -n 's/^\\(XDG_[A-Z_]*\\)=.*/\\1/p')\n"
                               ". %1\ncd && exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n")
                    .arg(quoted(folder.filePath("environment"))));
    // UsePAM wants root. Of the user's own account nothing is read: neither ~/.ssh/rc nor, by the
    // bash of some systems unless it is the inner one of two, ~/.bashrc.
    writeForDaemon(folder.filePath("sshd_config"), QStringLiteral(R"(ListenAddress 127.0.0.1
Port %1
HostKey %2/key
PidFile none
AuthorizedKeysFile %2/authorized
ForceCommand %2/enter
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitUserRC no
SetEnv SHLVL=1
LogLevel VERBOSE
)")
                                                       .arg(m_ports.at(host))
                                                       .arg(folder.path())
                                                       .toUtf8());
}

void SshBench::makeClient()
{
    QString text, known;
    for (const char* name : {"h1", "h2", "stranger"}) {
        const QString host = name == QString("stranger") ? "h1" : name;
        text += QStringLiteral("Host %1\n  Port %2\n  HostKeyAlias %1\n")
                    .arg(name)
                    .arg(m_ports.at(host));
        if (host == name)
            known += host + ' ' + QString::fromUtf8(textOf(path(host + "/key.pub")));
    }
    text += QStringLiteral(R"(Host h1 h2 stranger
  HostName 127.0.0.1
Host *
  IdentityFile %1/user
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile %1/known
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  UpdateHostKeys no
)")
                .arg(m_folder.path());
    writeForDaemon(path("ssh_config"), text.toUtf8());
    writeForDaemon(path("known"), known.toUtf8());
    const QString ssh = daemonProgram("ssh"); // before there is another one
    QDir(m_folder.path()).mkdir("bin");
    writeScript(path("bin/ssh"),
                "exec " + quoted(ssh) + " -F " + quoted(path("ssh_config")) + " \"$@\"\n");
}

bool SshBench::start()
{
    makeEmptyFolder();
    makeKey(path("user"));
    const std::vector<int> ports = freePorts(kHosts.size());
    for (const QString& host : kHosts) {
        m_ports[host] = ports[m_ports.size()];
        makeHost(host);
    }
    makeClient();
    return std::ranges::all_of(kHosts, [this](const QString& host) {
        return powerOn(host) && ask(host, "echo welcome") == "welcome";
    });
}

void SshBench::writeEnvironment(const QString& host) const
{
    QString text;
    for (const auto& [name, value] : m_variables.at(host))
        text += "export " + name + '=' + quoted(value) + '\n';
    writeForDaemon(path(host + "/environment"), text.toUtf8());
}

void SshBench::setVariable(const QString& host, const QString& name, const QString& value)
{
    if (value.isNull())
        m_variables.at(host).erase(name);
    else
        m_variables.at(host)[name] = value;
    writeEnvironment(host);
}

/// PATH becomes one folder of links to all that it led to but this one.
void SshBench::hideProgram(const QString& host, const QString& name)
{
    const QString shown = path(host + "/bin");
    QDir().mkpath(shown);
    for (const QString& folder : m_variables.at(host).at("PATH").split(':')) {
        for (const QFileInfo& file : QDir(folder).entryInfoList(QDir::Files)) {
            if (file.fileName() != name) // the first of a name is the one that is found
                QFile::link(file.filePath(), shown + '/' + file.fileName());
        }
    }
    setVariable(host, "PATH", shown);
}

/// A stopped sshd answers nothing, while the system goes on taking in what is sent: no rights are
/// needed, no connection is reset, and nothing is lost once it goes on. A network device that goes
/// down would want root, and looks the same from the other end of the connection.
void SshBench::breakLink(const QString& host)
{
    bool isOpen = true; // one that goes on may have made another meanwhile
    while (isOpen) {
        isOpen = false;
        for (const Process& sshd : sshdsOf(m_machines.processId(host))) {
            isOpen = (::kill(sshd.pid, SIGSTOP) == 0 && sshd.state != 'T') || isOpen;
        }
    }
}

void SshBench::mendLink(const QString& host)
{
    for (const Process& sshd : sshdsOf(m_machines.processId(host)))
        ::kill(sshd.pid, SIGCONT);
}

bool SshBench::powerOn(const QString& host)
{
    m_machines.boot(host, {"sshd", "-D", "-e", "-f", path(host + "/sshd_config")});
    return waitFor([&] { return m_machines.hasLost(host) || isListening(host); }) &&
           !m_machines.hasLost(host);
}

bool SshBench::isListening(const QString& host) const
{
    QTcpSocket socket;
    socket.connectToHost(QHostAddress::LocalHost, static_cast<quint16>(m_ports.at(host)));
    return socket.waitForConnected();
}

bool SshBench::changeHostKey(const QString& host)
{
    powerOff(host);
    makeKey(path(host + "/key"));
    return powerOn(host);
}

bool SshBench::letNobodyIn(const QString& host)
{
    powerOff(host);
    writeForDaemon(path(host + "/authorized"), {});
    return powerOn(host);
}

QString SshBench::ask(const QString& host, const QString& command)
{
    QProcess ssh;
    ssh.start(path("bin/ssh"), {"-o", "BatchMode=yes", host, command});
    const bool hasEnded = ssh.waitForFinished(kLoginMilliseconds);
    m_lastLogin = QString::fromUtf8(ssh.readAllStandardError());
    if (!hasEnded || ssh.exitCode() != 0)
        return {};
    return QString::fromUtf8(ssh.readAllStandardOutput()).trimmed();
}

} // namespace vergence::test
