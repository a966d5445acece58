#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "app/cli/run_access.h"
#include "core/artifact/artifact_store.h"
#include "core/artifact/bundle.h"
#include "core/artifact/export_names.h"
#include "core/artifact/remote_run.h"
#include "core/artifact/run_lease.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/run_state.h"
#include "core/run/status_writer.h"
#include "core/run/worker.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

struct RunOptions {
    ConfigRequest config;
    std::string runFolder, runsFolder, device, zip;
    int threads = 0;
    bool resumes = false, waits = false, quiet = false, json = false;
    double timeLimit = 0, checkpointSeconds = 60, linger = 0;
    std::int64_t checkpointSteps = 0;
    int keep = 3;
};

bool isFolder(const std::string& name)
{
    std::error_code code;
    return fs::is_directory(name, code);
}

/// The run to continue: the target where it is a run folder, or --run-dir.
RunFolder folderToResume(const RunOptions& options)
{
    const std::string name =
        isFolder(options.config.target) ? options.config.target : options.runFolder;
    if (name.empty()) {
        throw Error("--resume needs the folder of the run: vergence run RUNDIR --resume.",
                    ExitCode::Usage);
    }
    const RunFolder folder = RunFolder::open(name);
    const RunStatus status = readStatus(folder);
    if (!options.waits && isGoingOn(folder, status)) {
        const std::string where = status.host.empty() ? "another computer" : status.host;
        throw Error(fmt::format("The run {} is still going on (process {}{}); stop it first.",
                                folder.id(), status.pid,
                                isWorkerAlive(status) ? "" : " of " + where),
                    ExitCode::Usage);
    }
    return folder;
}

/// The right to work on the run; waits for it where the options say so.
std::unique_ptr<RunLease> takeLease(const RunFolder& folder, const RunOptions& options)
{
    constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
    for (bool hasTold = false;; hasTold = true) {
        try {
            return std::make_unique<RunLease>(folder);
        } catch (const RunTaken& taken) {
            if (!options.waits || isRemote(folder)) // a copy is not left to this computer
                throw;
            if (!hasTold)
                log("cli").info("{} Waiting for its end.", taken.what());
        }
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

/// A job of a cluster is started again where its run has ended meanwhile.
bool hasNothingToDo(const RunFolder& folder, const RunOptions& options)
{
    return options.waits && options.config.assignments.empty() &&
           readStatus(folder).state == nameOf(RunState::Completed);
}

/// For a job whose time runs out before the run has begun: it goes back into the queue.
void endWithTimeLimit(int)
{
    ::_exit(static_cast<int>(ExitCode::TimeLimit));
}

/// Whoever has taken over writes the folder from now on.
[[noreturn]] void leaveToOther(const RunFolder& folder)
{
    std::cerr << fmt::format("vergence: This process gave no sign of life for {:.0f} s, and "
                             "another one works on the run {} now. This one ends.\n",
                             kSilence, folder.id());
    ::_exit(static_cast<int>(ExitCode::RunFailed));
}

RunFolder newFolder(const RunOptions& options, const std::string& plugin)
{
    if (!options.runFolder.empty())
        return RunFolder::createAt(options.runFolder);
    return RunFolder::create(
        options.runsFolder.empty() ? defaultRunsFolder() : fs::path(options.runsFolder), plugin);
}

RunSettings makeSettings(const RunOptions& options, const ConfigSource& source,
                         const Session& session, RunFolder folder)
{
    RunSettings settings;
    settings.folder = std::move(folder);
    settings.plugin = source.plugin.id;
    settings.pluginVersion = source.plugin.version;
    settings.preset = source.preset;
    settings.pluginInfo = {{"id", source.plugin.id},
                           {"version", source.plugin.version},
                           {"api", kPluginApi},
                           {"build", source.plugin.build},
                           {"sha256", sha256OfFile(source.plugin.path)}};
    settings.command = session.command;
    settings.streams = source.lab->streams();
    settings.resumes = options.resumes;
    settings.lingerSeconds = options.linger;
    settings.checkpointSeconds = options.checkpointSeconds;
    settings.checkpointSteps = options.checkpointSteps;
    settings.keepCheckpoints = options.keep;
    settings.timeLimitSeconds = options.timeLimit;
    return settings;
}

/// After the run: the bundle where one was asked for.
void writeZip(const RunOptions& options, const RunFolder& folder)
{
    const bool isNamed = options.zip != "true";
    const fs::path target =
        freePath(isNamed ? fs::path(options.zip) : folder.exports() / (folder.id() + ".zip"));
    if (!isNamed)
        fs::create_directories(folder.exports());
    writeBundle(folder, target);
    std::cerr << "Bundle: " << target.string() << '\n';
}

int tellFolder(const RunOptions& options, const RunFolder& folder)
{
    if (!options.json)
        std::cout << folder.root.string() << std::endl;
    return 0;
}

int run(RunOptions options, const Session& session)
{
    if (options.quiet)
        setLogLevel("warning");
    if (options.waits)
        std::signal(SIGUSR1, endWithTimeLimit);
    const DeviceList devices = devicesFor(options.device, options.threads, session);
    std::optional<RunFolder> folder;
    std::unique_ptr<RunLease> lease;
    if (options.resumes) {
        folder = folderToResume(options);
        lease = takeLease(*folder, options);
        if (hasNothingToDo(*folder, options))
            return tellFolder(options, *folder);
        unlinkRings(readStatus(*folder)); // of a worker that was killed
        options.config.target = folder->root.string();
    }
    const ConfigSource source = resolveConfig(options.config, session);
    const Config& config = requireConfig(source);
    auto device = chooseDevice(devices, options.device, source.plugin);
    auto lab = source.lab->createRun(config);
    if (!folder) {
        folder = newFolder(options, source.plugin.id);
        lease = takeLease(*folder, options);
        writeFileAtomic(folder->configInput(), source.input);
    }
    const std::string earlier = options.resumes ? readFile(folder->config()) : std::string();
    writeFileAtomic(folder->config(), emitToml(config, source.preset));

    RunSettings settings = makeSettings(options, source, session, *folder);
    settings.confirmLease = [&lease, &folder] {
        if (!lease->renew())
            leaveToOther(*folder);
    };
    RunController controller(std::move(lab), config, std::move(device), std::move(settings));
    const int code = runWorker(controller, {!options.quiet && !options.json, options.json, true});
    if (options.resumes && !controller.isPrepared())
        writeFileAtomic(folder->config(), earlier); // what could not begin changes nothing
    if (!options.zip.empty())
        writeZip(options, *folder);
    tellFolder(options, *folder);
    return code;
}

void addOptions(CLI::App& app, RunOptions& options)
{
    options.config.addTo(app);
    app.add_option("--run-dir", options.runFolder, "Folder of this run; must be new or empty.")
        ->type_name("DIR");
    app.add_option("--runs-dir", options.runsFolder, "Folder below which the run gets its own.")
        ->type_name("DIR");
    app.add_option("--device", options.device,
                   "Where to compute; default is CUDA where the plugin can use it.")
        ->type_name("cpu|cuda|cuda:N|UUID");
    app.add_option("-j,--threads", options.threads,
                   "CPU threads; 0 takes what the process may use.")
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--resume", options.resumes,
                 "Continue the run folder from its newest checkpoint, or begin it where it has "
                 "none.");
    app.add_flag("--wait", options.waits,
                 "With --resume: wait while another process works on the run; do nothing where "
                 "it is completed.");
    app.add_option("--time-limit", options.timeLimit,
                   "Checkpoint and end with code 124 after this many seconds.")
        ->check(CLI::NonNegativeNumber)
        ->type_name("S");
    app.add_option("--checkpoint-every", options.checkpointSeconds, "Seconds between checkpoints.")
        ->check(CLI::PositiveNumber)
        ->type_name("S")
        ->capture_default_str();
    app.add_option("--checkpoint-steps", options.checkpointSteps,
                   "Also a checkpoint after so many steps.")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    app.add_option("--keep", options.keep, "Checkpoints to keep.")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--linger", options.linger, "Seconds to go on answering a viewer after the end.")
        ->check(CLI::NonNegativeNumber)
        ->type_name("S");
    app.add_flag("-q,--quiet", options.quiet, "No progress and no chatter.");
    app.add_flag("--json", options.json, "Protocol messages on standard output, one per line.");
    app.add_flag("--zip", options.zip, "Write a bundle at the end; --zip=FILE names it.");
}

} // namespace

void addRunCommand(CLI::App& app, Session& session)
{
    CLI::App* command = addLevel(app, "run", "Run a plugin and print the run folder.");
    command->footer(
        "Examples:\n  vergence run light_field --preset demo\n  vergence run bunny.toml --set "
        "iterations=200\n"
        "  vergence run runs/2026-03-02T10-15-07Z-light_field-7c1e --resume --set iterations=500");
    auto options = std::make_shared<RunOptions>();
    addOptions(*command, *options);
    command->callback([options, &session] {
        session.action = [options, &session] { return run(*options, session); };
    });
}

} // namespace vergence::cli
