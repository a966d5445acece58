#include "core/cluster/lane_jobs.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <QProcess>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/shell_word.h"
#include "core/cluster/queued_statuses.h"
#include "core/run/status_writer.h"
#include "core/run/worker_log.h"

namespace vergence {

namespace {

/// Milliseconds since 1970, which have as many digits for centuries.
std::string newLaneJob()
{
    using namespace std::chrono;
    return std::to_string(
        duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

/// Who was submitted first has the smaller one.
std::string lanePlaceOf(const Job& job)
{
    return fmt::format("{}{:07}", job.id, std::max(job.task, 0));
}

std::string laneLine(const Target& target, const Submission& submission, const Job& job,
                     const std::string& vergence)
{
    std::string words =
        fmt::format("exec {} lane \"$run\" --place {}", shellWord(vergence), lanePlaceOf(job));
    for (const std::string& lane : target.lanes)
        words += " --lane " + shellWord(lane);
    if (!submission.arguments.empty())
        words += " --";
    for (const std::string& argument : submission.arguments)
        words += " " + shellWord(argument);
    return words + "\n";
}

/// The processes of a submission; they end with it unless they are kept.
class LaneProcesses {
public:
    LaneProcesses() = default;
    ~LaneProcesses()
    {
        for (const qint64 process : m_started)
            ::kill(static_cast<pid_t>(process), SIGTERM);
    }
    LaneProcesses(const LaneProcesses&) = delete;
    LaneProcesses& operator=(const LaneProcesses&) = delete;

    /// In a session of its own, without anything of this one but its environment.
    void start(const RunFolder& run)
    {
        const QString log = QString::fromStdString(workerLog(run).string());
        QProcess process;
        process.setProgram("bash");
        process.setArguments({QString::fromStdString(jobScript(run).string())});
        process.setStandardInputFile(QProcess::nullDevice());
        process.setStandardOutputFile(log, QIODevice::Append);
        process.setStandardErrorFile(log, QIODevice::Append);
        qint64 id = 0;
        if (!process.startDetached(&id))
            throw InputError(fmt::format("The run {} cannot wait for a lane: bash cannot be "
                                         "started ({}).",
                                         run.id(), process.errorString().toStdString()));
        m_started.push_back(id);
    }
    void keep() { m_started.clear(); }

private:
    std::vector<qint64> m_started;
};

} // namespace

std::string laneScript(const Target& target, const Submission& submission, std::size_t run,
                       const Job& job, const std::string& vergence)
{
    expects(run < submission.runs.size() && !vergence.empty(), "laneScript: a run and a program");
    std::string lines = "#!/bin/bash\n"
                        "# A run of Vergence Studio, which waits for a lane of this computer.\n";
    lines += fmt::format("run={}\n", shellWord(submission.runs[run].root.string()));
    lines += fmt::format("exec >>\"$run\"/{} 2>&1\n", workerLog({}).string());
    if (!submission.workingFolder.empty())
        lines += fmt::format("cd -- {}  # where relative paths of a configuration begin\n",
                             shellWord(submission.workingFolder.string()));
    return lines + laneLine(target, submission, job, vergence);
}

std::vector<Job> submitToLanes(const Target& target, const Submission& submission,
                               const std::string& vergence)
{
    const std::vector<RunFolder>& runs = submission.runs;
    expects(!runs.empty(), "submitToLanes: runs");
    QueuedStatuses statuses;
    for (const RunFolder& run : runs) {
        unlinkRings(readStatus(run)); // of a worker that was killed; its status goes
        statuses.change(run);
    }
    std::vector<Job> jobs(runs.size(),
                          {target.name, target.login, newLaneJob(), -1, Scheduler::Lanes});
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs.size() > 1)
            jobs[i].task = static_cast<int>(i);
        writeFileAtomic(jobScript(runs[i]), laneScript(target, submission, i, jobs[i], vergence));
        writeJob(runs[i], jobs[i]);
    }
    LaneProcesses processes;
    for (const RunFolder& run : runs)
        processes.start(run);
    processes.keep();
    statuses.keep();
    return jobs;
}

} // namespace vergence
