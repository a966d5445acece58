#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/run_access.h"
#include "core/base/error.h"
#include "core/cluster/remote_submit.h"

namespace vergence::cli {

namespace {

struct CancelOptions {
    std::vector<std::string> runs;
    std::string runsFolder;
    bool json = false;
};

const char* outcomeText(Cancellation outcome)
{
    switch (outcome) {
    case Cancellation::LeftQueue:
        return "has left the queue";
    case Cancellation::Stops:
        return "saves and stops";
    case Cancellation::HasEnded:
        return "had ended already";
    case Cancellation::HasNoJob:
        return "was not submitted; end its process instead";
    }
    throw ContractError("cancel: no such outcome");
}

int cancel(const CancelOptions& options)
{
    const std::filesystem::path parent = options.runsFolder.empty()
                                             ? defaultRunsFolder()
                                             : std::filesystem::path(options.runsFolder);
    std::vector<RunFolder> runs;
    for (const std::string& name : options.runs)
        runs.push_back(findRun(name, parent));
    const std::vector<Cancellation> outcomes = cancelRuns(runs);
    auto rows = nlohmann::json::array();
    bool areAllOfJobs = true;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        rows.push_back({{"id", runs[i].id()},
                        {"folder", runs[i].root.string()},
                        {"outcome", nameOf(outcomes[i])}});
        std::cerr << fmt::format("The run {} {}.\n", runs[i].id(), outcomeText(outcomes[i]));
        areAllOfJobs = areAllOfJobs && outcomes[i] != Cancellation::HasNoJob;
    }
    if (options.json)
        std::cout << rows.dump(2) << '\n';
    return static_cast<int>(areAllOfJobs ? ExitCode::Success : ExitCode::Usage);
}

} // namespace

void addCancelCommand(CLI::App& app, Session& session)
{
    CLI::App* command =
        addLevel(app, "cancel",
                 "Take runs out of the queue of a cluster or of another computer; those that work "
                 "save and stop.");
    auto options = std::make_shared<CancelOptions>();
    command->add_option("runs", options->runs, "Run folders or ids.")->required()->type_name("RUN");
    command->add_option("--runs-dir", options->runsFolder, "Where runs are looked for.")
        ->type_name("DIR");
    command->add_flag("--json", options->json, "A JSON array as well.");
    command->callback(
        [options, &session] { session.action = [options] { return cancel(*options); }; });
}

} // namespace vergence::cli
