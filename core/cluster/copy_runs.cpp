#include "core/cluster/copy_runs.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/cluster/rsync.h"
#include "core/cluster/shell.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using detail::RsyncCall;
using detail::RsyncEnd;

using Copies = std::vector<const RemoteCopy*>;
/// Runs by their parent folders, there and here.
using CopiesByPlace = std::map<std::pair<fs::path, fs::path>, Copies>;

constexpr const char* kAnswers = ".answer";
constexpr double kCommandPatience = 60;    ///< s
constexpr double kRemovalPatience = 3'600; ///< s; many files on a slow disk

/// What comes with a scope and not with the ones before it.
struct ScopedPart {
    CopyScope scope;
    const char* folder;
};
constexpr ScopedPart kParts[] = {{CopyScope::View, "live/"},
                                 {CopyScope::Results, "artifacts/"},
                                 {CopyScope::Results, "previews/"},
                                 {CopyScope::Whole, "checkpoints/"}};

/// What each side has for itself. Hidden files are being written.
constexpr const char* kOwn[] = {"exports/", "lease/", "explore.json", "remote.json", ".*", "**/.*"};

void requireName(const RemoteCopy& copy)
{
    const std::string name = copy.there.folder.filename().string();
    if (name.empty() || name == "." || name == ".." || !copy.there.folder.is_absolute())
        throw InputError(fmt::format("{} is no folder of a run.", copy.there.folder.string()));
    if (copy.here.id() != name)
        throw InputError(fmt::format("{} is a copy of a run that {} calls {}. Give it that name "
                                     "again.",
                                     copy.here.root.string(), copy.there.login, name));
}

CopiesByPlace byPlace(const std::vector<RemoteCopy>& runs)
{
    CopiesByPlace places;
    for (const RemoteCopy& copy : runs) {
        requireName(copy);
        places[{copy.there.folder.parent_path(), fs::absolute(copy.here.root).parent_path()}]
            .push_back(&copy);
    }
    return places;
}

/// With a slash, since the folder may be a link there.
std::vector<std::string> namesOf(const Copies& copies)
{
    std::vector<std::string> names;
    for (const RemoteCopy* copy : copies)
        names.push_back(copy->here.id() + "/");
    return names;
}

std::vector<std::string> ownExcludes()
{
    std::vector<std::string> options;
    for (const char* own : kOwn)
        options.push_back(std::string("--exclude=/*/") + own);
    return options;
}

/// Few rules for many runs: those of the least scope, and in front of them, since the first that
/// fits counts, what some runs bring beside it.
std::vector<std::string> scopeFilters(const Copies& copies)
{
    const CopyScope least = (*std::ranges::min_element(copies, {}, [](const auto* copy) {
                                return copy->scope;
                            }))->scope;
    std::vector<std::string> options, excludes;
    for (const auto& [scope, folder] : kParts) {
        if (scope <= least)
            continue;
        excludes.push_back(std::string("--exclude=/*/") + folder);
        for (const RemoteCopy* copy : copies)
            if (copy->scope >= scope) // "***": the folder and all of it; a wildcard in any case
                options.push_back("--include=/" + detail::rsyncLiteral(copy->here.id()) + "/" +
                                  folder + "***");
    }
    options.insert(options.end(), excludes.begin(), excludes.end());
    return options;
}

RsyncCall callToBring(const std::string& login, const Copies& copies)
{
    RsyncCall call;
    call.login = login;
    call.there = copies.front()->there.folder.parent_path();
    call.here = fs::absolute(copies.front()->here.root).parent_path();
    call.names = namesOf(copies);
    call.options = ownExcludes();
    // Requests go the other way; answers stay until a viewer has taken them. Results stay where a
    // cluster clears its disk.
    for (const char* rule : {"--exclude=/*/labels.json", "--filter=H /*/requests/*.request",
                             "--filter=P /*/requests/***", "--filter=P /*/artifacts/***",
                             "--filter=P /*/previews/***", "--delete"})
        call.options.push_back(rule);
    const auto filters = scopeFilters(copies);
    call.options.insert(call.options.end(), filters.begin(), filters.end());
    return call;
}

/// An answer that has come goes there, so that it comes once.
void removeAnswers(const RsyncCall& call, const RsyncEnd& end)
{
    std::vector<std::string> command{"rm", "-f", "--"};
    for (const std::string& name : end.copied) {
        const fs::path path = name;
        if (path.parent_path().filename() == "requests" && path.extension() == kAnswers &&
            std::distance(path.begin(), path.end()) == 3)
            command.push_back((call.there / path).string());
    }
    if (command.size() > 3)
        Shell(call.login).run(command, {}, kCommandPatience); // it comes again where this fails
}

/// `command` there with folders behind it, however many.
CommandResult runOnFolders(const std::string& login, std::vector<std::string> command,
                           const std::vector<fs::path>& folders, double seconds)
{
    command.insert(command.begin(), {"xargs", "-0"});
    std::string input;
    for (const fs::path& folder : folders)
        (input += folder.string()) += '\0';
    return Shell(login).run(command, input, seconds);
}

std::vector<fs::path> foldersThere(const Copies& copies)
{
    std::vector<fs::path> folders;
    for (const RemoteCopy* copy : copies)
        folders.push_back(copy->there.folder);
    return folders;
}

/// Those that are not there. Throws InputError where the other side does not answer.
std::vector<fs::path> missingOf(const std::string& login, const Copies& copies)
{
    const CommandResult result = runOnFolders(
        login, {"sh", "-c", R"(for run; do test -d "$run" || printf '%s\0' "$run"; done)", "sh"},
        foldersThere(copies), kCommandPatience);
    if (const std::string problem = sshProblem(login, "xargs", result); !problem.empty())
        throw InputError(problem);
    std::vector<fs::path> missing;
    for (std::size_t at = 0; at < result.output.size(); at += missing.back().string().size() + 1)
        missing.emplace_back(result.output.c_str() + at);
    return missing;
}

/// Brings the runs of one place; those that are not there come back.
std::vector<fs::path> bringPlace(const std::string& login, Copies copies)
{
    const RsyncCall call = callToBring(login, copies);
    const RsyncEnd end = detail::callRsync(call);
    removeAnswers(call, end);
    if (!end.hadGone)
        return {};
    std::vector<fs::path> missing = missingOf(login, copies);
    std::erase_if(copies, [&](const RemoteCopy* copy) {
        return std::ranges::count(missing, copy->there.folder) > 0;
    });
    if (!missing.empty() && !copies.empty()) { // rsync deletes nothing where something is missing
        const RsyncCall rest = callToBring(login, copies);
        removeAnswers(rest, detail::callRsync(rest));
    }
    return missing;
}

[[noreturn]] void throwMissing(const std::string& login, std::vector<fs::path> missing)
{
    std::string names;
    for (const fs::path& run : missing)
        names += (names.empty() ? "" : ", ") + run.string();
    throw RunsMissing(fmt::format("{} has no run {} any more.", login, names), std::move(missing));
}

void makeFolderThere(const std::string& login, const fs::path& folder)
{
    const CommandResult result =
        Shell(login).run({"mkdir", "-p", "--", folder.string()}, {}, kCommandPatience);
    if (const std::string problem = sshProblem(login, "mkdir", result); !problem.empty())
        throw InputError(problem);
    if (!result.isGood())
        throw InputError(fmt::format("{} takes no runs in {}: {}. Choose another folder for its "
                                     "target.",
                                     login, folder.string(), lastLine(result.errors)));
}

/// The right to send the requests of a run, so that none is sent twice where several follow it. A
/// file system that knows no locks gives it to all.
class RequestLock {
public:
    explicit RequestLock(const fs::path& box)
        : m_directory(::open(box.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
          m_isMine(m_directory >= 0 &&
                   (::flock(m_directory, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK))
    {
    }
    ~RequestLock()
    {
        if (m_directory >= 0)
            ::close(m_directory);
    }
    RequestLock(const RequestLock&) = delete;
    RequestLock& operator=(const RequestLock&) = delete;
    bool isMine() const { return m_isMine; }

private:
    int m_directory;
    bool m_isMine;
};

std::vector<std::string> requestsIn(const fs::path& box)
{
    std::vector<std::string> names;
    std::error_code code;
    for (fs::directory_iterator entry(box, code), end; !code && entry != end; entry.increment(code))
        if (entry->path().extension() == ".request")
            names.push_back(entry->path().filename().string());
    std::ranges::sort(names);
    return names;
}

bool sendRequestsOf(const std::string& login, const RemoteCopy& copy)
{
    const fs::path box = fs::absolute(copy.here.root / "requests");
    if (requestsIn(box).empty())
        return false;
    const RequestLock lock(box);
    RsyncCall call{login, box, copy.there.folder / "requests", true, requestsIn(box), {}};
    if (!lock.isMine() || call.names.empty())
        return false;
    call.options = {"--remove-source-files"};
    if (!detail::callRsync(call).hadGone)
        return true;
    std::error_code ignored;
    for (const std::string& name : call.names) // nobody is there who could hear them
        fs::remove(box / name, ignored);
    return false;
}

} // namespace

RunsMissing::~RunsMissing() = default;

void bringRuns(const std::string& login, const std::vector<RemoteCopy>& runs)
{
    std::vector<fs::path> missing;
    for (const auto& [place, copies] : byPlace(runs)) {
        const auto ofPlace = bringPlace(login, copies);
        missing.insert(missing.end(), ofPlace.begin(), ofPlace.end());
    }
    if (!missing.empty())
        throwMissing(login, std::move(missing));
}

void sendRuns(const std::string& login, const std::vector<RemoteCopy>& runs)
{
    for (const auto& [place, copies] : byPlace(runs)) {
        const auto& [there, here] = place;
        makeFolderThere(login, there);
        RsyncCall call{login, here, there, true, namesOf(copies), ownExcludes()};
        // A job is one of the computer that made it.
        for (const char* rule : {"--exclude=/*/live/", "--exclude=/*/requests/",
                                 "--exclude=/*/job.json", "--exclude=/*/job.sh"})
            call.options.push_back(rule);
        if (detail::callRsync(call).hadGone)
            throw InputError(fmt::format("The runs that {} is to have changed or went while they "
                                         "were sent. Try again.",
                                         login));
    }
}

bool sendRequests(const std::string& login, const std::vector<RemoteCopy>& runs)
{
    bool hasSent = false;
    for (const RemoteCopy& copy : runs) {
        requireName(copy);
        hasSent = sendRequestsOf(login, copy) || hasSent;
    }
    return hasSent;
}

void removeThere(const std::string& login, const std::vector<RemoteCopy>& runs) noexcept
{
    try {
        std::vector<fs::path> folders;
        for (const auto& [place, copies] : byPlace(runs))
            for (const RemoteCopy* copy : copies)
                folders.push_back(copy->there.folder);
        if (folders.empty())
            return;
        const CommandResult result =
            runOnFolders(login, {"rm", "-rf", "--"}, folders, kRemovalPatience);
        if (!result.isGood())
            log("cluster").warn("{} keeps runs that it was to forget: {}", login,
                                lastLine(result.errors + result.whyNot));
    } catch (const std::exception& error) {
        log("cluster").warn("{} keeps runs that it was to forget: {}", login, error.what());
    }
}

} // namespace vergence
