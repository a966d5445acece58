#include "tests/cluster/ssh_cluster_bench.h"

#include "core/artifact/remote_run.h"

namespace vergence::test {

bool SshClusterBench::begin()
{
    end();
    makeHome();
    return beginSsh();
}

bool SshClusterBench::beginWithSlurm()
{
    end();
    if (!ClusterBench::begin() || !beginSsh())
        return false;
    ssh().setVariable("h1", "SLURM_CONF", QFile::decodeName(qgetenv("SLURM_CONF")));
    return true;
}

bool SshClusterBench::beginSsh()
{
    m_ssh = std::make_unique<SshBench>();
    if (!m_ssh->start())
        return false;
    const Outcome outcome = newComputer("h1");
    if (outcome.code != 0)
        qWarning("%s", qPrintable(outcome.err));
    return outcome.code == 0;
}

void SshClusterBench::end()
{
    m_ssh.reset();
    ClusterBench::end();
}

Outcome SshClusterBench::newComputer(const QString& name, const Settings& settings)
{
    Settings all{{"scheduler", "lanes"},
                 {"login", "h1"},
                 {"disk", "own"},
                 {"program", kBuild + "/bin/vergence"},
                 {"lanes", R"(["cpu", "cpu"])"}};
    for (const auto& [key, value] : settings)
        all[key] = value;
    QStringList arguments{"targets", "new", name};
    for (const auto& [key, value] : all)
        arguments << "--set" << key + '=' + value;
    return vergence(arguments);
}

Outcome SshClusterBench::submitTo(const QStringList& arguments, const QString& target)
{
    return vergence(QStringList{"submit"} + arguments + QStringList{"--target", target});
}

Outcome SshClusterBench::submitAgain(const RunFolder& run, const QString& target)
{
    return submitTo({nameOf(run)}, target);
}

Outcome SshClusterBench::cancel(const RunFolder& run)
{
    return vergence({"cancel", nameOf(run)});
}

Outcome SshClusterBench::fetch(const RunFolder& run, const QStringList& options)
{
    return vergence(QStringList{"fetch", nameOf(run)} + options);
}

QString SshClusterBench::listedState(const RunFolder& run)
{
    const auto row = listed(run);
    return row.contains("status") ? QString::fromStdString(row["status"].value("state", ""))
                                  : QString::fromStdString(row.dump());
}

QString SshClusterBench::listedText(const RunFolder& run)
{
    const auto row = listed(run);
    return row.contains("job") ? QString::fromStdString(row["job"].value("text", ""))
                               : QString::fromStdString(row.dump());
}

RunFolder SshClusterBench::folderThere(const RunFolder& run)
{
    const auto remote = readRemoteRun(run);
    return RunFolder{remote ? remote->folder : std::filesystem::path("/nonexistent")};
}

RunFolder SshClusterBench::submitWaiting()
{
    const Outcome outcome = submitTo(waitingRun());
    const RunFolder run{outcome.folder()};
    if (outcome.code != 0 || !waitFor([&] { return waitsInTheMiddle(folderThere(run)); }))
        qWarning("%s does not wait. %s", run.root.c_str(), qPrintable(outcome.err));
    return run;
}

QString nameOf(const RunFolder& run)
{
    return QString::fromStdString(run.root.string());
}

} // namespace vergence::test
