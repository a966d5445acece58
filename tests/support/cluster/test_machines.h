#pragma once

#include <map>
#include <memory>
#include <vector>

#include <QProcess>
#include <QString>
#include <QStringList>

namespace vergence::test {

/// Computers of one test, each with one daemon and all that it ever starts (see machine.cpp). They
/// go off with this object, and with this process however it ends.
class TestMachines {
public:
    /// `folder`: where the daemons work, and what they say is written.
    explicit TestMachines(QString folder) : m_folder(std::move(folder)) {}
    ~TestMachines() { powerOff(); }
    TestMachines(const TestMachines&) = delete;
    TestMachines& operator=(const TestMachines&) = delete;

    /// Switches a computer on; `command`: its daemon and the arguments.
    void boot(const QString& machine, const QStringList& command);
    void powerOff(const QString& machine);
    void powerOff();
    /// The daemon dies alone; what it started lives on.
    void killDaemon(const QString& machine);
    /// Waits for a daemon that was told to end.
    void waitForEnd(const QString& machine);

    /// Whether a computer, or any, has gone off.
    bool hasLost(const QString& machine) const;
    bool hasLost() const;
    /// What the daemons said last.
    QString lastWords() const;
    qint64 processId(const QString& machine) const { return m_machines.at(machine)->processId(); }

private:
    QString log(const QString& machine) const { return m_folder + '/' + machine + ".log"; }

    QString m_folder;
    std::map<QString, std::unique_ptr<QProcess>> m_machines;
};

/// A daemon, or another program, by name: daemons lie where the PATH of most users does not lead.
/// Empty where there is none.
QString daemonProgram(const QString& name);
/// Ports of this computer for daemons, below those that the system gives to outgoing connections,
/// so that none of them takes one of ours while a daemon is down.
std::vector<int> freePorts(std::size_t count);
/// Replaces a file of a bench.
void writeForDaemon(const QString& path, const QByteArray& text);

} // namespace vergence::test
