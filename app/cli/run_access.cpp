#include "app/cli/run_access.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/text.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/backend.h"
#include "core/compute/kernel.h"
#include "core/plugin/plugin_registry.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace fs = std::filesystem;

RunFolder findRun(const std::string& name, const fs::path& runsFolder)
{
    std::error_code code;
    if (fs::exists(name, code))
        return RunFolder::open(name);
    if (fs::is_directory(runsFolder / name, code))
        return RunFolder::open(runsFolder / name);
    std::vector<std::string> matches;
    for (const RunFolder& folder : listRuns(runsFolder)) {
        if (folder.id().find(name) != std::string::npos)
            matches.push_back(folder.id());
    }
    if (matches.size() == 1)
        return RunFolder::open(runsFolder / matches.front());
    if (matches.empty())
        throw InputError(fmt::format("There is no run `{}` in {}; `vergence runs list` names them.",
                                     name, runsFolder.string()));
    throw InputError(fmt::format("`{}` fits several runs: {}.", name, fmt::join(matches, ", ")));
}

std::string stateOf(const RunStatus& status)
{
    const auto state = runStateFromName(status.state);
    return state && isLive(*state) && !isGoingOn(status) ? nameOf(RunState::Lost) : status.state;
}

namespace {

/// Loads the plugin's CUDA bodies; why not, or empty.
std::string loadBodies(const PluginDescriptor& plugin)
{
    const std::vector<fs::path> modules = PluginRegistry::kernelModulesFor(plugin);
    if (modules.empty())
        return fmt::format("{} has no CUDA bodies in this installation.", plugin.name);
    std::string reason;
    for (const fs::path& module : modules)
        if (!loadKernelModule(module, &reason))
            return fmt::format("The CUDA bodies of {} cannot be loaded ({}).", plugin.name, reason);
    return {};
}

} // namespace

std::shared_ptr<Device> chooseDevice(const std::string& wanted, int threads,
                                     const PluginDescriptor& plugin)
{
    if (wanted == "cpu")
        return makeCpuDevice(threads);
    if (wanted.empty() && PluginRegistry::kernelModulesFor(plugin).empty())
        return makeCpuDevice(threads);
    const DeviceList list = openDevices(threads);
    if (wanted.empty() && list.devices.size() == 1)
        return list.devices.front();
    const auto device = list.select(wanted.empty() ? "cuda" : wanted);
    if (device->isCpu())
        return device;
    const std::string problem = loadBodies(plugin);
    if (problem.empty())
        return device;
    if (!wanted.empty())
        throw DeviceError(problem + " Choose --device cpu.", ExitCode::NoDevice);
    log("cli").warn("{} The run uses the CPU.", problem);
    return list.devices.front();
}

} // namespace vergence::cli
