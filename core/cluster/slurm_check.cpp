#include <algorithm>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/artifact/manifest.h"
#include "core/cluster/folder_token.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_partitions.h"
#include "core/cluster/slurm_refusal.h"
#include "core/cluster/target_check.h"
#include "core/cluster/target_rules.h"

namespace vergence::detail {

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
void checkVersionOfSlurm(const Target& target, Lines& lines)
{
    const std::string said = lastLine(askSlurm(target.login, {"sinfo", "--version"}).output);
    lines.push_back({true, fmt::format("Slurm {} answers{}.", said.substr(said.rfind(' ') + 1),
                                       target.login.empty() ? "" : " on " + target.login)});
}

void tellPartitions(const std::vector<Partition>& partitions, Lines& lines)
{
    for (const Partition& one : partitions)
        lines.push_back({true, fmt::format("Partition `{}`: {} node{}, {} idle.", one.name,
                                           one.nodes, one.nodes == 1 ? "" : "s", one.idle)});
}

/// Nothing where there is no limit.
std::optional<long> longestTime(const Partition& partition)
{
    return slurmSeconds(partition.time);
}

/// A cluster without EnforcePartLimits takes jobs that it never starts.
void checkTime(const Target& target, const std::vector<Partition>& partitions, Lines& lines)
{
    const auto wanted = slurmSeconds(target.time);
    const auto allows = [&wanted](const Partition& partition) {
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
    const CommandResult result =
        askSlurm(target.login, {"sbatch", "--test-only"}, slurmScript(target, sample, vergence));
    if (result.exitCode != 0)
        lines.push_back({false, refusalText(target, result)});
    else
        lines.push_back({true, "The cluster takes jobs with these settings."});
    return result.exitCode == 0;
}

/// What a node does: looks for the token in the runs folder, names itself and the program.
std::string nodeScript()
{
    return std::string("echo \"node ${SLURMD_NODENAME:-$(hostname)}\"\n") + kLookForToken +
           "\"$2\" --version --verbose\nexit 0";
}

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

void tellFolder(const Target& target, const NodeAnswer& answer, const fs::path& folder,
                Lines& lines)
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
            {false, fmt::format("{} does not see {}. Set `folder` to one on a disk that {} and the "
                                "nodes share.",
                                answer.node, folder.string(),
                                target.disk == Disk::Own ? target.login : "this computer")});
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

void checkNode(const Target& target, const StudioThere& studio, double seconds, Lines& lines)
{
    constexpr double kForTheJob = 60; // s; once it has a node
    const FolderToken token(target.disk == Disk::Own ? target.login : std::string(), studio.runs);
    std::vector<std::string> command = srunCommand(target, seconds, 2);
    command.insert(command.end(),
                   {"sh", "-c", nodeScript(), "sh", token.path().string(), studio.program});
    const CommandResult result = askSlurm(target.login, command, {}, seconds + kForTheJob);
    const NodeAnswer answer = nodeAnswerOf(result.output);
    if (answer.node.empty()) {
        lines.push_back({true, fmt::format("No node is free at present, so what the nodes see was "
                                           "not looked at ({}).",
                                           slurmWords(result))});
        return;
    }
    tellFolder(target, answer, studio.runs, lines);
    tellProgram(answer, studio.program, lines);
    tellDevices(target, answer, lines);
}

} // namespace

void checkSlurm(const Target& target, const StudioThere& studio, double seconds, Lines& lines)
{
    checkVersionOfSlurm(target, lines);
    const std::vector<Partition> partitions = partitionsOf(target);
    tellPartitions(partitions, lines);
    if (checkSettings(target, studio.program, lines)) {
        checkTime(target, partitions, lines);
        checkNode(target, studio, seconds, lines);
    }
}

} // namespace vergence::detail
