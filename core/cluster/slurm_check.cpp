#include <algorithm>
#include <optional>
#include <sstream>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/slurm.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_partitions.h"
#include "core/cluster/slurm_refusal.h"
#include "core/cluster/target_rules.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<TargetCheck::Line>;

std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

/// "slurm 22.05.8", "slurm-wlm 22.05.8".
void checkSlurm(const Target& target, Lines& lines)
{
    const std::string said =
        lastLine(detail::askSlurm(target.login, {"sinfo", "--version"}).output);
    lines.push_back({true, fmt::format("Slurm {} answers{}.", said.substr(said.rfind(' ') + 1),
                                       target.login.empty() ? "" : " on " + target.login)});
}

void tellPartitions(const std::vector<detail::Partition>& partitions, Lines& lines)
{
    for (const detail::Partition& one : partitions)
        lines.push_back({true, fmt::format("Partition `{}`: {} node{}, {} idle.", one.name,
                                           one.nodes, one.nodes == 1 ? "" : "s", one.idle)});
}

/// Nothing where there is no limit.
std::optional<long> longestTime(const detail::Partition& partition)
{
    return detail::slurmSeconds(partition.time);
}

/// A cluster without EnforcePartLimits takes jobs that it never starts.
void checkTime(const Target& target, const std::vector<detail::Partition>& partitions, Lines& lines)
{
    const auto wanted = detail::slurmSeconds(target.time);
    const auto allows = [&wanted](const detail::Partition& partition) {
        return wanted <= longestTime(partition).value_or(*wanted);
    };
    if (!wanted || partitions.empty() || std::ranges::any_of(partitions, allows))
        return;
    const auto widest = std::ranges::max_element(partitions, {}, &longestTime);
    lines.push_back(
        {false, fmt::format("The time {} is longer than the partition `{}` allows ({}): "
                            "a job would wait for ever. Set a shorter `time`; a run "
                            "that needs longer goes back into the queue.",
                            target.time, widest->name, widest->time)});
}

/// What sbatch would say of a job of this target, without one.
bool checkSettings(const Target& target, const std::string& vergence, Lines& lines)
{
    const Submission sample{"check", {RunFolder{"/"}}, {}, {}};
    const CommandResult result = detail::askSlurm(target.login, {"sbatch", "--test-only"},
                                                  slurmScript(target, sample, vergence));
    if (result.exitCode != 0)
        lines.push_back({false, detail::refusalText(target, result)});
    else
        lines.push_back({true, "The cluster takes jobs with these settings."});
    return result.exitCode == 0;
}

/// A file in the runs folder that a node must find, and one that it must make there.
class Token {
public:
    explicit Token(const fs::path& folder)
    {
        std::error_code code;
        fs::create_directories(folder, code); // writing says what is wrong
        m_path = folder / fmt::format(".vergence-check-{}", ::getpid());
        writeFileAtomic(m_path, "Vergence Studio looks whether the nodes of a cluster see this "
                                "folder. The file may be removed.\n");
    }
    ~Token()
    {
        std::error_code code;
        fs::remove(m_path, code);
        fs::remove(answer(), code);
    }
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

    const fs::path& path() const { return m_path; }
    fs::path answer() const { return m_path.string() + "-node"; }

private:
    fs::path m_path;
};

std::vector<std::string> srunCommand(const Target& target, double seconds)
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
    add("time", "2");
    return words;
}

/// What a node does: finds the file, makes another one beside it, names itself and the program.
constexpr const char* kNodeScript = R"sh(
echo "node ${SLURMD_NODENAME:-$(hostname)}"
if [ -f "$1" ]; then echo 'sees folder'; fi
if : >"$1-node"; then echo 'writes folder'; fi
"$2" --version --verbose
exit 0)sh";

struct NodeAnswer {
    std::string node, version;
    bool sees = false, writes = false;
    std::vector<std::string> devices;
};

NodeAnswer nodeAnswerOf(const std::string& output)
{
    NodeAnswer answer;
    for (const std::string& line : linesOf(output)) {
        if (line.starts_with("node "))
            answer.node = line.substr(5);
        else if (line.starts_with("vergence "))
            answer.version = line.substr(9);
        else if (line.starts_with("device: "))
            answer.devices.push_back(line.substr(8));
        answer.sees = answer.sees || line == "sees folder";
        answer.writes = answer.writes || line == "writes folder";
    }
    return answer;
}

void tellFolder(const NodeAnswer& answer, const fs::path& folder, Lines& lines)
{
    if (answer.sees && answer.writes)
        lines.push_back(
            {true, fmt::format("{} sees and writes {}.", answer.node, folder.string())});
    else if (answer.sees)
        lines.push_back({false, fmt::format("{} may not write {}. Choose another `folder`, or give "
                                            "it the right to.",
                                            answer.node, folder.string())});
    else
        lines.push_back(
            {false, fmt::format("{} does not see {}. Set `folder` to one on a disk that "
                                "this computer and the nodes share.",
                                answer.node, folder.string())});
}

void tellProgram(const NodeAnswer& answer, const std::string& vergence, Lines& lines)
{
    const std::string here = buildInfo().value("version", "");
    if (answer.version.empty())
        lines.push_back({false, fmt::format("{} does not start on {}. Set `program` to the path "
                                            "that the program has there.",
                                            vergence, answer.node)});
    else
        lines.push_back({answer.version == here,
                         answer.version == here
                             ? fmt::format("{} has vergence {}.", answer.node, here)
                             : fmt::format("{} has vergence {}, this computer {}. Install the same "
                                           "version on both.",
                                           answer.node, answer.version, here)});
}

/// The first device is the CPU, which there always is.
void tellDevices(const Target& target, const NodeAnswer& answer, Lines& lines)
{
    if (answer.devices.empty())
        return;
    const bool lacksGpu = !target.gpus.empty() && answer.devices.size() == 1;
    lines.push_back({!lacksGpu, fmt::format("Devices on {}: {}.{}", answer.node,
                                            fmt::join(answer.devices, ", "),
                                            lacksGpu ? " The program finds no GPU there, though "
                                                       "`gpus` asks for one."
                                                     : "")});
}

void checkNode(const Target& target, const fs::path& folder, const std::string& vergence,
               double seconds, Lines& lines)
{
    constexpr double kForTheJob = 60; // s; once it has a node
    const Token token(folder);
    std::vector<std::string> command = srunCommand(target, seconds);
    command.insert(command.end(), {"sh", "-c", kNodeScript, "sh", token.path().string(), vergence});
    const CommandResult result = detail::askSlurm(target.login, command, {}, seconds + kForTheJob);
    const NodeAnswer answer = nodeAnswerOf(result.output);
    if (answer.node.empty()) {
        lines.push_back({true, fmt::format("No node is free at present, so what the nodes see was "
                                           "not looked at ({}).",
                                           detail::slurmWords(result))});
        return;
    }
    tellFolder(answer, folder, lines);
    tellProgram(answer, vergence, lines);
    tellDevices(target, answer, lines);
}

} // namespace

bool TargetCheck::isGood() const
{
    return std::ranges::all_of(lines, &Line::isGood);
}

TargetCheck checkTarget(const Target& target, const fs::path& runsFolder,
                        const std::string& vergence, double seconds)
{
    TargetCheck check;
    try {
        checkSlurm(target, check.lines);
        const std::vector<detail::Partition> partitions = detail::partitionsOf(target);
        tellPartitions(partitions, check.lines);
        if (checkSettings(target, vergence, check.lines)) {
            checkTime(target, partitions, check.lines);
            checkNode(target, fs::absolute(runsFolder), vergence, seconds, check.lines);
        }
    } catch (const IoError& error) {
        check.lines.push_back({false, error.what()});
    }
    return check;
}

} // namespace vergence
