#pragma once

#include <vector>

#include <QStringList>
#include <QTemporaryDir>

#include "tests/support/cluster/test_machines.h"
#include "tests/support/environment.h"

namespace vergence::test {

/// A real Slurm on this computer, for one test: nodes n1 and n2 of two cores each; partitions `all`
/// (the default), `low`, whose jobs make room for others and queue again, and `high`; no job longer
/// than an hour. Whoever runs the test owns it, root or not, and nothing of the system's own Slurm
/// is touched. Every daemon runs on a machine of its own (see machine.cpp), so that all jobs end
/// with this process, however it ends. Meanwhile SLURM_CONF leads Slurm's commands here.
///
/// No accounting: what sacct would know, `scontrol show job` tells for five minutes. A job that was
/// put back into the queue waits six seconds, the least that Slurm knows.
class SlurmBench {
public:
    /// Why there is none on this computer: a sentence on what is missing, or the last words of
    /// daemons that a trial could not start, as where a container forbids it. Empty where it works.
    static QString whyNot();

    /// What becomes of a job that asks for more than its partition allows.
    enum class Limits {
        Enforced, ///< it is refused
        Ignored   ///< it waits for ever, as on a cluster without EnforcePartLimits
    };

    SlurmBench();
    ~SlurmBench(); ///< tells the daemons' last words where the test has failed
    SlurmBench(const SlurmBench&) = delete;
    SlurmBench& operator=(const SlurmBench&) = delete;

    /// Starts the daemons; false unless both nodes became idle.
    bool start(Limits limits = Limits::Enforced);
    /// What the daemons said last.
    QString lastWords() const { return m_machines.lastWords(); }

    /// The node is dead, with all that runs there.
    void powerOff(const QString& node) { m_machines.powerOff(node); }
    /// slurmd dies, and the jobs of the node go on unwatched.
    void killDaemon(const QString& node) { m_machines.killDaemon(node); }
    /// slurmctld is gone: no command is answered.
    void killController();
    /// slurmctld ends in peace, and begins again where it ended.
    void shutController();
    void startController();
    /// Whether Slurm has noticed that a node is dead, which takes it 15 s.
    bool isDown(const QString& node) const;

    /// Output of a command of Slurm, trimmed; empty where it failed.
    static QString ask(const QStringList& command);
    /// A word of `scontrol show job`: "JobState", "Reason", "Restarts", "NodeList", … Empty where
    /// Slurm knows no such job.
    static QString jobWord(const QString& job, const QString& word);
    static QString jobState(const QString& job) { return jobWord(job, "JobState"); }

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    QByteArray configuration(Limits limits) const;

    QTemporaryDir m_folder;
    ScopedVariable m_configuration; ///< SLURM_CONF
    std::vector<int> m_ports;       ///< of slurmctld, n1 and n2
    TestMachines m_machines;
};

} // namespace vergence::test

/// For initTestCase(): skips all where Slurm is missing or does not come up, or fails where
/// VERGENCE_REQUIRE_SLURM is set.
#define VERGENCE_NEEDS_SLURM()                                                                     \
    do {                                                                                           \
        const QString vergenceWhyNot = vergence::test::SlurmBench::whyNot();                       \
        if (!vergenceWhyNot.isEmpty() && qEnvironmentVariableIntValue("VERGENCE_REQUIRE_SLURM"))   \
            QFAIL(qPrintable(vergenceWhyNot));                                                     \
        if (!vergenceWhyNot.isEmpty())                                                             \
            QSKIP(qPrintable(vergenceWhyNot));                                                     \
    } while (false)
