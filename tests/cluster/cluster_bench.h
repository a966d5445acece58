#pragma once

#include <memory>
#include <string>

#include "core/artifact/run_folder.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/cluster/slurm_bench.h"
#include "tests/support/patience.h"

namespace vergence::test {

/// Base of the tests of runs on a cluster: the real `vergence`, a home and a Slurm of their own,
/// and the target `here`, whose jobs fill a node each.
class ClusterBench : public CliBench {
protected:
    /// All afresh, before each test; false where Slurm does not come up, though it did before.
    bool begin(SlurmBench::Limits limits = SlurmBench::Limits::Enforced);
    void end() { m_slurm.reset(); }
    SlurmBench& slurm() { return *m_slurm; }

    /// A target whose jobs fill a node; further settings as `key=value`.
    Outcome newTarget(const QString& name, const QStringList& settings = {});
    /// `vergence submit`, to the CPUs of the nodes.
    Outcome submit(const QStringList& arguments, const QString& target = "here");
    /// The same run of a lab made here; its folder.
    RunFolder madeHere(const QStringList& arguments);
    /// The run as `vergence runs list --json` has it.
    nlohmann::json listed(const RunFolder& run);

    /// One job after the other that fills a node and never ends, until both are full.
    void fillNodes();

private:
    std::unique_ptr<SlurmBench> m_slurm;
};

/// Run folders that a command printed, one a line.
std::vector<RunFolder> foldersOf(const Outcome& outcome);
/// "1234" or "1234_7"; empty where the run has no job.
QString jobOf(const RunFolder& run);
/// The newest status; without a state while there is none.
RunStatus statusOf(const RunFolder& run);
QString stateOf(const RunFolder& run);

/// Arguments for a run of the chaos lab that waits at the step of its middle until it is stopped,
/// and goes on where it is continued. With `waits` false it is the same run, undisturbed.
QStringList waitingRun(bool waits = true);
/// Where it waits, and its steps.
inline constexpr int kMiddle = 30, kEnd = 60;
/// Whether it waits there.
bool waitsInTheMiddle(const RunFolder& run);

} // namespace vergence::test
