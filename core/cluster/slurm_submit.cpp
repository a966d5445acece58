#include <regex>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/cluster/queued_statuses.h"
#include "core/cluster/slurm.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_refusal.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// Of "1234" or "1234;cluster" in a line of its own.
std::string submittedId(const Target& target, const CommandResult& result)
{
    if (result.exitCode != 0)
        throw Error(detail::refusalText(target, result), ExitCode::ConfigInvalid);
    static const std::regex kLine("(?:^|\\n)(\\d+)(?:;[^\\n]*)?(?:\\n|$)");
    std::smatch match;
    if (!std::regex_search(result.output, match, kLine))
        throw InputError(fmt::format("sbatch did not name the job ({}); `squeue` tells whether it "
                                     "is in the queue.",
                                     toToml(result.output)));
    return match[1];
}

/// Ten thousand copies of a script that names ten thousand folders would fill a disk: the folders
/// share one file where the disk allows it.
void writeScripts(const std::vector<RunFolder>& runs, const std::string& script)
{
    const fs::path first = jobScript(runs.front());
    writeFileAtomic(first, script);
    for (std::size_t i = 1; i < runs.size(); ++i) {
        std::error_code code;
        fs::remove(jobScript(runs[i]), code);
        fs::create_hard_link(first, jobScript(runs[i]), code);
        if (code)
            writeFileAtomic(jobScript(runs[i]), script);
    }
}

/// A job whose runs could not be told of it.
void takeBack(const Job& job) noexcept
{
    try {
        cancelJobs(job.login, {job});
    } catch (const Error& error) {
        log("cluster").error("The job {} is still in the queue: {}", job.id, error.what());
    }
}

} // namespace

std::vector<Job> submitToSlurm(const Target& target, const Submission& submission,
                               const std::string& vergence)
{
    const std::string script = slurmScript(target, submission, vergence);
    const std::vector<RunFolder>& runs = submission.runs;
    QueuedStatuses statuses;
    for (const RunFolder& run : runs)
        statuses.change(run);
    const Job whole{
        target.name, target.login,
        submittedId(target, detail::askSlurm(target.login, {"sbatch", "--parsable"}, script)), -1};
    std::vector<Job> jobs(runs.size(), whole);
    try {
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs.size() > 1)
                jobs[i].task = static_cast<int>(i);
            writeJob(runs[i], jobs[i]);
        }
        writeScripts(runs, script);
    } catch (const OutputError&) {
        takeBack(whole);
        throw;
    }
    statuses.keep();
    return jobs;
}

} // namespace vergence
