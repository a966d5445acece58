#pragma once

#include <map>
#include <vector>

#include <QStringList>
#include <QTemporaryDir>

#include "tests/support/cluster/test_machines.h"
#include "tests/support/environment.h"

namespace vergence::test {

/// Two computers that real OpenSSH reaches, for one test: `h1` and `h2`, each an sshd on a machine
/// of its own (see machine.cpp) with host key, home, disk and environment of its own. Whoever runs
/// the test owns them, root or not, and nothing of the user's or the system's own ssh is touched.
/// Meanwhile the `ssh` that comes first in PATH is the real one with a configuration of the test:
/// it knows both, and `stranger`, which is h1 under a name whose key it has never seen.
class SshBench {
public:
    /// Why there are none on this computer: what is missing, or the last words of sshd and ssh
    /// where a trial could not log in. Empty where it works.
    static QString whyNot();

    SshBench();
    ~SshBench(); ///< tells the daemons' last words where the test has failed
    SshBench(const SshBench&) = delete;
    SshBench& operator=(const SshBench&) = delete;

    /// Switches both on; false unless both let this user in.
    bool start();
    /// What the daemons, and the last login, said last.
    QString lastWords() const;

    /// Folders of a host, as it sees them itself.
    QString home(const QString& host) const { return path(host + "/home"); }
    QString disk(const QString& host) const { return path(host + "/disk"); }
    /// A variable of all that ssh starts there from now on. Null: not set.
    void setVariable(const QString& host, const QString& name, const QString& value);
    /// From now on nothing there finds the program in PATH.
    void hideProgram(const QString& host, const QString& name);

    /// The link carries nothing any more: what is sent is taken and not answered, as by a network
    /// that swallows all packets. What works there goes on, and hears nothing of it.
    void breakLink(const QString& host);
    void mendLink(const QString& host);
    /// The computer is dead, with all that runs there.
    void powerOff(const QString& host) { m_machines.powerOff(host); }
    /// False where sshd does not come up.
    bool powerOn(const QString& host);
    /// The computer starts again with another host key.
    bool changeHostKey(const QString& host);
    /// Nobody's key is good there any more. Starts it again, so that no open connection helps.
    bool letNobodyIn(const QString& host);

    /// What a command line prints there, trimmed; empty where it failed.
    QString ask(const QString& host, const QString& command);

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    void makeHost(const QString& host);
    void makeClient();
    void writeEnvironment(const QString& host) const;
    bool isListening(const QString& host) const;

    QTemporaryDir m_folder;
    ScopedVariable m_path; ///< PATH
    std::map<QString, int> m_ports;
    std::map<QString, std::map<QString, QString>> m_variables; ///< of each host
    QString m_lastLogin;                                       ///< what ssh said
    TestMachines m_machines;
};

} // namespace vergence::test

/// For initTestCase(): skips all where sshd is missing or does not come up, or fails where
/// VERGENCE_REQUIRE_SLURM is set.
#define VERGENCE_NEEDS_SSHD()                                                                      \
    do {                                                                                           \
        const QString vergenceWhyNoSshd = vergence::test::SshBench::whyNot();                      \
        if (!vergenceWhyNoSshd.isEmpty() &&                                                        \
            qEnvironmentVariableIntValue("VERGENCE_REQUIRE_SLURM"))                                \
            QFAIL(qPrintable(vergenceWhyNoSshd));                                                  \
        if (!vergenceWhyNoSshd.isEmpty())                                                          \
            QSKIP(qPrintable(vergenceWhyNoSshd));                                                  \
    } while (false)
