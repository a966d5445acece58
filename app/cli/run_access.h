#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/artifact/run_folder.h"
#include "core/compute/device.h"
#include "core/plugin/plugin_descriptor.h"

namespace vergence::cli {

/// A run by path, by id below `runsFolder`, or by the only id that contains `name`. Throws
/// InputError.
RunFolder findRun(const std::string& name, const std::filesystem::path& runsFolder);

/// State of a run as its folder tells it; a live state without a worker counts as Lost.
std::string stateOf(const RunStatus& status);

/// The device that was asked for, with the plugin's bodies loaded where it is a CUDA device. Empty
/// `wanted` takes CUDA where a device opens and the plugin has CUDA bodies, else the CPU. Throws
/// DeviceError (exit code 7).
std::shared_ptr<Device> chooseDevice(const std::string& wanted, int threads,
                                     const PluginDescriptor& plugin);

} // namespace vergence::cli
