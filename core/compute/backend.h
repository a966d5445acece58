#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/compute/device.h"

namespace vergence {

/// What the CUDA module exports: its devices, or the reason why there are none. The module is
/// `libvergence-cuda.so` with the entry `extern "C" vergence::DeviceBackend*
/// vergenceDeviceBackend()`; the object lives as long as the process.
class DeviceBackend {
public:
    virtual ~DeviceBackend();
    /// Opens all devices of the driver. Never throws; empty with `reason` filled where there are
    /// none.
    virtual std::vector<std::shared_ptr<Device>> devices(std::string& reason) = 0;
};

/// Devices of this computer: the CPU first, then CUDA devices where module, driver and probe allow.
struct DeviceList {
    std::vector<std::shared_ptr<Device>> devices;
    std::string whyNoCuda; ///< one sentence; empty where a CUDA device is listed

    /// "cpu", "cuda" (the first), "cuda:1", or a UUID. Throws DeviceError (exit code 7) that says
    /// what exists.
    std::shared_ptr<Device> select(const std::string& wanted) const;
};

/// Creates contexts: for worker and probe processes, not for the window. `cpuThreads` as in
/// makeCpuDevice.
DeviceList openDevices(int cpuThreads = 0);

/// Folder of the studio's modules: $VERGENCE_MODULE_PATH, or where the compute library lies, or its
/// `vergence` subfolder.
std::vector<std::filesystem::path> moduleFolders();

} // namespace vergence
