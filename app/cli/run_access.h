#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/cli/command.h"
#include "core/artifact/run_folder.h"
#include "core/compute/backend.h"
#include "core/plugin/plugin_descriptor.h"

namespace vergence::cli {

/// A run by path, by id below `runsFolder`, or by the only id that contains `name`. Throws
/// InputError.
RunFolder findRun(const std::string& name, const std::filesystem::path& runsFolder);

/// State of a run as its folder tells it; a live state without a worker counts as Lost.
std::string stateOf(const RunFolder& folder, const RunStatus& status);

/// The devices of which a run takes one; for "cpu" without asking for others. Begins this program
/// anew where it sees more GPUs than the one asked for, so that it sees this one alone: libraries
/// and programs that it calls then keep off the GPUs of other runs. Before anything is read or
/// locked. CUDA looks at CUDA_VISIBLE_DEVICES once, when a process first asks for devices.
DeviceList devicesFor(const std::string& wanted, int threads, const Session& session);

/// The one that was asked for, with the plugin's bodies loaded where it is a CUDA device. Empty
/// `wanted` takes CUDA where a device opens and the plugin has CUDA bodies, else the CPU. Throws
/// DeviceError (exit code 7).
std::shared_ptr<Device> chooseDevice(const DeviceList& list, const std::string& wanted,
                                     const PluginDescriptor& plugin);

} // namespace vergence::cli
