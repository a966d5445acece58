#include <array>
#include <sstream>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/slurm.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_states.h"

namespace vergence {

namespace {

constexpr std::size_t kQueueFields = 4;

/// Id, state and nodes hold no bar; the reason, which may be anything, comes last.
constexpr const char* kQueueFormat = "%i|%T|%N|%r";

std::array<std::string, kQueueFields> queueFields(const std::string& line)
{
    std::array<std::string, kQueueFields> fields;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < kQueueFields && begin <= line.size(); ++i) {
        const bool isLast = i + 1 == kQueueFields;
        const std::size_t end = isLast ? line.size() : std::min(line.find('|', begin), line.size());
        fields[i] = line.substr(begin, end - begin);
        begin = end + 1;
    }
    return fields;
}

} // namespace

std::map<std::string, JobState> queuedJobs(const std::string& login)
{
    const CommandResult result =
        detail::askSlurmOfUser(login, {"squeue", "-h", "-r", "-o", kQueueFormat});
    if (result.exitCode != 0)
        throw InputError(fmt::format("squeue{} failed: {}.", login.empty() ? "" : " of " + login,
                                     detail::slurmWords(result)));
    std::map<std::string, JobState> jobs;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
        const auto [id, name, nodes, reason] = queueFields(line);
        if (name.empty()) // what a login shell greets with
            continue;
        JobState& state = jobs[id] = detail::jobStateOf(id, name, reason);
        state.node = nodes;
    }
    return jobs;
}

} // namespace vergence
