#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/run_access.h"
#include "app/cli/text.h"
#include "core/artifact/bundle.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/cluster/run_placement.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct RunsOptions {
    std::string runsFolder, run;
    bool json = false;

    fs::path folder() const
    {
        return runsFolder.empty() ? defaultRunsFolder() : fs::path(runsFolder);
    }
};

/// Tells once what queue does not answer; the folders say the states then.
std::map<fs::path, RunPlacement> placesOf(const std::vector<RunFolder>& runs)
{
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

int list(const RunsOptions& options)
{
    auto runs = json::array();
    std::vector<std::vector<std::string>> rows = {
        {"run", "state", "plugin", "preset", "step", "device"}};
    const std::vector<RunFolder> folders = listRuns(options.folder());
    const auto places = placesOf(folders);
    for (const RunFolder& folder : folders) {
        runs.push_back(summaryOf(folder, places));
        if (runs.back().contains("problem")) {
            rows.push_back({folder.id(), "unreadable"});
            continue;
        }
        const RunStatus status = RunStatus::fromJson(runs.back()["status"]);
        rows.push_back({folder.id(), stateTextOf(runs.back()), status.plugin, status.preset,
                        status.total > 0 ? fmt::format("{}/{}", status.step, status.total)
                                         : std::to_string(status.step),
                        status.device});
    }
    if (options.json)
        std::cout << runs.dump(2) << '\n';
    else if (runs.empty())
        std::cerr << fmt::format("There are no runs in {}.\n", options.folder().string());
    else
        printTable(std::cout, rows);
    return 0;
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

int show(const RunsOptions& options)
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

int verify(const RunsOptions& options)
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

using Action = int (*)(const RunsOptions&);

void addAction(CLI::App* command, Session& session, Action action, const char* runHelp)
{
    auto options = std::make_shared<RunsOptions>();
    if (runHelp)
        command->add_option("run", options->run, runHelp)->required()->type_name("RUN");
    command->add_option("--runs-dir", options->runsFolder, "Where runs are looked for.")
        ->type_name("DIR");
    command->add_flag("--json", options->json, "JSON instead.");
    command->callback([options, &session, action] {
        session.action = [options, action] { return action(*options); };
    });
}

} // namespace

void addRunsCommand(CLI::App& app, Session& session)
{
    CLI::App* runs = addLevel(app, "runs", "List, show and verify runs.");
    runs->require_subcommand(1);
    addAction(addLevel(*runs, "list", "Runs of a folder, newest first."), session, list, nullptr);
    addAction(addLevel(*runs, "show", "State, series and artifacts of one run."), session, show,
              "Run folder or id.");
    addAction(addLevel(*runs, "verify",
                       "Hash the files again; exit code 9 where one differs from the manifest."),
              session, verify, "Run folder, id or bundle (.zip).");
}

} // namespace vergence::cli
