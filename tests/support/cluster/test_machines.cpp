#include "tests/support/cluster/test_machines.h"

#include <algorithm>
#include <csignal>

#include <QFile>
#include <QRandomGenerator>
#include <QStandardPaths>
#include <QTcpServer>

#include "tests/support/patience.h"

namespace vergence::test {

void TestMachines::boot(const QString& machine, const QStringList& command)
{
    auto process = std::make_unique<QProcess>();
    process->setProcessChannelMode(QProcess::MergedChannels);
    process->setStandardOutputFile(log(machine), QIODevice::Append);
    process->setWorkingDirectory(m_folder);
    process->start(QStringLiteral(VERGENCE_BINARY_DIR "/bin/tests/vergence-test-machine"),
                   QStringList{machine, daemonProgram(command.front())} + command.mid(1));
    m_machines[machine] = std::move(process);
}

void TestMachines::powerOff(const QString& machine)
{
    m_machines.at(machine)->terminate();
    waitForEnd(machine);
}

void TestMachines::powerOff()
{
    for (const auto& [name, machine] : m_machines)
        machine->terminate();
    for (const auto& [name, machine] : m_machines)
        waitForEnd(name);
}

void TestMachines::killDaemon(const QString& machine)
{
    ::kill(static_cast<pid_t>(processId(machine)), SIGUSR1);
}

void TestMachines::waitForEnd(const QString& machine)
{
    m_machines.at(machine)->waitForFinished(kGuardMilliseconds);
}

bool TestMachines::hasLost(const QString& machine) const
{
    return m_machines.at(machine)->state() == QProcess::NotRunning;
}

bool TestMachines::hasLost() const
{
    return std::ranges::any_of(m_machines,
                               [this](const auto& machine) { return hasLost(machine.first); });
}

QString TestMachines::lastWords() const
{
    constexpr int kLines = 25;
    QString text;
    for (const auto& [name, machine] : m_machines) {
        QFile file(log(name));
        if (!file.open(QIODevice::ReadOnly))
            continue;
        const QStringList lines = QString::fromUtf8(file.readAll().replace('\r', "")).split('\n');
        text += "== " + name + '\n' + lines.mid(lines.size() - kLines).join('\n');
    }
    return text;
}

QString daemonProgram(const QString& name)
{
    const QString found = QStandardPaths::findExecutable(name);
    return found.isEmpty() ? QStandardPaths::findExecutable(
                                 name, {"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"})
                           : found;
}

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

void writeForDaemon(const QString& path, const QByteArray& text)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        qFatal("%s cannot be written.", qPrintable(path));
}

} // namespace vergence::test
