#include "app/cli/run_access.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <unistd.h>

#include <QtGlobal>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/text.h"
#include "core/base/error.h"
#include "core/base/log.h"
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

std::string stateOf(const RunFolder& folder, const RunStatus& status)
{
    const auto state = runStateFromName(status.state);
    return state && isLive(*state) && !isGoingOn(folder, status) ? nameOf(RunState::Lost)
                                                                 : status.state;
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

/// The device of that name; the first that can be used where none was named. Null: the CPU.
std::shared_ptr<Device> cudaDevice(const DeviceList& list, const std::string& wanted)
{
    if (!wanted.empty()) {
        auto device = list.select(wanted);
        return device->isCpu() ? nullptr : device;
    }
    try {
        return list.devices.size() > 1 ? list.select("cuda") : nullptr;
    } catch (const DeviceError&) { // which the log has told
        return nullptr;
    }
}

} // namespace

DeviceList devicesFor(const std::string& wanted, int threads, const Session& session)
{
    if (wanted == "cpu")
        return {{makeCpuDevice(threads)}, {}};
    DeviceList list = openDevices(threads);
    constexpr std::size_t kCpuAndOneGpu = 2;
    if (list.devices.size() <= kCpuAndOneGpu || qEnvironmentVariableIsSet(kDeviceNameVariable))
        return list;
    const auto device = cudaDevice(list, wanted);
    if (!device)
        return list;
    const std::string name = list.nameOf(*device);
    qputenv("CUDA_VISIBLE_DEVICES", device->info().uuid.c_str());
    qputenv(kDeviceNameVariable, (name + "=" + device->info().uuid).c_str());
    std::vector<char*> arguments;
    std::vector<std::string> command = session.command;
    for (std::string& argument : command)
        arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    ::execv(session.executable.c_str(), arguments.data());
    log("cli").warn("The run sees all GPUs: the program cannot be started anew ({}).",
                    std::strerror(errno));
    return list;
}

std::shared_ptr<Device> chooseDevice(const DeviceList& list, const std::string& wanted,
                                     const PluginDescriptor& plugin)
{
    if (wanted.empty() && PluginRegistry::kernelModulesFor(plugin).empty())
        return list.devices.front();
    const auto device = cudaDevice(list, wanted);
    if (!device)
        return list.devices.front();
    device->memory(); // one that cannot be used is told before there is a run
    const std::string problem = loadBodies(plugin);
    if (problem.empty())
        return device;
    if (!wanted.empty())
        throw DeviceError(problem + " Choose --device cpu.", ExitCode::NoDevice);
    log("cli").warn("{} The run uses the CPU.", problem);
    return list.devices.front();
}

} // namespace vergence::cli
