#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/followed_runs.h"
#include "app/cli/run_access.h"
#include "app/cli/sweep_ends.h"
#include "app/cli/target_access.h"
#include "app/cli/text.h"
#include "core/artifact/bundle.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/artifact/remote_run.h"
#include "core/base/error.h"
#include "core/cluster/run_placement.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct RunsOptions {
    std::vector<std::string> runs; ///< of `list`; none: all
    std::string runsFolder, run, target;
    bool json = false;

    fs::path folder() const
    {
        return runsFolder.empty() ? defaultRunsFolder() : fs::path(runsFolder);
    }
};

/// Looks at what is elsewhere first. Tells once what queue or computer does not answer; the folders
/// say the states then.
std::map<fs::path, RunPlacement> placesOf(const std::vector<RunFolder>& runs)
{
    followOnce(runs);
    QueueAnswers answers = askQueues(runs);
    for (const std::string& problem : answers.problems)
        std::cerr << problem << '\n';
    return std::move(answers.runs);
}

/// What the queue knows beside the folder.
void addPlace(json& row, const RunPlacement& place)
{
    row["status"]["state"] = nameOf(place.state);
    if (!place.problem.empty())
        row["status"]["problem"] = place.problem;
    row["job"] = {{"target", place.job.target},
                  {"id", place.job.slurmId()},
                  {"state", place.queue.slurmState},
                  {"text", place.text}};
}

/// Where the run is, of which this is a copy.
json toJson(const RemoteRun& remote)
{
    return {{"target", remote.target},
            {"login", remote.login},
            {"folder", remote.folder.string()},
            {"unreached_since", remote.unreachedSince > 0 ? json(remote.unreachedSince) : json()}};
}

/// Status of a run with its folder; an unreadable one is told as such and hides no other.
json summaryOf(const RunFolder& folder, const std::map<fs::path, RunPlacement>& places)
{
    json row = {{"id", folder.id()}, {"folder", folder.root.string()}};
    try {
        const RunStatus status = readStatus(folder);
        row["status"] = status.toJson();
        row["status"]["state"] = stateOf(folder, status);
        if (const auto place = places.find(folder.root); place != places.end())
            addPlace(row, place->second);
        if (const auto remote = readRemoteRun(folder))
            row["remote"] = toJson(*remote);
    } catch (const InputError& error) {
        row["problem"] = error.what();
    }
    return row;
}

/// For people: "Running on n1".
std::string stateTextOf(const json& row)
{
    return row.contains("job") ? row["job"]["text"].get<std::string>()
                               : row["status"]["state"].get<std::string>();
}

/// A run that was asked for, or why there is none; nothing hides the others.
struct WantedRun {
    RunFolder folder;
    std::string problem; ///< empty for a run
};

std::vector<WantedRun> wantedRuns(const RunsOptions& options)
{
    std::vector<WantedRun> wanted;
    if (options.runs.empty())
        for (RunFolder& folder : listRuns(options.folder()))
            wanted.push_back({std::move(folder), {}});
    for (const std::string& name : options.runs) {
        try {
            wanted.push_back({findRun(name, options.folder()), {}});
        } catch (const InputError& error) {
            wanted.push_back({{name}, error.what()});
        }
    }
    return wanted;
}

json summariesOf(const std::vector<WantedRun>& wanted)
{
    std::vector<RunFolder> folders;
    for (const WantedRun& run : wanted)
        if (run.problem.empty())
            folders.push_back(run.folder);
    const auto places = placesOf(folders);
    auto runs = json::array();
    for (const WantedRun& run : wanted)
        runs.push_back(run.problem.empty() ? summaryOf(run.folder, places)
                                           : json{{"id", run.folder.id()},
                                                  {"folder", run.folder.root.string()},
                                                  {"problem", run.problem}});
    return runs;
}

std::vector<std::string> tableRow(const json& run)
{
    if (run.contains("problem"))
        return {run["id"].get<std::string>(), "unreadable"};
    const RunStatus status = RunStatus::fromJson(run["status"]);
    return {run["id"].get<std::string>(),
            stateTextOf(run),
            status.plugin,
            status.preset,
            status.total > 0 ? fmt::format("{}/{}", status.step, status.total)
                             : std::to_string(status.step),
            status.device};
}

/// Those that can be read.
std::vector<ListedRun> listedRuns(const json& runs)
{
    std::vector<ListedRun> listed;
    for (const json& run : runs) {
        if (run.contains("problem"))
            continue;
        const RunStatus status = RunStatus::fromJson(run["status"]);
        if (const auto state = runStateFromName(status.state))
            listed.push_back(
                {RunFolder{run["folder"].get<std::string>()}, *state, status.step, status.total});
    }
    return listed;
}

int listHere(const RunsOptions& options)
{
    const json runs = summariesOf(wantedRuns(options));
    if (options.json) {
        std::cout << runs.dump(2) << '\n';
        return 0;
    }
    if (runs.empty()) {
        std::cerr << fmt::format("There are no runs in {}.\n", options.folder().string());
        return 0;
    }
    std::vector<std::vector<std::string>> rows = {
        {"run", "state", "plugin", "preset", "step", "device"}};
    for (const json& run : runs) {
        rows.push_back(tableRow(run));
        if (run.contains("problem") && !options.runs.empty())
            std::cerr << run["problem"].get<std::string>() << '\n';
    }
    printTable(std::cout, rows);
    for (const std::string& line : sweepEnds(listedRuns(runs)))
        std::cout << line << '\n';
    return 0;
}

/// What the `vergence` of a target's login says of the runs there.
int listThere(const RunsOptions& options, const Target& target, const Session& session)
{
    const StudioThere studio =
        studioThere(target, programOf(target, session), runsFolderOf(target, options.runsFolder));
    std::vector<std::string> words{"runs", "list", "--runs-dir", studio.runs.string()};
    if (options.json)
        words.emplace_back("--json");
    words.insert(words.end(), options.runs.begin(), options.runs.end());
    const CommandResult result = askVergence(target.login, studio.program, words);
    std::cout << result.output;
    std::cerr << result.errors;
    return result.exitCode;
}

int list(const RunsOptions& options, const Session& session)
{
    if (options.target.empty())
        return listHere(options);
    const Target target = usableTarget(options.target);
    if (isAskedThere(target))
        return listThere(options, target, session);
    RunsOptions ofTarget = options;
    ofTarget.runsFolder = runsFolderOf(target, options.runsFolder).string();
    return listHere(ofTarget);
}

void printRun(const json& run)
{
    const RunStatus status = RunStatus::fromJson(run["status"]);
    std::cout << fmt::format("{}\n  state   {}\n  plugin  {}{}\n  step    {} of {}\n  device  {}\n",
                             run["id"].get<std::string>(), stateTextOf(run), status.plugin,
                             status.preset.empty() ? "" : ", preset " + status.preset, status.step,
                             status.total, status.device);
    if (run.contains("job"))
        std::cout << fmt::format("  job     {} of {}\n", run["job"]["id"].get<std::string>(),
                                 run["job"]["target"].get<std::string>());
    if (!status.problem.empty())
        std::cout << "  problem " << status.problem << '\n';
    if (run["checkpoints"].empty())
        return;
    std::cout << "\nCheckpoints\n";
    for (const json& checkpoint : run["checkpoints"])
        std::cout << "  " << checkpoint.get<std::string>() << '\n';
}

void printManifest(const json& manifest)
{
    const auto metrics = manifest.value("metrics", json::object());
    if (metrics.is_object() && !metrics.empty()) {
        std::vector<std::vector<std::string>> rows = {{"series", "last", "least", "most"}};
        const auto text = [](const json& metric, const char* key) {
            if (!metric.is_object() || !metric.contains(key))
                return std::string();
            const json& value = metric[key];
            return value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : value.dump();
        };
        for (const auto& [name, metric] : metrics.items())
            rows.push_back({name, text(metric, "last"), text(metric, "min"), text(metric, "max")});
        std::cout << '\n';
        printTable(std::cout, rows);
    }
    const auto artifacts = artifactsOf(manifest);
    if (artifacts.empty())
        return;
    std::vector<std::vector<std::string>> rows = {{"artifact", "role", "size"}};
    for (const Artifact& artifact : artifacts)
        rows.push_back({artifact.path, artifact.role, bytesText(artifact.bytes)});
    std::cout << '\n';
    printTable(std::cout, rows);
}

int show(const RunsOptions& options, const Session&)
{
    const RunFolder folder = findRun(options.run, options.folder());
    json run = summaryOf(folder, placesOf({folder}));
    if (run.contains("problem"))
        throw InputError(run["problem"].get<std::string>());
    run["checkpoints"] = json::array();
    for (const fs::path& checkpoint : listCheckpoints(folder))
        run["checkpoints"].push_back(checkpoint.filename().string());
    std::error_code code;
    run["manifest"] = fs::exists(folder.manifest(), code) ? readManifest(folder) : json();
    if (options.json) {
        std::cout << run.dump(2) << '\n';
        return 0;
    }
    printRun(run);
    if (!run["manifest"].is_null())
        printManifest(run["manifest"]);
    return 0;
}

int verify(const RunsOptions& options, const Session&)
{
    const bool isZip = fs::path(options.run).extension() == ".zip";
    const VerifyResult result =
        isZip ? verifyBundle(options.run) : verifyRun(findRun(options.run, options.folder()));
    if (options.json) {
        std::cout << json{{"good", result.isGood()},
                          {"files", result.filesChecked},
                          {"problems", result.problems}}
                         .dump(2)
                  << '\n';
    } else {
        for (const std::string& problem : result.problems)
            std::cout << problem << '\n';
        if (result.isGood())
            std::cout << fmt::format("{} files are as the manifest says.\n", result.filesChecked);
    }
    return static_cast<int>(result.isGood() ? ExitCode::Success : ExitCode::VerificationFailed);
}

using Action = int (*)(const RunsOptions&, const Session&);

std::shared_ptr<RunsOptions> addAction(CLI::App* command, Session& session, Action action,
                                       const char* runHelp)
{
    auto options = std::make_shared<RunsOptions>();
    if (runHelp)
        command->add_option("run", options->run, runHelp)->required()->type_name("RUN");
    command->add_option("--runs-dir", options->runsFolder, "Where runs are looked for.")
        ->type_name("DIR");
    command->add_flag("--json", options->json, "JSON instead.");
    command->callback([options, &session, action] {
        session.action = [options, &session, action] { return action(*options, session); };
    });
    return options;
}

void addList(CLI::App& runs, Session& session)
{
    CLI::App* command = addLevel(runs, "list", "Runs of a folder, newest first.");
    const auto options = addAction(command, session, list, nullptr);
    command->add_option("runs", options->runs, "Run folders or ids; none: all.")->type_name("RUN");
    command
        ->add_option("--target", options->target,
                     "Runs in the folder of this target, as the computer there sees them.")
        ->type_name("NAME");
}

} // namespace

void addRunsCommand(CLI::App& app, Session& session)
{
    CLI::App* runs = addLevel(app, "runs", "List, show and verify runs.");
    runs->require_subcommand(1);
    addList(*runs, session);
    addAction(addLevel(*runs, "show", "State, series and artifacts of one run."), session, show,
              "Run folder or id.");
    addAction(addLevel(*runs, "verify",
                       "Hash the files again; exit code 9 where one differs from the manifest."),
              session, verify, "Run folder, id or bundle (.zip).");
}

} // namespace vergence::cli
