#pragma once

#include <map>
#include <memory>
#include <string>

#include "tests/cluster/cluster_bench.h"
#include "tests/support/cluster/ssh_bench.h"

namespace vergence::test {

/// Base of the tests of runs on computers behind ssh: the real `vergence`, a home of its own, and
/// the target `h1`, a computer with two lanes and a disk of its own.
class SshClusterBench : public ClusterBench {
protected:
    using Settings = std::map<QString, QString>;

    /// All afresh, before each test; false where ssh does not come up, though it did before.
    bool begin();
    /// The same beside a Slurm, whose commands h1 has.
    bool beginWithSlurm();
    void end();
    SshBench& ssh() { return *m_ssh; }

    /// A target that is h1 with two lanes, but for `settings`.
    Outcome newComputer(const QString& name, const Settings& settings = {});
    /// `vergence submit`.
    Outcome submitTo(const QStringList& arguments, const QString& target = "h1");
    Outcome submitAgain(const RunFolder& run, const QString& target = "h1");
    Outcome cancel(const RunFolder& run);
    /// Everything of a run, but for what `options` say.
    Outcome fetch(const RunFolder& run, const QStringList& options = {"--checkpoints"});

    /// As `vergence runs list` has it now, state and words for people.
    QString listedState(const RunFolder& run);
    QString listedText(const RunFolder& run);
    /// The folder of the run on the disk there.
    RunFolder folderThere(const RunFolder& run);
    /// Submits a run that waits at the step of its middle, and waits for it there.
    RunFolder submitWaiting();

private:
    bool beginSsh();

    std::unique_ptr<SshBench> m_ssh;
};

/// The command line of a run folder.
QString nameOf(const RunFolder& run);

} // namespace vergence::test
