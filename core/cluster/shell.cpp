#include "core/cluster/shell.h"

#include <QProcess>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/run/socket_folder.h"

namespace vergence {

namespace {

constexpr int kGraceMilliseconds = 3000; ///< for a program to end when it is told to

/// Where the calls to a host meet, so that they share one connection; empty where no such name can
/// be given. ssh puts 40 digits for %C, and 17 characters behind while it makes the socket, whose
/// name the system limits to 107.
std::string connectionSocket()
{
    constexpr std::size_t kLongest = 107 - 17, kDigits = 40;
    try {
        const std::string name = (socketFolder() / "ssh-").string();
        const bool isPlain = shellWord(name) == name && name.find('%') == std::string::npos;
        return isPlain && name.size() + kDigits <= kLongest ? name + "%C" : std::string();
    } catch (const OutputError&) {
        return {};
    }
}

/// ssh gives up a link that is dead after 15 s, and a new one that does not come about as well.
std::vector<std::string> sshTo(const std::string& host)
{
    std::vector<std::string> words{"ssh",
                                   "-o",
                                   "BatchMode=yes",
                                   "-o",
                                   "ConnectTimeout=15",
                                   "-o",
                                   "ServerAliveInterval=5",
                                   "-o",
                                   "ServerAliveCountMax=3"};
    if (const std::string socket = connectionSocket(); !socket.empty())
        for (const std::string& option :
             {std::string("ControlMaster=auto"), std::string("ControlPersist=60"),
              "ControlPath=" + socket})
            words.insert(words.end(), {"-o", option});
    words.insert(words.end(), {"--", host});
    return words;
}

/// OpenSSH hands its command to a shell, as one text.
std::vector<std::string> overSsh(const std::string& host, const std::vector<std::string>& command)
{
    std::string text;
    for (const std::string& word : command)
        text += (text.empty() ? "" : " ") + shellWord(word);
    std::vector<std::string> words = sshTo(host);
    words.push_back(text);
    return words;
}

QStringList argumentsOf(const std::vector<std::string>& command)
{
    QStringList arguments;
    for (std::size_t i = 1; i < command.size(); ++i)
        arguments << QString::fromStdString(command[i]);
    return arguments;
}

/// rsync removes what it has begun when it is told to end.
void end(QProcess& process)
{
    process.terminate();
    if (process.waitForFinished(kGraceMilliseconds))
        return;
    process.kill();
    process.waitForFinished();
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
    // Of the process, not of its pipes: the connection that ssh leaves behind may hold those.
    if (!process.waitForFinished(milliseconds)) {
        end(process);
        result.whyNot = fmt::format("{} did not end within {:g} s.", words.front(), seconds);
    }
    collect(process, result);
    return result;
}

std::string sshCommandLine(const std::string& host)
{
    std::string line;
    for (const std::string& word : sshTo(host)) {
        line += line.empty() ? "" : " ";
        if (shellWord(word) == word) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word)
            line += c == '\'' ? "''" : std::string(1, c);
        line += '\'';
    }
    return line;
}

} // namespace vergence
