#include "core/cluster/remote_submit.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "core/base/shell_word.h"
#include "core/cluster/copy_runs.h"

namespace vergence {

namespace {

constexpr double kPatienceThere = 600; ///< s; there a lab is loaded, and thousands of files written
constexpr std::size_t kLongestCommand = 100'000; ///< bytes; Linux takes 128 KiB in one argument

std::size_t shellLength(const RunFolder& folder)
{
    return shellWord(folder.root.string()).size() + 1;
}

/// The target as the computer there sees it.
std::string targetForThere(Target target, const StudioThere& studio)
{
    target.login.clear();
    target.disk = Disk::Shared;
    target.folder = studio.runs.string();
    target.vergence = studio.program;
    return targetToToml(target);
}

/// A run of a submission: where it is there, and whether it was before.
struct RunToSubmit {
    RemoteCopy copy;
    bool isThere = true;
};

/// Throws Error (ExitCode::Usage) where a run is a copy of one that is elsewhere.
RunToSubmit toSubmit(const Target& target, const StudioThere& studio, const RunFolder& run)
{
    RunToSubmit one;
    one.copy.here = run;
    one.copy.there.folder = run.root;
    if (const auto known = readRemoteRun(run)) {
        if (target.disk == Disk::Shared || known->login != target.login)
            throw Error(fmt::format("The run {} is on {}; `vergence fetch {} --home` brings it to "
                                    "this computer first.",
                                    run.id(), known->login, shellWord(run.root.string())),
                        ExitCode::Usage);
        one.copy.there.folder = known->folder;
    } else if (target.disk == Disk::Own) {
        one.copy.there.folder = studio.runs / run.id();
        one.isThere = false;
    }
    one.copy.there.target = target.name;
    one.copy.there.login = target.login;
    one.copy.there.program = studio.program;
    one.copy.there.state = "Queued";
    one.copy.there.text = "Queued";
    return one;
}

std::vector<RunToSubmit> allToSubmit(const Target& target, const StudioThere& studio,
                                     const std::vector<RunFolder>& runs)
{
    std::vector<RunToSubmit> all;
    std::size_t length = 0;
    for (const RunFolder& run : runs) {
        all.push_back(toSubmit(target, studio, run));
        length += shellLength({all.back().copy.there.folder});
    }
    if (length > kLongestCommand)
        throw Error(fmt::format("{} runs are too many for one submission to {}; submit about {} at "
                                "a time.",
                                runs.size(), target.login, runs.size() * kLongestCommand / length),
                    ExitCode::Usage);
    return all;
}

/// Folders that this submission has put on the disk there; they go at the end unless they are kept.
class SentRuns {
public:
    SentRuns(std::string login, const std::vector<RunToSubmit>& runs) : m_login(std::move(login))
    {
        for (const RunToSubmit& run : runs)
            if (!run.isThere)
                m_runs.push_back(run.copy);
    }
    ~SentRuns()
    {
        if (!m_runs.empty())
            removeThere(m_login, m_runs);
    }
    SentRuns(const SentRuns&) = delete;
    SentRuns& operator=(const SentRuns&) = delete;

    void send()
    {
        if (!m_runs.empty())
            sendRuns(m_login, m_runs);
    }
    void keep() { m_runs.clear(); }

private:
    std::string m_login;
    std::vector<RemoteCopy> m_runs;
};

/// From now on the folders here follow those there.
void makeCopies(const std::vector<RunToSubmit>& runs)
{
    for (const RunToSubmit& run : runs)
        writeRemoteRun(run.copy.here, run.copy.there);
}

/// What was said beside the answer or the refusal.
void logWords(const std::string& login, const std::string& words, const std::string& but)
{
    std::istringstream lines(words);
    for (std::string line; std::getline(lines, line);)
        if (!line.empty() && line.find(but) == std::string::npos)
            log("cluster").warn("{}: {}", login, line);
}

ExitCode exitCodeOf(const CommandResult& result)
{
    const bool isDocumented = result.exitCode >= static_cast<int>(ExitCode::RunFailed) &&
                              result.exitCode <= static_cast<int>(ExitCode::VerificationFailed);
    return isDocumented ? static_cast<ExitCode>(result.exitCode) : ExitCode::RunFailed;
}

/// Its sentence goes up; what stands before it is told at once.
[[noreturn]] void throwRefusal(const std::string& login, const CommandResult& result)
{
    const std::string refusal = refusalOf(result);
    logWords(login, result.errors, refusal);
    throw Error(fmt::format("On {}: {}", login, refusal), exitCodeOf(result));
}

/// "1234" or "1234_7". Nothing where it is neither.
std::optional<Job> jobNamed(const Target& target, const std::string& name)
{
    constexpr const char* kDigits = "0123456789";
    const std::size_t bar = name.find('_');
    Job job{target.name, target.login, name.substr(0, bar), -1, target.scheduler};
    if (job.id.empty() || job.id.find_first_not_of(kDigits) != std::string::npos)
        return std::nullopt;
    if (bar == std::string::npos)
        return job;
    const auto [end, code] =
        std::from_chars(name.data() + bar + 1, name.data() + name.size(), job.task);
    const bool isGood = code == std::errc() && end == name.data() + name.size() && job.task >= 0;
    return isGood ? std::optional(job) : std::nullopt;
}

/// The jobs of an answer, in the order of `count` runs; empty where it is none.
std::vector<Job> jobsIn(const Target& target, const nlohmann::json& answer, std::size_t count)
{
    std::vector<Job> jobs;
    if (!answer.is_object() || !answer.contains("runs") || !answer["runs"].is_array())
        return {};
    for (const nlohmann::json& row : answer["runs"]) {
        if (!row.is_object() || !row.contains("job") || !row["job"].is_string())
            return {};
        const auto job = jobNamed(target, row["job"].get<std::string>());
        if (!job)
            return {};
        jobs.push_back(*job);
    }
    return jobs.size() == count ? jobs : std::vector<Job>();
}

[[noreturn]] void throwLost(const Target& target, const std::string& why)
{
    throw AnswerLost(fmt::format("{} What was submitted may be in the queue of {}; `vergence runs "
                                 "list --target {}` tells.",
                                 why, target.name, target.name));
}

std::vector<std::string> submitCommand(const Target& target, const std::vector<RunToSubmit>& runs,
                                       const std::vector<std::string>& arguments)
{
    std::vector<std::string> words{"submit"};
    for (const RunToSubmit& run : runs)
        words.push_back(run.copy.there.folder.string());
    words.insert(words.end(), {"--target", target.name, "--target-file", "-", "--json"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

/// Throws AnswerLost where nobody knows whether the runs are in the queue, Error for a refusal.
std::vector<Job> handOver(const Target& target, const StudioThere& studio,
                          const std::vector<std::string>& command, std::size_t count)
{
    std::vector<std::string> words{studio.program};
    words.insert(words.end(), command.begin(), command.end());
    const CommandResult result =
        Shell(target.login).run(words, targetForThere(target, studio), kPatienceThere);
    if (const std::string problem = sshProblem(target.login, "vergence", result); !problem.empty())
        throwLost(target, problem);
    if (result.exitCode != 0)
        throwRefusal(target.login, result);
    const std::vector<Job> jobs = jobsIn(target, jsonIn(result.output, '{'), count);
    if (jobs.empty())
        throwLost(target, fmt::format("{} did not name the jobs.", target.login));
    logWords(target.login, result.errors, fmt::format("Job {} is in ", jobs.front().id));
    return jobs;
}

/// What the job wrote comes with the next look where this one fails.
void firstLook(const std::string& login, const std::vector<RunToSubmit>& runs)
{
    std::vector<RemoteCopy> copies;
    for (const RunToSubmit& run : runs)
        copies.push_back(run.copy);
    try {
        bringRuns(login, copies);
    } catch (const IoError& error) {
        log("cluster").warn("{}", error.what());
    }
}

struct RunsThere {
    std::vector<std::size_t> places; ///< in the list of runs
    std::vector<std::string> folders;
    std::size_t length = 0; ///< of a command that names them
};

/// One question per program and as many runs as a command may name.
std::map<std::pair<std::string, std::string>, std::vector<RunsThere>>
questionsAbout(const std::vector<RunFolder>& runs)
{
    std::map<std::pair<std::string, std::string>, std::vector<RunsThere>> questions;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto remote = readRemoteRun(runs[i]);
        expects(remote.has_value(), "cancelThere: copies of runs elsewhere");
        auto& asked = questions[{remote->login, remote->program}];
        const std::size_t length = shellLength({remote->folder});
        if (asked.empty() || asked.back().length + length > kLongestCommand)
            asked.emplace_back();
        asked.back().places.push_back(i);
        asked.back().folders.push_back(remote->folder.string());
        asked.back().length += length;
    }
    return questions;
}

/// Empty where the answer is none.
std::vector<Cancellation> outcomesIn(const nlohmann::json& answer, std::size_t count)
{
    std::vector<Cancellation> outcomes;
    if (!answer.is_array())
        return {};
    for (const nlohmann::json& row : answer) {
        const auto outcome =
            row.is_object() && row.contains("outcome") && row["outcome"].is_string()
                ? enumOf<Cancellation>(row["outcome"].get<std::string>())
                : std::nullopt;
        if (!outcome)
            return {};
        outcomes.push_back(*outcome);
    }
    return outcomes.size() == count ? outcomes : std::vector<Cancellation>();
}

std::vector<Cancellation> askToCancel(const std::string& login, const std::string& program,
                                      const std::vector<std::string>& folders)
{
    std::vector<std::string> words{"cancel", "--json"};
    words.insert(words.end(), folders.begin(), folders.end());
    const CommandResult result = askVergence(login, program, words);
    std::vector<Cancellation> outcomes = outcomesIn(jsonIn(result.output, '['), folders.size());
    if (!outcomes.empty())
        return outcomes;
    if (result.exitCode != 0)
        throwRefusal(login, result);
    throw InputError(fmt::format("{} did not say what became of the runs; `vergence runs list` "
                                 "tells.",
                                 login));
}

} // namespace

AnswerLost::~AnswerLost() = default;

std::vector<Job> submitThere(const Target& target, const StudioThere& studio,
                             const RemoteSubmission& submission)
{
    expects(isAskedThere(target) && !submission.runs.empty(), "submitThere: runs for a login");
    const std::vector<RunToSubmit> runs = allToSubmit(target, studio, submission.runs);
    const auto command = submitCommand(target, runs, submission.arguments);
    const bool areCopies = target.disk == Disk::Own;
    SentRuns sent(target.login, runs);
    sent.send();
    std::vector<Job> jobs;
    try {
        jobs = handOver(target, studio, command, runs.size());
    } catch (const AnswerLost&) {
        sent.keep();
        if (areCopies)
            makeCopies(runs);
        throw;
    }
    sent.keep();
    if (areCopies) {
        makeCopies(runs);
        firstLook(target.login, runs);
    }
    return jobs;
}

std::vector<Cancellation> cancelThere(const std::vector<RunFolder>& runs)
{
    std::vector<Cancellation> answers(runs.size(), Cancellation::HasEnded);
    for (const auto& [there, questions] : questionsAbout(runs))
        for (const RunsThere& asked : questions) {
            const auto outcomes = askToCancel(there.first, there.second, asked.folders);
            for (std::size_t i = 0; i < outcomes.size(); ++i)
                answers[asked.places[i]] = outcomes[i];
        }
    return answers;
}

} // namespace vergence
