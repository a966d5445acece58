#include <regex>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/cluster/slurm.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_refusal.h"
#include "core/run/run_state.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// What is left of a status while the run waits for its next worker.
RunStatus waitingStatus(const RunStatus& before)
{
    RunStatus status;
    status.state = nameOf(RunState::Queued);
    status.plugin = before.plugin;
    status.preset = before.preset;
    status.device = before.device;
    status.step = before.step;
    status.total = before.total;
    status.rings = before.rings;
    return status;
}

/// The statuses of runs on their way into the queue. Those that no worker has replaced are set back
/// at the end, unless they are kept.
class QueuedStatuses {
public:
    QueuedStatuses() = default;
    ~QueuedStatuses()
    {
        for (const Change& change : m_changes)
            restore(change);
    }
    QueuedStatuses(const QueuedStatuses&) = delete;
    QueuedStatuses& operator=(const QueuedStatuses&) = delete;

    void change(const RunFolder& run)
    {
        Change change{run, readFile(run.status()),
                      prettyJson(waitingStatus(readStatus(run)).toJson())};
        if (change.after == change.before)
            return;
        writeFileAtomic(run.status(), change.after);
        m_changes.push_back(std::move(change));
    }
    void keep() { m_changes.clear(); }

private:
    struct Change {
        RunFolder run;
        std::string before, after;
    };

    static void restore(const Change& change) noexcept
    {
        try {
            if (readFile(change.run.status()) == change.after)
                writeFileAtomic(change.run.status(), change.before);
        } catch (const Error& error) {
            log("cluster").warn("The run {} stays Queued: {}", change.run.id(), error.what());
        }
    }

    std::vector<Change> m_changes;
};

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
