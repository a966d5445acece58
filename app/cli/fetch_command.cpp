#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/run_access.h"
#include "app/cli/target_access.h"
#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/cluster/job_file.h"
#include "core/cluster/run_follower.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

struct FetchOptions {
    std::vector<std::string> runs;
    std::string runsFolder, target;
    bool hasCheckpoints = false, comesHome = false;

    fs::path folder() const
    {
        return fs::absolute(runsFolder.empty() ? defaultRunsFolder() : fs::path(runsFolder));
    }
    CopyScope scope() const
    {
        return hasCheckpoints || comesHome ? CopyScope::Whole : CopyScope::Results;
    }
};

/// Copies that this command has made; they go at the end unless they are kept.
class NewCopies {
public:
    NewCopies() = default;
    ~NewCopies()
    {
        std::error_code ignored;
        for (const RunFolder& folder : m_folders)
            fs::remove_all(folder.root, ignored);
    }
    NewCopies(const NewCopies&) = delete;
    NewCopies& operator=(const NewCopies&) = delete;

    void make(const RunFolder& folder, const RemoteRun& remote)
    {
        RunFolder::createAt(folder.root);
        m_folders.push_back(folder);
        writeRemoteRun(folder, remote);
    }
    void keep() { m_folders.clear(); }

private:
    std::vector<RunFolder> m_folders;
};

/// What there is here of a run of a target, by its id or a path; a path may be one there.
std::optional<RunFolder> knownRun(const std::string& name, const fs::path& parent)
{
    std::error_code code;
    const RunFolder ofTheName{parent / fs::path(name).filename()}, named{name};
    if (fs::exists(ofTheName.status(), code))
        return RunFolder::open(ofTheName.root);
    return isRemote(named) ? std::optional(RunFolder::open(named.root)) : std::nullopt;
}

/// A run of a target that this computer does not know yet: by its id, or by its path there.
RemoteCopy newCopy(const std::string& name, const FetchOptions& options, const Target& target,
                   const StudioThere& studio)
{
    RemoteCopy copy;
    copy.there.folder = (studio.runs / name).lexically_normal();
    const std::string id = copy.there.folder.filename().string();
    if (name.empty() || id.empty() || id.starts_with('.'))
        throw Error(fmt::format("`{}` is no id of a run; `vergence runs list --target {}` names "
                                "them.",
                                name, target.name),
                    ExitCode::Usage);
    copy.here.root = options.folder() / id;
    copy.there.target = target.name;
    copy.there.login = target.login;
    copy.there.program = studio.program;
    copy.scope = options.scope();
    return copy;
}

RemoteCopy copyOf(const RunFolder& folder, const FetchOptions& options)
{
    const auto remote = readRemoteRun(folder);
    if (!remote)
        throw Error(fmt::format("The run {} is of this computer already.", folder.id()),
                    ExitCode::Usage);
    return {folder, *remote, options.scope()};
}

/// Of runs that this computer knows.
std::vector<RemoteCopy> copiesHere(const FetchOptions& options)
{
    std::vector<RemoteCopy> copies;
    for (const std::string& name : options.runs)
        if (options.target.empty())
            copies.push_back(copyOf(findRun(name, options.folder()), options));
        else if (const auto known = knownRun(name, options.folder()))
            copies.push_back(copyOf(*known, options));
    return copies;
}

/// Of runs that only the target knows.
std::vector<RemoteCopy> copiesToMake(const FetchOptions& options, const Session& session)
{
    std::vector<std::string> names;
    for (const std::string& name : options.runs)
        if (!options.target.empty() && !knownRun(name, options.folder()))
            names.push_back(name);
    if (names.empty())
        return {};
    const Target target = usableTarget(options.target);
    if (target.disk != Disk::Own)
        throw Error(fmt::format("Runs of the target `{}` are seen here: its disk is shared. There "
                                "is nothing to fetch.",
                                target.name),
                    ExitCode::Usage);
    const StudioThere studio = usableStudio(target, session, {});
    std::vector<RemoteCopy> copies;
    for (const std::string& name : names)
        copies.push_back(newCopy(name, options, target, studio));
    return copies;
}

/// Notes how the runs stand there. Throws InputError where one is not there any more.
void askHowTheyStand(const std::string& login, const std::string& program,
                     std::vector<RemoteCopy*>& copies)
{
    std::vector<RemoteRun> runs;
    for (const RemoteCopy* copy : copies)
        runs.push_back(copy->there);
    const auto states = askStates(login, program, runs);
    for (RemoteCopy* copy : copies) {
        const auto state = states.find(copy->there.folder);
        if (state == states.end())
            throw InputError(
                fmt::format("There is no run {} on {}.", copy->there.folder.string(), login));
        copy->there.state = state->second.state;
        copy->there.text = state->second.text;
        copy->there.problem = state->second.problem;
        copy->there.unreachedSince = 0;
    }
}

void requireEnded(const RemoteCopy& copy)
{
    const auto state = runStateFromName(copy.there.state);
    if (!state || !isFinal(*state))
        throw Error(fmt::format("The run {} is still going on on {} ({}); `vergence cancel {}` "
                                "stops it.",
                                copy.here.id(), copy.there.login, copy.there.text,
                                shellWord(copy.here.root.string())),
                    ExitCode::Usage);
}

/// Where a queue alone knows that a run has ended, its folder does not say so yet.
void writeEnd(const RemoteCopy& copy)
{
    RunStatus status = readStatus(copy.here);
    const auto state = runStateFromName(status.state);
    if (state && isFinal(*state))
        return;
    status.state = copy.there.state;
    status.problem = copy.there.problem;
    writeStatus(copy.here, status);
}

/// From now on it is a run of this computer.
void bringHome(const RemoteCopy& copy)
{
    writeEnd(copy);
    for (const fs::path& file : {jobFile(copy.here), jobScript(copy.here), remoteFile(copy.here)}) {
        std::error_code code;
        fs::remove(file, code);
        if (code)
            throw OutputError(fmt::format("Cannot remove {}: {}.", file.string(), code.message()));
    }
}

/// By login and program there.
using CopiesByProgram = std::map<std::pair<std::string, std::string>, std::vector<RemoteCopy*>>;

void bring(const std::string& login, const std::vector<RemoteCopy*>& copies, bool comeHome)
{
    std::vector<RemoteCopy> wanted;
    for (const RemoteCopy* copy : copies)
        wanted.push_back(*copy);
    bringRuns(login, wanted);
    for (const RemoteCopy& copy : wanted)
        comeHome ? bringHome(copy) : writeRemoteRun(copy.here, copy.there);
}

int fetch(const FetchOptions& options, const Session& session)
{
    std::vector<RemoteCopy> copies = copiesHere(options);
    NewCopies made;
    for (RemoteCopy& copy : copiesToMake(options, session)) {
        made.make(copy.here, copy.there);
        copies.push_back(std::move(copy));
    }
    CopiesByProgram byProgram;
    for (RemoteCopy& copy : copies)
        byProgram[{copy.there.login, copy.there.program}].push_back(&copy);
    for (auto& [there, ofProgram] : byProgram) {
        askHowTheyStand(there.first, there.second, ofProgram);
        if (options.comesHome)
            std::ranges::for_each(ofProgram, [](const RemoteCopy* copy) { requireEnded(*copy); });
    }
    for (const auto& [there, ofProgram] : byProgram)
        bring(there.first, ofProgram, options.comesHome);
    made.keep();
    for (const RemoteCopy& copy : copies)
        std::cout << copy.here.root.string() << '\n';
    return 0;
}

} // namespace

void addFetchCommand(CLI::App& app, Session& session)
{
    CLI::App* command =
        addLevel(app, "fetch",
                 "Bring runs that work on the disk of another computer, and print the folders.");
    command->footer(
        "Examples:\n  vergence fetch 2026-03-02T10-15-07Z-sugar-7c1e\n"
        "  vergence fetch runs/2026-03-02T10-15-07Z-sugar-7c1e --home\n"
        "  vergence fetch 2026-03-02T10-15-07Z-sugar-7c1e --target attic --checkpoints");
    auto options = std::make_shared<FetchOptions>();
    command->add_option("runs", options->runs, "Run folders or ids.")->required()->type_name("RUN");
    command
        ->add_option("--target", options->target,
                     "Where runs are that this computer does not know yet.")
        ->type_name("NAME");
    command->add_flag("--checkpoints", options->hasCheckpoints, "Checkpoints as well.");
    command->add_flag("--home", options->comesHome,
                      "All of them; from then on the run is one of this computer.");
    command->add_option("--runs-dir", options->runsFolder, "Where runs are looked for and made.")
        ->type_name("DIR");
    command->callback([options, &session] {
        session.action = [options, &session] { return fetch(*options, session); };
    });
}

} // namespace vergence::cli
