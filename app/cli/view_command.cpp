#include <memory>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "app/cli/run_access.h"
#include "core/base/error.h"
#include "core/run/run_state.h"
#include "core/run/worker.h"

namespace vergence::cli {

namespace {

struct ViewOptions {
    std::string run, runsFolder, device;
    int threads = 0;
    double linger = 0;
    bool json = false;
    PluginOptions plugins;
};

int view(const ViewOptions& options, const Session& session)
{
    const DeviceList devices = devicesFor(options.device, options.threads, session);
    const RunFolder folder = findRun(options.run, options.runsFolder.empty()
                                                      ? defaultRunsFolder()
                                                      : std::filesystem::path(options.runsFolder));
    const RunStatus status = readStatus(folder);
    if (isGoingOn(folder, status)) {
        throw Error(fmt::format("The run {} is still going on (process {}{}); its window shows it.",
                                folder.id(), status.pid,
                                isWorkerAlive(status) ? "" : " of " + status.host),
                    ExitCode::Usage);
    }
    ConfigRequest request;
    request.target = folder.root.string();
    request.plugins = options.plugins;
    const ConfigSource source = resolveConfig(request, session);
    const Config& config = requireConfig(source);
    auto device = chooseDevice(devices, options.device, source.plugin);

    RunSettings settings;
    settings.folder = folder;
    settings.plugin = source.plugin.id;
    settings.pluginVersion = source.plugin.version;
    settings.preset = source.preset;
    settings.command = session.command;
    settings.streams = source.lab->streams();
    settings.resumes = true;
    settings.exploresOnly = true;
    settings.lingerSeconds = options.linger;
    RunController controller(source.lab->createRun(config), config, std::move(device), settings);
    return runWorker(controller, {false, options.json, true});
}

} // namespace

void addViewCommand(CLI::App& app, Session& session)
{
    CLI::App* command =
        addLevel(app, "view", "Serve a finished run to a viewer: nothing is computed further.");
    auto options = std::make_shared<ViewOptions>();
    command->add_option("run", options->run, "Run folder or id.")->required()->type_name("RUN");
    command->add_option("--runs-dir", options->runsFolder, "Where runs are looked for.")
        ->type_name("DIR");
    command->add_option("--device", options->device, "Where to compute.")
        ->type_name("cpu|cuda|cuda:N|UUID");
    command
        ->add_option("-j,--threads", options->threads,
                     "CPU threads; 0 takes what the process may use.")
        ->check(CLI::NonNegativeNumber);
    command
        ->add_option("--linger", options->linger,
                     "Seconds to wait for a viewer to come or to come back.")
        ->check(CLI::NonNegativeNumber)
        ->type_name("S");
    command->add_flag("--json", options->json,
                      "Protocol messages on standard output, one per line.");
    options->plugins.addTo(*command);
    command->callback([options, &session] {
        session.action = [options, &session] { return view(*options, session); };
    });
}

} // namespace vergence::cli
