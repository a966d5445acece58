#include "tests/app/cli/cli_bench.h"

#include <QFile>

#include "core/base/file.h"

namespace vergence::test {

void CliBench::makeHome()
{
    m_home = std::make_unique<QTemporaryDir>();
    for (const char* variable : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                 "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"}) {
        qputenv(variable, QFile::encodeName(path(variable)));
        std::filesystem::create_directories(path(variable).toStdString());
    }
    qputenv("VERGENCE_RUNS", QFile::encodeName(path("runs")));
    qputenv("VERGENCE_PLUGIN_PATH", QFile::encodeName(kBuild + "/lib/vergence-test-plugins"));
    qunsetenv("DISPLAY");
    qunsetenv("QT_QPA_PLATFORM");
}

std::unique_ptr<QProcess> CliBench::start(const QStringList& arguments)
{
    return startCommand(arguments, home());
}

Outcome CliBench::vergence(const QStringList& arguments, const QByteArray& input)
{
    return runCommand(arguments, home(), input);
}

Outcome CliBench::patiently(const QStringList& arguments)
{
    constexpr int kLongest = 1'700'000; // ms; CTest ends what hangs
    const auto process = start(arguments);
    Outcome outcome;
    if (process->waitForFinished(kLongest) && process->exitStatus() == QProcess::NormalExit)
        outcome.code = process->exitCode();
    outcome.out = QString::fromUtf8(process->readAllStandardOutput());
    outcome.err = QString::fromUtf8(process->readAllStandardError());
    return outcome;
}

Outcome CliBench::demoRun(const QStringList& more)
{
    return vergence(QStringList{"run", "heat", "--preset", "demo", "--device", "cpu"} + more);
}

QString CliBench::written(const QString& name, const QByteArray& text)
{
    writeFileAtomic(path(name).toStdString(), text.toStdString());
    return path(name);
}

} // namespace vergence::test
