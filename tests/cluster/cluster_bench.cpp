#include "tests/cluster/cluster_bench.h"

#include "core/base/error.h"
#include "core/cluster/job_file.h"

namespace vergence::test {

bool ClusterBench::begin(SlurmBench::Limits limits)
{
    end();
    makeHome();
    m_slurm = std::make_unique<SlurmBench>();
    return m_slurm->start(limits) && newTarget("here").code == 0;
}

Outcome ClusterBench::newTarget(const QString& name, const QStringList& settings)
{
    QStringList arguments{"targets", "new", name, "--set", "cores=2"};
    for (const QString& setting : settings)
        arguments << "--set" << setting;
    return vergence(arguments);
}

Outcome ClusterBench::submit(const QStringList& arguments, const QString& target)
{
    return vergence(QStringList{"submit"} + arguments +
                    QStringList{"--target", target, "--device", "cpu"});
}

RunFolder ClusterBench::madeHere(const QStringList& arguments)
{
    const Outcome outcome = patiently(QStringList{"run"} + arguments +
                                      QStringList{"--device", "cpu", "--runs-dir", path("here")});
    if (outcome.code != 0)
        qWarning("%s", qPrintable(outcome.err));
    return RunFolder{outcome.folder()};
}

nlohmann::json ClusterBench::listed(const RunFolder& run)
{
    const Outcome outcome = vergence({"runs", "list", "--json"});
    const auto rows = outcome.parsed();
    if (!rows.is_array())
        qWarning("The list of runs is none: %s", qPrintable(outcome.err));
    for (std::size_t i = 0; rows.is_array() && i < rows.size(); ++i) {
        if (rows[i].value("id", "") == run.id())
            return rows[i];
    }
    return {};
}

void ClusterBench::fillNodes()
{
    for (const char* node : {"n1", "n2"})
        SlurmBench::ask(
            {"sbatch", "-c", "2", "-w", node, "-o", "/dev/null", "--wrap", "exec sleep 1000"});
}

std::vector<RunFolder> foldersOf(const Outcome& outcome)
{
    std::vector<RunFolder> folders;
    for (const QString& line : outcome.out.split('\n', Qt::SkipEmptyParts))
        folders.push_back(RunFolder{line.toStdString()});
    return folders;
}

QString jobOf(const RunFolder& run)
{
    const auto job = readJob(run);
    return job ? QString::fromStdString(job->slurmId()) : QString();
}

RunStatus statusOf(const RunFolder& run)
{
    try {
        return readStatus(run);
    } catch (const InputError&) {
        return {};
    }
}

QString stateOf(const RunFolder& run)
{
    return QString::fromStdString(statusOf(run).state);
}

QStringList waitingRun(bool waits)
{
    return {"chaos", "--set", "steps=" + QString::number(kEnd), "--set",
            "wait_at=" + QString::number(waits ? kMiddle : -1)};
}

bool waitsInTheMiddle(const RunFolder& run)
{
    const RunStatus status = statusOf(run);
    return status.state == "Running" && status.step == kMiddle;
}

} // namespace vergence::test
