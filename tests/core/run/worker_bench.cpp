#include "tests/core/run/worker_bench.h"

#include <csignal>
#include <sstream>

#include <QProcess>
#include <QTest>

#include <fmt/format.h>

#include "core/base/file.h"

namespace vergence::testing {

namespace {

const QString kPlugins = QStringLiteral(VERGENCE_BINARY_DIR "/lib/vergence-test-plugins");

} // namespace

WorkerBench::WorkerBench() : m_root(m_directory.path().toStdString())
{
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
                             "XDG_RUNTIME_DIR"})
        qputenv(name, QByteArray::fromStdString(m_root + "/" + name));
    std::filesystem::create_directories(m_root + "/XDG_RUNTIME_DIR");
}

WorkerBench::~WorkerBench()
{
    std::error_code ignored;
    if (!std::filesystem::exists(folder().status(), ignored))
        return;
    RunStatus status = readStatus(folder());
    status.host.clear(); // those that take themselves for others too
    if (isWorkerAlive(status) && status.pid > 1)
        ::kill(status.pid, SIGKILL);
}

QString WorkerBench::executable() const
{
    return QStringLiteral(VERGENCE_BINARY_DIR "/bin/vergence");
}

QStringList WorkerBench::arguments(const std::vector<std::string>& settings,
                                   const QStringList& more) const
{
    QStringList list{
        QStringLiteral("run"),           QStringLiteral("chaos"),
        QStringLiteral("--plugin-path"), kPlugins,
        QStringLiteral("--device"),      QStringLiteral("cpu"),
        QStringLiteral("--threads"),     QStringLiteral("1"),
        QStringLiteral("--run-dir"),     QString::fromStdString(folder().root.string())};
    for (const std::string& setting : settings)
        list << QStringLiteral("--set") << QString::fromStdString(setting);
    return list + more;
}

QStringList WorkerBench::resumeArguments(const QStringList& more) const
{
    return QStringList{QStringLiteral("run"),
                       QString::fromStdString(folder().root.string()),
                       QStringLiteral("--resume"),
                       QStringLiteral("--plugin-path"),
                       kPlugins,
                       QStringLiteral("--device"),
                       QStringLiteral("cpu")} +
           more;
}

QStringList WorkerBench::viewArguments() const
{
    return {QStringLiteral("view"),          QString::fromStdString(folder().root.string()),
            QStringLiteral("--plugin-path"), kPlugins,
            QStringLiteral("--device"),      QStringLiteral("cpu")};
}

int WorkerBench::runAlone(const QStringList& arguments) const
{
    QProcess process;
    process.start(executable(), arguments);
    if (!process.waitForFinished(120'000))
        return -1;
    return process.exitStatus() == QProcess::CrashExit ? 128 + process.exitCode()
                                                       : process.exitCode();
}

std::vector<std::string> WorkerBench::curve() const
{
    std::vector<std::string> points;
    std::istringstream lines(readFile(folder().metrics()));
    const std::string series = ",train/loss,";
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(series);
        if (at != std::string::npos)
            points.push_back(line.substr(0, line.find(',')) + " " +
                             line.substr(at + series.size()));
    }
    return points;
}

std::vector<std::string> WorkerBench::curveOf(const RunClient& client)
{
    std::vector<std::string> points;
    const Series* series = client.metrics().find("train/loss");
    for (std::size_t i = 0; series != nullptr && i < series->size(); ++i)
        points.push_back(fmt::format("{} {}", series->steps()[i], series->values()[i]));
    return points;
}

bool reaches(const RunClient& client, RunState state, int milliseconds)
{
    return test::waitFor([&] { return client.state() == state; }, milliseconds);
}

} // namespace vergence::testing
