#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/slurm.h"
#include "core/cluster/slurm_command.h"

namespace vergence {

namespace {

constexpr std::size_t kIdsAtOnce = 500; ///< ssh hands a command line on as one argument, 128 KiB

void runScancel(const std::string& login, const std::vector<std::string>& command)
{
    const CommandResult result = detail::askSlurm(login, command);
    if (result.exitCode != 0)
        throw InputError(
            fmt::format("Slurm refuses to cancel or signal: {}.", detail::slurmWords(result)));
}

} // namespace

void cancelJobs(const std::string& login, const std::vector<Job>& jobs)
{
    for (std::size_t first = 0; first < jobs.size(); first += kIdsAtOnce) {
        std::vector<std::string> command{"scancel"};
        for (std::size_t i = first; i < std::min(first + kIdsAtOnce, jobs.size()); ++i)
            command.push_back(jobs[i].slurmId());
        runScancel(login, command);
    }
}

void signalJob(const std::string& login, const Job& job, const std::string& signal)
{
    // To the script alone, which hands it on: it knows whether the worker listens.
    runScancel(login, {"scancel", "--batch", "--signal=" + signal, job.slurmId()});
}

} // namespace vergence
