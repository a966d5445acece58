#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/cluster/slurm.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_states.h"

namespace vergence {

namespace {

using JobStates = std::map<std::string, JobState>;

/// Of "1:0": code and signal.
detail::JobEnd endOf(const std::string& exit)
{
    detail::JobEnd end;
    char colon = 0;
    std::istringstream(exit) >> end.exitCode >> colon >> end.signal;
    return end;
}

/// The members of a line of `scontrol -o show job`. Values may hold blanks; the first of equal keys
/// counts, and those that we read come before any text of people but the job's name.
std::map<std::string, std::string> membersOf(const std::string& line)
{
    std::map<std::string, std::string> members;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos)
            members.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    return members;
}

void readControl(const std::string& output, JobStates& states)
{
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        auto members = membersOf(line);
        const std::string id = members.contains("ArrayTaskId")
                                   ? members["ArrayJobId"] + "_" + members["ArrayTaskId"]
                                   : members["JobId"];
        if (members["JobState"].empty())
            continue;
        JobState& state = states[id] = detail::jobStateOf(
            id, members["JobState"], members["Reason"], endOf(members["ExitCode"]));
        if (const std::string nodes = members["NodeList"]; nodes != "(null)")
            state.node = nodes;
    }
}

void readAccounting(const std::string& output, JobStates& states)
{
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string id, name, exit, nodes;
        std::getline(fields, id, '|');
        std::getline(fields, name, '|');
        std::getline(fields, exit, '|');
        std::getline(fields, nodes, '|');
        if (name.empty())
            continue;
        JobState& state = states[id] = detail::jobStateOf(id, name, {}, endOf(exit));
        state.node = nodes == "None assigned" ? std::string() : nodes;
    }
}

std::set<std::string> idsWithout(const JobStates& states, const std::vector<Job>& jobs)
{
    std::set<std::string> ids;
    for (const Job& job : jobs)
        if (!states.contains(job.slurmId()))
            ids.insert(job.id);
    return ids;
}

/// Both know nothing of a job that is gone for long, and a cluster may keep no accounts: that is no
/// failure.
JobStates knownStates(const std::string& login, const std::vector<Job>& jobs)
{
    JobStates states;
    for (const std::string& id : idsWithout(states, jobs))
        readControl(detail::askSlurm(login, {"scontrol", "-o", "show", "job", id}).output, states);
    const std::set<std::string> unknown = idsWithout(states, jobs);
    if (!unknown.empty()) {
        const CommandResult result = detail::askSlurm(
            login, {"sacct", "-n", "-X", "-P", "-o", "JobID,State,ExitCode,NodeList", "-j",
                    fmt::format("{}", fmt::join(unknown, ","))});
        if (result.exitCode == 0)
            readAccounting(result.output, states);
    }
    return states;
}

} // namespace

JobStates endedJobs(const std::string& login, const std::vector<Job>& jobs)
{
    JobStates states;
    for (const Job& job : jobs)
        states[job.slurmId()] = {};
    try {
        const JobStates known = knownStates(login, jobs);
        for (auto& [id, state] : states) {
            state.phase = JobState::Phase::Ended;
            state.reason = "Slurm does not know it any more";
            if (const auto found = known.find(id); found != known.end())
                state = found->second;
        }
    } catch (const InputError&) {
        // All stay Unknown.
    }
    return states;
}

JobState endedJob(const std::string& login, const Job& job)
{
    return endedJobs(login, {job}).at(job.slurmId());
}

} // namespace vergence
