#include <string_view>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/cluster/shell.h"
#include "core/cluster/slurm.h"
#include "core/run/worker_log.h"

namespace vergence {

namespace {

/// A value in an `#SBATCH` line, where double quotes group and a backslash takes the next character
/// as it is. Source: Slurm 22.05, src/sbatch/opt.c, _get_argument().
std::string sbatchWord(const std::string& word)
{
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,@%+-";
    expects(word.find_first_of("\n\r") == std::string::npos, "slurmScript: options are one line");
    if (word.find_first_not_of(kPlain) == std::string::npos)
        return word;
    std::string quoted = "\"";
    for (const char c : word) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

/// Nothing for an empty value.
std::string optionLine(const char* name, const std::string& value)
{
    return value.empty() ? std::string()
                         : fmt::format("#SBATCH --{}={}\n", name, sbatchWord(value));
}

std::string optionLine(const char* name, int value)
{
    return value == 0 ? std::string() : optionLine(name, std::to_string(value));
}

std::string extraLine(const std::string& option)
{
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos)
        return fmt::format("#SBATCH {}\n", option);
    return fmt::format("#SBATCH {}={}\n", option.substr(0, equals),
                       sbatchWord(option.substr(equals + 1)));
}

std::string arrayRange(std::size_t count, int atOnce)
{
    return fmt::format("0-{}{}", count - 1, atOnce > 0 ? fmt::format("%{}", atOnce) : "");
}

std::string optionLines(const Target& target, const Submission& submission)
{
    std::string lines = optionLine("job-name", "vergence-" + submission.plugin);
    if (submission.runs.size() > 1)
        lines += optionLine("array", arrayRange(submission.runs.size(), target.atOnce));
    lines += optionLine("partition", target.partition) + optionLine("account", target.account) +
             optionLine("qos", target.qos) + optionLine("constraint", target.constraint) +
             optionLine("time", target.time) + optionLine("gres", target.gpus) +
             optionLine("cpus-per-task", target.cores) + optionLine("mem", target.memory) +
             optionLine("signal", fmt::format("B:USR1@{}", target.grace)) + "#SBATCH --requeue\n" +
             optionLine("open-mode", "append") + optionLine("output", "/dev/null");
    for (const std::string& option : target.extra)
        lines += extraLine(option);
    return lines;
}

std::string runLines(const Submission& submission)
{
    std::string lines = "runs=(\n";
    for (const RunFolder& run : submission.runs)
        lines += fmt::format("    {}\n", shellWord(run.root.string()));
    lines += ")\n";
    if (submission.runs.size() == 1) // the environment of the one who submits comes along
        lines += "unset SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID  # of a job that submitted this "
                 "one\n";
    return lines + "run=${runs[${SLURM_ARRAY_TASK_ID:-0}]}\n";
}

/// Exit code 6 as of every program of the studio that cannot read its input.
std::string beginLines(const Submission& submission)
{
    std::string lines = "[ -d \"$run\" ] || exit 6  # this node does not see the folder\n";
    lines += fmt::format("exec >>\"$run\"/{} 2>&1\n", workerLog({}).string());
    if (!submission.workingFolder.empty())
        lines += fmt::format("cd -- {}  # where relative paths of a configuration begin\n",
                             shellWord(submission.workingFolder.string()));
    return lines;
}

std::string workerLine(const Submission& submission, const std::string& vergence)
{
    std::string words = shellWord(vergence) + " run \"$run\" --resume --wait";
    for (const std::string& argument : submission.arguments)
        words += " " + shellWord(argument);
    return fmt::format("# USR2 is ignored until the worker listens to it.\n"
                       "(trap '' USR2; exec {}) &\n"
                       "worker=$!\n",
                       words);
}

constexpr std::string_view kSignalLines =
    R"(# USR1: the time is nearly up; the worker saves and ends with code 124. USR2: it saves and goes on.
# TERM: somebody cancels, or another job takes the place. HUP lets the worker save and end; a second
# TERM, and Slurm may have sent it one, would end it at once.
worker=
cancelled=
trap 'signalled=1; kill -USR1 "$worker" 2>/dev/null' USR1
trap 'signalled=1; kill -USR2 "$worker" 2>/dev/null' USR2
trap 'signalled=1; cancelled=1; kill -HUP "$worker" 2>/dev/null' TERM INT
)";

/// Bash keeps the exit code of a child, so that a second `wait` for it tells the same.
constexpr std::string_view kWaitLines =
    R"(# A signal ends `wait` before the worker ends.
signalled=1
while [ "$signalled" ]; do
    signalled=
    wait "$worker"
    code=$?
done
)";

/// The controller may be away for a while; it is asked again for as long as the job may still run.
constexpr std::string_view kRequeueLines =
    R"(# 138: USR1 came before the worker listened to it.
if [ "$code" = 138 ]; then
    code=124
fi
if [ "$code" = 124 ] && [ -z "$cancelled" ]; then
    worker=  # its number may be that of another process by now
    job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_}${SLURM_ARRAY_TASK_ID:-$SLURM_JOB_ID}
    until scontrol requeue "$job" || [ "$cancelled" ] || [ "$SECONDS" -ge "$patience" ]; do
        sleep 5
    done
fi
exit "$code"
)";

std::string requeueLines(const Target& target)
{
    return fmt::format("patience=$((SECONDS + {}))  # s; Slurm's controller may be away for a "
                       "while\n{}",
                       target.grace, kRequeueLines);
}

} // namespace

std::string slurmScript(const Target& target, const Submission& submission,
                        const std::string& vergence)
{
    expects(!submission.runs.empty() && !vergence.empty(), "slurmScript: runs and a program");
    const char* what = submission.runs.size() == 1 ? "A run of Vergence Studio."
                                                   : "Runs of Vergence Studio, one per task.";
    return fmt::format("#!/bin/bash\n{}\n# {}\n{}{}\n{}\n{}{}\n{}", optionLines(target, submission),
                       what, runLines(submission), beginLines(submission), kSignalLines,
                       workerLine(submission, vergence), kWaitLines, requeueLines(target));
}

} // namespace vergence
