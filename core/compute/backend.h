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
    /// All devices of the driver, of which none is used yet. Never throws; empty with `reason`
    /// filled where there are none.
    virtual std::vector<std::shared_ptr<Device>> devices(std::string& reason) = 0;
};

/// Devices of this computer: the CPU first, then CUDA devices where module and driver allow.
struct DeviceList {
    std::vector<std::shared_ptr<Device>> devices;
    std::string whyNoCuda; ///< one sentence; empty where a CUDA device is listed

    /// "cpu", "cuda" (the first that can be used, which opens it), "cuda:1", or a UUID. Throws
    /// DeviceError (exit code 7) that says what exists, or why none can be used.
    std::shared_ptr<Device> select(const std::string& wanted) const;
    /// The name by which select() knows a device of the list.
    std::string nameOf(const Device& device) const;
};

/// For a process that sees one GPU of several (CUDA_VISIBLE_DEVICES) but calls it as all do:
/// "cuda:1=UUID".
inline constexpr const char* kDeviceNameVariable = "VERGENCE_DEVICE_NAME";

/// Initialises the driver: for worker and probe processes, not for the window. No device has a
/// context before its first use. `cpuThreads` as in makeCpuDevice.
DeviceList openDevices(int cpuThreads = 0);

/// Folder of the studio's modules: $VERGENCE_MODULE_PATH, or where the compute library lies, or its
/// `vergence` subfolder.
std::vector<std::filesystem::path> moduleFolders();

} // namespace vergence
