#pragma once

#include <string>
#include <vector>

namespace vergence {

/// How a program ended.
struct CommandResult {
    int exitCode = 0;
    std::string output, errors; ///< standard output and standard error
    /// The program could not be started, or did not end in time; empty otherwise.
    std::string whyNot;
    bool isMissing = false; ///< this computer has no such program
    bool isGood() const { return whyNot.empty() && exitCode == 0; }
};

/// Runs programs on this computer, or on another by OpenSSH (its configuration, keys, agent and
/// jump hosts; it never asks for a password). All calls to a host share one connection, which stays
/// for a minute. Blocks; any thread.
class Shell {
public:
    /// `host`: an ssh destination; empty: this computer.
    explicit Shell(std::string host = {}) : m_host(std::move(host)) {}

    /// `command`: program and arguments, words that are never parsed. Ended after `seconds`.
    CommandResult run(const std::vector<std::string>& command, const std::string& input = {},
                      double seconds = 30) const;
    const std::string& host() const { return m_host; }

private:
    std::string m_host;
};

/// `ssh` with its options and the host, as one text for rsync, which splits it at spaces and knows
/// quotes. What follows is a command for the shell there.
std::string sshCommandLine(const std::string& host);

/// Why `ssh host` did not get as far as `program`, and what to do; empty where it did, or where no
/// host is named.
std::string sshProblem(const std::string& host, const std::string& program,
                       const CommandResult& result);
/// The last line of `text` that is not empty.
std::string lastLine(const std::string& text);

} // namespace vergence
