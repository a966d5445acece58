#include "core/cluster/shell.h"

#include <fmt/format.h>

namespace vergence {

namespace {

constexpr int kSshFailed = 255; // ssh(1)

/// What ssh says, and the sentence for people.
struct SshComplaint {
    const char* said;
    const char* sentence; ///< {0} is the host
};

// In this order: with a changed key ssh also says that the verification failed.
constexpr SshComplaint kSshComplaints[] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED",
     "The host key of {0} has changed. Ask whether that is meant; then `ssh-keygen -R {0}` forgets "
     "the old one."},
    {"Host key verification failed",
     "{0} is not known to ssh yet. Connect once with `ssh {0}` and confirm its key."},
    {"Permission denied",
     "{0} lets nobody in without a password. Load your key with `ssh-add`, or send it there with "
     "`ssh-copy-id {0}`."},
    {"Could not resolve hostname",
     "There is no computer {0}. Correct `login`, or look whether the network is there."},
    {"not responding", "{0} answers no more. Look whether it runs and the network reaches it."},
    {"timed out", "{0} does not answer. Look whether it runs and the network reaches it."},
    {"Connection refused", "{0} takes no connections by ssh. Ask whether it is a login computer."},
    {"No route to host", "{0} cannot be reached from this network."},
    {"Network is unreachable", "{0} cannot be reached: this computer has no network."},
    {"Broken pipe", "The connection to {0} broke off. Look whether the network is there."},
    {"Connection reset", "The connection to {0} broke off. Look whether the network is there."},
};

} // namespace

std::string sshProblem(const std::string& host, const std::string& program,
                       const CommandResult& result)
{
    if (host.empty())
        return {};
    if (result.isMissing)
        return fmt::format("{} cannot be reached: OpenSSH's `ssh` is not on this computer.", host);
    if (!result.whyNot.empty())
        return fmt::format("{} does not answer: {}", host, result.whyNot);
    // The program may end with this code, too; then it says its name.
    if (result.exitCode != kSshFailed || result.errors.find(program + ": ") != std::string::npos)
        return {};
    for (const SshComplaint& complaint : kSshComplaints)
        if (result.errors.find(complaint.said) != std::string::npos)
            return fmt::format(fmt::runtime(complaint.sentence), host);
    const std::string words = lastLine(result.errors);
    return fmt::format("{} cannot be reached by ssh{}{}.", host, words.empty() ? "" : ": ", words);
}

std::string lastLine(const std::string& text)
{
    constexpr const char* kBlank = " \t\r\n";
    const std::size_t end = text.find_last_not_of(kBlank);
    if (end == std::string::npos)
        return {};
    const std::size_t before = text.find_last_of("\r\n", end);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return text.substr(begin, end - begin + 1);
}

} // namespace vergence
