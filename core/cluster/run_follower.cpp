#include "core/cluster/run_follower.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cluster/studio_there.h"
#include "core/run/run_state.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kAskEvery = 3;                 ///< s
constexpr std::size_t kLongestRequest = 60'000; ///< a command that every system takes

bool hasEnded(const RemoteRun& run)
{
    const auto state = runStateFromName(run.state);
    return state && isFinal(*state);
}

/// Nobody works on it any more; one that is Lost may come back.
bool hasEndedForGood(const RemoteRun& run)
{
    return hasEnded(run) && run.state != nameOf(RunState::Lost);
}

std::string textIn(const json& object, const char* key)
{
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json objectIn(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_object() ? *found : json::object();
}

/// "Running on gpu07".
std::string placeText(const std::string& state, const std::string& host)
{
    const auto known = runStateFromName(state);
    return known && isLive(*known) && !host.empty() ? fmt::format("{} on {}", state, host) : state;
}

/// What a row of `runs list` says of a run; nothing where it says that there is none, or that it
/// cannot be read.
std::optional<RemoteRun> withRow(RemoteRun run, const json& row)
{
    const json status = objectIn(row, "status");
    const std::string state = textIn(status, "state");
    if (!runStateFromName(state))
        return std::nullopt;
    run.unreachedSince = 0;
    run.state = state;
    run.problem = textIn(status, "problem");
    run.text = textIn(objectIn(row, "job"), "text");
    if (run.text.empty())
        run.text = placeText(state, textIn(status, "host"));
    return run;
}

json rowsOf(const std::string& login, const std::string& program,
            const std::vector<std::string>& folders)
{
    std::vector<std::string> arguments{"runs", "list"};
    arguments.insert(arguments.end(), folders.begin(), folders.end());
    arguments.emplace_back("--json");
    const CommandResult result = askVergence(login, program, arguments);
    json rows = jsonIn(result.output, '[');
    if (!rows.is_array())
        throw InputError(fmt::format("The studio on {} does not say how its runs stand: {}", login,
                                     refusalOf(result)));
    return rows;
}

/// Folders of runs, in requests that are not too long.
std::vector<std::vector<std::string>> requestsFor(const std::vector<RemoteRun>& runs)
{
    std::vector<std::vector<std::string>> requests;
    std::size_t length = kLongestRequest;
    for (const RemoteRun& run : runs) {
        const std::string folder = run.folder.string();
        if ((length += folder.size() + 8) > kLongestRequest) {
            requests.emplace_back();
            length = folder.size();
        }
        requests.back().push_back(folder);
    }
    return requests;
}

/// The state in the copy of a status, as far as it can be read.
std::string stateHere(const RunFolder& folder)
{
    try {
        return readStatus(folder).state;
    } catch (const InputError&) {
        return {};
    }
}

/// Unless somebody else has noted something meanwhile.
bool note(const RunFolder& folder, const RemoteRun& before, const RemoteRun& now)
{
    if (readRemoteRun(folder) != before)
        return false;
    writeRemoteRun(folder, now);
    return true;
}

} // namespace

std::map<fs::path, RemoteRun> askStates(const std::string& login, const std::string& program,
                                        const std::vector<RemoteRun>& runs)
{
    std::map<fs::path, const RemoteRun*> asked;
    for (const RemoteRun& run : runs)
        asked[run.folder.lexically_normal()] = &run;
    std::map<fs::path, RemoteRun> answers;
    for (const auto& folders : requestsFor(runs))
        for (const json& row : rowsOf(login, program, folders)) {
            const auto run = asked.find(fs::path(textIn(row, "folder")).lexically_normal());
            if (run == asked.end())
                continue;
            if (const auto answer = withRow(*run->second, row))
                answers[run->second->folder] = *answer;
        }
    return answers;
}

/// A run during one look.
struct RunFollower::Run {
    RunFolder folder;
    bool isWatched = false;
    RemoteRun before, now;
    bool hasResults = false; ///< brought by this look, after the other side said that it has ended
};

RunFollower::Look RunFollower::look(const std::vector<Followed>& runs)
{
    Look look;
    const double began = epochSeconds(); // a dead link is noticed only after a while
    std::vector<Run> all = read(runs, look.problem);
    std::vector<Run*> open;
    for (Run& run : all) {
        const auto settled = m_settled.find(run.folder.root);
        if (settled == m_settled.end() || settled->second != run.before.state)
            open.push_back(&run);
    }
    try {
        exchange(open);
        for (Run* run : open)
            run->now.unreachedSince = 0;
    } catch (const OutputError& error) { // the disk here says nothing of the other side
        look.problem = error.what();
    } catch (const InputError& error) {
        look.problem = error.what();
        for (Run* run : open)
            if (run->now.unreachedSince == 0)
                run->now.unreachedSince = began;
    }
    for (Run& run : all) {
        try {
            if (run.now != run.before && note(run.folder, run.before, run.now))
                look.changed.push_back(run.folder.root);
        } catch (const IoError& error) {
            look.problem = error.what();
        }
        look.runs[run.folder.root] = run.now;
    }
    return look;
}

/// Those that are copies from this login.
std::vector<RunFollower::Run> RunFollower::read(const std::vector<Followed>& runs,
                                                std::string& problem) const
{
    std::vector<Run> all;
    for (const Followed& followed : runs) {
        try {
            const auto remote = readRemoteRun(followed.folder);
            if (remote && remote->login == m_login)
                all.push_back({followed.folder, followed.isWatched, *remote, *remote});
        } catch (const InputError& error) {
            problem = error.what();
        }
    }
    return all;
}

/// Charts first, then what ended runs have left, which may be much.
void RunFollower::exchange(std::vector<Run*>& runs)
{
    if (runs.empty())
        return;
    bring(runs, false);
    bring(runs, true);
    if (!isTimeToAsk(runs))
        return;
    ask(runs);
    for (const Run* run : runs)
        if (run->hasResults && hasEndedForGood(run->now) && run->now.state == run->before.state)
            m_settled[run->folder.root] = run->now.state;
}

void RunFollower::bring(const std::vector<Run*>& runs, bool ofEnded)
{
    std::vector<RemoteCopy> copies;
    for (const Run* run : runs) {
        if (hasEnded(run->before) != ofEnded || m_missing.contains(run->folder.root))
            continue;
        const CopyScope scope = ofEnded          ? CopyScope::Results
                                : run->isWatched ? CopyScope::View
                                                 : CopyScope::Course;
        copies.push_back({run->folder, run->before, scope});
    }
    if (copies.empty())
        return;
    sendRequests(m_login, copies);
    std::vector<fs::path> missing;
    try {
        bringRuns(m_login, copies);
    } catch (const RunsMissing& error) {
        missing = error.runs();
    }
    for (Run* run : runs) {
        if (std::ranges::count(missing, run->before.folder) > 0)
            m_missing.insert(run->folder.root);
        else if (ofEnded && hasEnded(run->before))
            run->hasResults = true;
    }
}

/// Every few seconds, and where a status is not as it was.
bool RunFollower::isTimeToAsk(const std::vector<Run*>& runs)
{
    bool hasChanged = false;
    for (const Run* run : runs) {
        const std::string state = stateHere(run->folder);
        std::string& last = m_states.try_emplace(run->folder.root, "(unknown)").first->second;
        hasChanged = hasChanged || last != state;
        last = state;
    }
    return hasChanged || m_askedAt < 0 || steadySeconds() - m_askedAt >= kAskEvery;
}

void RunFollower::ask(const std::vector<Run*>& runs)
{
    std::map<std::string, std::vector<RemoteRun>> byProgram;
    for (const Run* run : runs)
        byProgram[run->before.program].push_back(run->before);
    std::map<fs::path, RemoteRun> answers;
    for (const auto& [program, asked] : byProgram)
        answers.merge(askStates(m_login, program, asked));
    m_askedAt = steadySeconds();
    for (Run* run : runs) {
        const auto answer = answers.find(run->before.folder);
        hear(*run, answer != answers.end() ? &answer->second : nullptr);
    }
}

/// A run that is not there keeps how it ended; it may come back, as a disk does that was away.
void RunFollower::hear(Run& run, const RemoteRun* answer)
{
    if (answer) {
        run.now = *answer;
        m_missing.erase(run.folder.root);
        return;
    }
    const std::string folder = run.before.folder.string();
    if (!m_missing.contains(run.folder.root)) { // its folder is there
        run.now.problem = fmt::format("The studio on {} cannot read the run {}.", m_login, folder);
    } else if (hasEndedForGood(run.before)) {
        m_settled[run.folder.root] = run.before.state;
    } else {
        run.now.state = run.now.text = nameOf(RunState::Lost);
        run.now.problem = fmt::format("{} has no run {} any more.", m_login, folder);
    }
}

} // namespace vergence
