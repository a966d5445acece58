#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/idle_runs.h"
#include "app/cli/new_runs.h"
#include "app/cli/target_access.h"
#include "core/artifact/remote_run.h"
#include "core/artifact/run_lease.h"
#include "core/base/error.h"
#include "core/cluster/remote_submit.h"
#include "core/cluster/submit_runs.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

struct SubmitOptions {
    std::vector<std::string> names; ///< runs that exist, or one plugin or file
    ConfigRequest config;
    std::string target, targetFile, runsFolder, workingFolder, device;
    std::vector<std::string> sweeps;
    double checkpointSeconds = 0; ///< 0: as `vergence run` has it
    bool json = false;
};

/// A run folder by path, or by id below the runs folder; nothing where it is neither.
std::optional<RunFolder> existingRun(const SubmitOptions& options, const std::string& name,
                                     const Target& target)
{
    std::error_code code;
    for (const fs::path& path : {fs::path(name), runsFolderOf(target, options.runsFolder) / name})
        if (fs::is_directory(path, code) && fs::exists(RunFolder{path}.status(), code))
            return RunFolder::open(path);
    return std::nullopt;
}

/// All that were named, or none: then the name is that of a plugin or a file. Throws Error
/// (ExitCode::Usage) where one of several is no run.
std::vector<RunFolder> existingRuns(const SubmitOptions& options, const Target& target)
{
    std::vector<RunFolder> runs;
    for (const std::string& name : options.names) {
        if (auto run = existingRun(options, name, target))
            runs.push_back(std::move(*run));
        else if (options.names.size() > 1)
            throw Error(fmt::format("`{}` is no run folder; several at a time go on only where "
                                    "they exist, and --sweep makes several new ones.",
                                    name),
                        ExitCode::Usage);
    }
    return runs;
}

/// Further ones of `vergence run` on a node.
std::vector<std::string> workerArguments(const SubmitOptions& options)
{
    std::vector<std::string> arguments;
    if (!options.device.empty())
        arguments.insert(arguments.end(), {"--device", options.device});
    if (options.checkpointSeconds > 0)
        arguments.insert(arguments.end(),
                         {"--checkpoint-every", fmt::format("{}", options.checkpointSeconds)});
    for (const std::string& folder : options.config.plugins.folders)
        arguments.insert(arguments.end(), {"--plugin-path", fs::absolute(folder).string()});
    return arguments;
}

std::vector<std::string> withAssignments(const SubmitOptions& options)
{
    std::vector<std::string> arguments = workerArguments(options);
    for (const std::string& assignment : options.config.assignments)
        arguments.insert(arguments.end(), {"--set", assignment});
    return arguments;
}

/// For people; the other side of a delegated submission has nobody to tell.
std::string waitingText(const std::string& target, const std::vector<Job>& jobs)
{
    if (jobs.front().scheduler == Scheduler::Lanes)
        return fmt::format(
            "{} for a lane of {}.",
            jobs.size() == 1 ? "The run waits" : fmt::format("{} runs wait", jobs.size()), target);
    return fmt::format("Job {} is in the queue of {}{}.", jobs.front().id, target,
                       jobs.size() == 1 ? "" : fmt::format(", with {} runs", jobs.size()));
}

void tell(const SubmitOptions& options, const std::vector<RunFolder>& runs,
          const std::vector<Job>& jobs)
{
    if (!options.json)
        std::cerr << waitingText(options.target, jobs) << '\n';
    auto rows = nlohmann::json::array();
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!options.json)
            std::cout << runs[i].root.string() << '\n';
        rows.push_back(
            {{"id", runs[i].id()}, {"folder", runs[i].root.string()}, {"job", jobs[i].slurmId()}});
    }
    if (options.json)
        std::cout << nlohmann::json{{"target", options.target},
                                    {"job", jobs.front().id},
                                    {"runs", rows}}
                         .dump(2)
                  << '\n';
}

/// On a disk that both see, relative paths begin where they would begin here.
std::vector<std::string> argumentsThere(const Target& target, std::vector<std::string> arguments)
{
    if (target.disk == Disk::Shared)
        arguments.insert(arguments.end(), {"--working-dir", fs::current_path().string()});
    return arguments;
}

/// `studio`: that of the target's login, where that one does it.
std::vector<Job> submitFolders(const Target& target, const std::optional<StudioThere>& studio,
                               const Submission& submission, const Session& session)
{
    return studio ? submitThere(target, *studio,
                                {submission.runs, argumentsThere(target, submission.arguments)})
                  : submitRuns(target, submission, programOf(target, session));
}

int submitNew(SubmitOptions options, const Target& target, const Session& session)
{
    const fs::path parent = runsFolderOf(target, options.runsFolder);
    std::optional<StudioThere> studio;
    if (isAskedThere(target))
        studio = usableStudio(target, session, parent);
    options.config.target = options.names.front();
    options.config.pathsAreElsewhere = target.disk == Disk::Own;
    const SweepGrid grid(options.sweeps);
    const ConfigSource source = resolveConfig(options.config, session);
    requireConfigs(source, grid);
    NewRuns runs;
    runs.make(parent, source, grid);
    try {
        const auto jobs = submitFolders(
            target, studio,
            {source.plugin.id, runs.folders(), workerArguments(options), fs::current_path()},
            session);
        runs.keep();
        tell(options, runs.folders(), jobs);
    } catch (const AnswerLost&) {
        runs.keep();
        throw;
    }
    return 0;
}

/// Throws Error (ExitCode::Usage) for options of new runs.
void requireNoLayers(const SubmitOptions& options)
{
    if (!options.sweeps.empty() || !options.config.preset.empty() || !options.config.file.empty())
        throw Error("A run that exists goes on as it is, or with --set; --sweep, --preset and "
                    "--config are for new ones.",
                    ExitCode::Usage);
}

/// Throws Error (ExitCode::Usage) where the runs have nothing to do, or somebody works on them.
void requireResumable(const SubmitOptions& options, const std::vector<RunFolder>& runs)
{
    for (const RunFolder& run : runs)
        if (readStatus(run).state == nameOf(RunState::Completed) &&
            options.config.assignments.empty())
            throw Error(runs.size() == 1
                            ? std::string("The run is completed; give it more to do with --set.")
                            : fmt::format("The run {} is completed; give it more to do with --set.",
                                          run.id()),
                        ExitCode::Usage);
    requireIdle(runs);
}

/// The right to work on runs, until their jobs are made: one that begins at once waits for it.
using Leases = std::vector<std::unique_ptr<RunLease>>;

Leases leasesOf(const std::vector<RunFolder>& runs)
{
    Leases leases;
    for (const RunFolder& run : runs)
        leases.push_back(std::make_unique<RunLease>(run));
    return leases;
}

/// Runs that exist, by the `vergence` of the target's login, which judges them.
int resubmitThere(const SubmitOptions& options, const std::vector<RunFolder>& runs,
                  const Target& target, const Session& session)
{
    std::vector<RunFolder> ofThisComputer;
    for (const RunFolder& run : runs)
        if (!isRemote(run) && target.disk == Disk::Own)
            ofThisComputer.push_back(run);
    requireResumable(options, ofThisComputer);
    const StudioThere studio =
        usableStudio(target, session, runsFolderOf(target, options.runsFolder));
    const Leases leases = leasesOf(ofThisComputer);
    tell(options, runs,
         submitThere(target, studio, {runs, argumentsThere(target, withAssignments(options))}));
    return 0;
}

void requireConfigsOf(SubmitOptions options, const std::vector<RunFolder>& runs,
                      const Session& session)
{
    for (const RunFolder& run : runs) {
        options.config.target = run.root.string();
        requireConfigs(resolveConfig(options.config, session), {});
    }
}

int resubmit(const SubmitOptions& options, const std::vector<RunFolder>& runs, const Target& target,
             const Session& session)
{
    requireNoLayers(options);
    if (isAskedThere(target))
        return resubmitThere(options, runs, target, session);
    requireResumable(options, runs);
    requireConfigsOf(options, runs, session);
    const Leases leases = leasesOf(runs);
    const std::string plugin = readStatus(runs.front()).plugin;
    tell(options, runs,
         submitFolders(target, {}, {plugin, runs, withAssignments(options), fs::current_path()},
                       session));
    return 0;
}

/// Throws Error (ExitCode::Usage) where two things would be read from standard input.
void requireOneReader(const SubmitOptions& options)
{
    const bool namesInput = std::ranges::count(options.names, "-") > 0;
    if (int{options.targetFile == "-"} + int{options.config.file == "-"} + int{namesInput} > 1)
        throw Error("Standard input can be read once; put the other one into a file.",
                    ExitCode::Usage);
}

int submit(const SubmitOptions& options, const Session& session)
{
    requireOneReader(options);
    const Target target = options.targetFile.empty()
                              ? usableTarget(options.target)
                              : usableTargetOf(options.target, options.targetFile);
    std::error_code code;
    if (!options.workingFolder.empty())
        fs::current_path(options.workingFolder, code);
    if (code)
        throw InputError(
            fmt::format("Cannot go to the folder {}: {}.", options.workingFolder, code.message()));
    const std::vector<RunFolder> runs = existingRuns(options, target);
    return runs.empty() ? submitNew(options, target, session)
                        : resubmit(options, runs, target, session);
}

void addTargetOptions(CLI::App& app, SubmitOptions& options)
{
    app.add_option("--target", options.target, "Where to, one of `vergence targets list`.")
        ->required()
        ->type_name("NAME");
    app.add_option("--target-file", options.targetFile,
                   "TOML file of the target, whatever targets there are; - reads standard input.")
        ->type_name("FILE");
    app.add_option("--runs-dir", options.runsFolder,
                   "Folder below which each run gets its own; default is that of the target, or "
                   "this computer's where the target has a disk of its own.")
        ->type_name("DIR");
    app.add_option("--working-dir", options.workingFolder,
                   "Where relative paths begin; default is this folder, or the home there where "
                   "the target has a disk of its own.")
        ->type_name("DIR");
}

void addOptions(CLI::App& app, SubmitOptions& options)
{
    options.config.isForElsewhere = true;
    app.add_option("runs", options.names, "Plugin or configuration file, or runs that go on.")
        ->required()
        ->type_name("PLUGIN|FILE|RUN…");
    options.config.addLayersTo(app);
    addTargetOptions(app, options);
    addRepeatable(app, "--sweep", options.sweeps,
                  "A run for each of these values; with several settings, for all combinations.")
        ->type_name("KEY=V1,V2,…");
    app.add_option("--device", options.device, "Where to compute there, as for `vergence run`.")
        ->type_name("cpu|cuda|cuda:N|UUID");
    app.add_option("--checkpoint-every", options.checkpointSeconds, "Seconds between checkpoints.")
        ->check(CLI::PositiveNumber)
        ->type_name("S");
    app.add_flag("--json", options.json, "One JSON object instead.");
}

} // namespace

void addSubmitCommand(CLI::App& app, Session& session)
{
    CLI::App* command =
        addLevel(app, "submit",
                 "Put runs into the queue of a cluster or of another computer, and print their "
                 "folders.");
    command->footer("Examples:\n  vergence submit sugar --preset demo --target uni\n"
                    "  vergence submit bunny.toml --target uni --sweep rate=0.1,0.01 --sweep "
                    "size=8,16\n"
                    "  vergence submit runs/2026-03-02T10-15-07Z-sugar-7c1e --target uni --set "
                    "iterations=500\n"
                    "  vergence submit runs/*-sugar-* --target attic");
    auto options = std::make_shared<SubmitOptions>();
    addOptions(*command, *options);
    command->callback([options, &session] {
        session.action = [options, &session] { return submit(*options, session); };
    });
}

} // namespace vergence::cli
