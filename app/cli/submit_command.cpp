#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/new_runs.h"
#include "app/cli/target_access.h"
#include "core/artifact/run_lease.h"
#include "core/base/error.h"
#include "core/cluster/slurm.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

struct SubmitOptions {
    ConfigRequest config;
    std::string target, runsFolder, device;
    std::vector<std::string> sweeps;
    double checkpointSeconds = 0; ///< 0: as `vergence run` has it
    bool json = false;
};

/// A run folder by path, or by id below the runs folder; nothing where it is neither.
std::optional<RunFolder> existingRun(const SubmitOptions& options, const Target& target)
{
    std::error_code code;
    const fs::path named = options.config.target;
    for (const fs::path& path : {named, runsFolderOf(target, options.runsFolder) / named})
        if (fs::is_directory(path, code) && fs::exists(RunFolder{path}.status(), code))
            return RunFolder::open(path);
    return std::nullopt;
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

void tell(const SubmitOptions& options, const std::vector<RunFolder>& runs,
          const std::vector<Job>& jobs)
{
    std::cerr << fmt::format("Job {} is in the queue of {}{}.\n", jobs.front().id, options.target,
                             runs.size() == 1 ? "" : fmt::format(", with {} runs", runs.size()));
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

int submitNew(const SubmitOptions& options, const Target& target, const Session& session)
{
    const SweepGrid grid(options.sweeps);
    const ConfigSource source = resolveConfig(options.config, session);
    requireConfigs(source, grid);
    NewRuns runs;
    runs.make(runsFolderOf(target, options.runsFolder), source, grid);
    const auto jobs = submitToSlurm(
        target, {source.plugin.id, runs.folders(), workerArguments(options), fs::current_path()},
        programOf(target, session));
    runs.keep();
    tell(options, runs.folders(), jobs);
    return 0;
}

/// Throws Error (ExitCode::Usage) where somebody works on the run, or a job of it waits to.
void requireIdle(const RunFolder& folder, const RunStatus& status)
{
    if (isGoingOn(folder, status))
        throw Error(fmt::format("The run {} is still going on{}; stop it first.", folder.id(),
                                status.host.empty() ? "" : " on " + status.host),
                    ExitCode::Usage);
    const auto job = readJob(folder);
    if (!job)
        return;
    const auto queue = queuedJobs(job->login);
    if (const auto state = queue.find(job->slurmId()); state != queue.end())
        throw Error(fmt::format("The run {} is still in the queue of {} as job {} ({}); `vergence "
                                "cancel {}` takes it out.",
                                folder.id(), job->target, job->slurmId(), state->second.slurmState,
                                folder.root.string()),
                    ExitCode::Usage);
}

void requireResumable(const SubmitOptions& options, const RunStatus& status)
{
    if (!options.sweeps.empty() || !options.config.preset.empty() || !options.config.file.empty())
        throw Error("A run that exists goes on as it is, or with --set; --sweep, --preset and "
                    "--config are for new ones.",
                    ExitCode::Usage);
    if (status.state == nameOf(RunState::Completed) && options.config.assignments.empty())
        throw Error("The run is completed; give it more to do with --set.", ExitCode::Usage);
}

int resubmit(SubmitOptions options, const RunFolder& folder, const Target& target,
             const Session& session)
{
    const RunStatus status = readStatus(folder);
    requireResumable(options, status);
    requireIdle(folder, status);
    options.config.target = folder.root.string();
    requireConfigs(resolveConfig(options.config, session), {});
    std::vector<std::string> arguments = workerArguments(options);
    for (const std::string& assignment : options.config.assignments)
        arguments.insert(arguments.end(), {"--set", assignment});
    const RunLease lease(folder); // a job that begins at once waits for it
    const auto jobs =
        submitToSlurm(target, {status.plugin, {folder}, arguments, fs::current_path()},
                      programOf(target, session));
    tell(options, {folder}, jobs);
    return 0;
}

int submit(const SubmitOptions& options, const Session& session)
{
    const Target target = usableTarget(options.target);
    if (const auto folder = existingRun(options, target))
        return resubmit(options, *folder, target, session);
    return submitNew(options, target, session);
}

void addOptions(CLI::App& app, SubmitOptions& options)
{
    options.config.isForElsewhere = true;
    options.config.addTo(app);
    app.add_option("--target", options.target, "Where to, one of `vergence targets list`.")
        ->required()
        ->type_name("NAME");
    addRepeatable(app, "--sweep", options.sweeps,
                  "A run for each of these values; with several settings, for all combinations.")
        ->type_name("KEY=V1,V2,…");
    app.add_option("--runs-dir", options.runsFolder,
                   "Folder below which each run gets its own; default is that of the target.")
        ->type_name("DIR");
    app.add_option("--device", options.device, "Where to compute on a node, as for `vergence run`.")
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
        addLevel(app, "submit", "Put runs into the queue of a cluster and print their folders.");
    command->footer("Examples:\n  vergence submit sugar --preset demo --target uni\n"
                    "  vergence submit bunny.toml --target uni --sweep rate=0.1,0.01 --sweep "
                    "size=8,16\n"
                    "  vergence submit runs/2026-03-02T10-15-07Z-sugar-7c1e --target uni --set "
                    "iterations=500");
    auto options = std::make_shared<SubmitOptions>();
    addOptions(*command, *options);
    command->callback([options, &session] {
        session.action = [options, &session] { return submit(*options, session); };
    });
}

} // namespace vergence::cli
