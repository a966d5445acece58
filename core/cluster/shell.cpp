#include "core/cluster/shell.h"

#include <QProcess>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/shell_word.h"

namespace vergence {

namespace {

/// OpenSSH hands its command to a shell, as one text.
std::vector<std::string> overSsh(const std::string& host, const std::vector<std::string>& command)
{
    std::string text;
    for (const std::string& word : command)
        text += (text.empty() ? "" : " ") + shellWord(word);
    return {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "--", host, text};
}

QStringList argumentsOf(const std::vector<std::string>& command)
{
    QStringList arguments;
    for (std::size_t i = 1; i < command.size(); ++i)
        arguments << QString::fromStdString(command[i]);
    return arguments;
}

void collect(QProcess& process, CommandResult& result)
{
    result.output = process.readAllStandardOutput().toStdString();
    result.errors = process.readAllStandardError().toStdString();
    result.exitCode =
        process.exitStatus() == QProcess::CrashExit ? 128 + process.exitCode() : process.exitCode();
}

} // namespace

CommandResult Shell::run(const std::vector<std::string>& command, const std::string& input,
                         double seconds) const
{
    expects(!command.empty(), "Shell: a program to run");
    const std::vector<std::string> words = m_host.empty() ? command : overSsh(m_host, command);
    CommandResult result;
    QProcess process;
    if (input.empty())
        process.setStandardInputFile(QProcess::nullDevice());
    process.start(QString::fromStdString(words.front()), argumentsOf(words));
    const int milliseconds = static_cast<int>(seconds * 1000);
    if (!process.waitForStarted(milliseconds)) {
        result.isMissing = true;
        result.whyNot = fmt::format("{} cannot be started: {}.", words.front(),
                                    process.errorString().toStdString());
        return result;
    }
    if (!input.empty()) {
        process.write(input.data(), static_cast<qint64>(input.size()));
        process.closeWriteChannel();
    }
    if (!process.waitForFinished(milliseconds)) {
        process.kill();
        process.waitForFinished();
        result.whyNot = fmt::format("{} did not end within {:g} s.", words.front(), seconds);
    }
    collect(process, result);
    return result;
}

} // namespace vergence
