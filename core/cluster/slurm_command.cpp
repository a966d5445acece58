#include "core/cluster/slurm_command.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::detail {

namespace {

constexpr int kNotFound = 127; // of a shell

std::string missingText(const std::string& login, const std::string& program)
{
    if (login.empty())
        return fmt::format("Slurm's commands are not on this computer ({} was not found); set "
                           "`login` to one that has them.",
                           program);
    return fmt::format("Slurm's commands are not on {} ({} was not found); set `login` to a "
                       "computer that has them, or add their folder to PATH in ~/.bashrc there.",
                       login, program);
}

/// Whether a shell says that it did not find the program. srun ends with the code of its own
/// program, which may be this one.
bool isNotFound(const std::string& program, const CommandResult& result)
{
    const std::string& said = result.errors;
    return result.exitCode == kNotFound && said.find(program) != std::string::npos &&
           said.find(program + ": error: ") == std::string::npos;
}

bool isControllerSilent(const std::string& errors)
{
    for (const char* words : {"Unable to contact slurm controller", "Socket timed out",
                              "slurm_persist_conn_open", "Zero Bytes were transmitted"})
        if (errors.find(words) != std::string::npos)
            return true;
    return false;
}

/// Empty where the command ran and the controller answered.
std::string whyNoAnswer(const std::string& login, const std::string& program,
                        const CommandResult& result)
{
    if (std::string problem = sshProblem(login, program, result); !problem.empty())
        return problem;
    if (result.isMissing || (result.whyNot.empty() && isNotFound(program, result)))
        return missingText(login, program);
    if (!result.whyNot.empty())
        return fmt::format("Slurm does not answer: {}", result.whyNot);
    if (result.exitCode != 0 && isControllerSilent(result.errors))
        return fmt::format("Slurm's controller does not answer ({}). Try again later, or ask the "
                           "administrators of the cluster.",
                           slurmWords(result));
    return {};
}

/// Where `line` goes on behind `mark`; 0 where it has none.
std::size_t endOf(const std::string& line, std::string_view mark)
{
    const std::size_t at = line.find(mark);
    return at == std::string::npos ? 0 : at + mark.size();
}

CommandResult answered(const std::string& login, const std::string& program, CommandResult result)
{
    const std::string problem = whyNoAnswer(login, program, result);
    if (!problem.empty())
        throw InputError(problem);
    return result;
}

} // namespace

CommandResult askSlurm(const std::string& login, const std::vector<std::string>& command,
                       const std::string& input, double seconds)
{
    return answered(login, command.front(), Shell(login).run(command, input, seconds));
}

CommandResult askSlurmOfUser(const std::string& login, const std::vector<std::string>& command)
{
    std::vector<std::string> words{"sh", "-c", "exec \"$0\" \"$@\" -u \"$(id -un)\""};
    words.insert(words.end(), command.begin(), command.end());
    return answered(login, command.front(), Shell(login).run(words, {}, kSlurmPatience));
}

std::vector<std::string> srunCommand(const Target& target, double seconds, int minutes)
{
    std::vector<std::string> words{"srun", "--quiet", "--ntasks=1", "--job-name=vergence-check",
                                   fmt::format("--immediate={:.0f}", seconds)};
    const auto add = [&words](const char* name, const std::string& value) {
        if (!value.empty())
            words.push_back(fmt::format("--{}={}", name, value));
    };
    add("partition", target.partition);
    add("account", target.account);
    add("qos", target.qos);
    add("constraint", target.constraint);
    add("gres", target.gpus);
    add("mem", target.memory);
    if (target.cores > 0)
        add("cpus-per-task", std::to_string(target.cores));
    add("time", std::to_string(minutes));
    return words;
}

std::string slurmWords(const CommandResult& result)
{
    std::string words;
    std::istringstream lines(result.errors);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at =
            std::max({endOf(line, "error: "), endOf(line, "failure: "), endOf(line, "failed: ")});
        if (at > 0 || words.empty())
            words = line.substr(at);
    }
    while (words.ends_with('.') || words.ends_with('\r'))
        words.pop_back();
    return words.empty() ? fmt::format("exit code {}", result.exitCode) : words;
}

} // namespace vergence::detail
