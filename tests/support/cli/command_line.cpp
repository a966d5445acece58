#include "tests/support/cli/command_line.h"

namespace vergence::test {

std::unique_ptr<QProcess> startCommand(const QStringList& arguments, const QString& folder)
{
    auto process = std::make_unique<QProcess>();
    process->setWorkingDirectory(folder);
    process->start(VERGENCE_BINARY_DIR "/bin/vergence", arguments);
    return process;
}

Outcome runCommand(const QStringList& arguments, const QString& folder, const QByteArray& input)
{
    auto process = startCommand(arguments, folder);
    process->write(input);
    process->closeWriteChannel();
    if (!process->waitForFinished(kWaitMilliseconds))
        process->kill();
    Outcome outcome;
    outcome.out = process->readAllStandardOutput();
    outcome.err = process->readAllStandardError();
    outcome.code = process->exitStatus() == QProcess::NormalExit ? process->exitCode()
                                                                 : 128 + process->exitCode();
    return outcome;
}

} // namespace vergence::test
