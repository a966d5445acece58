#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/compute/backend.h"
#include "core/compute/kernel.h"

namespace vergence::test {

/// The modules of the studio as it finds them: CUDA bodies and, where `withBackend`, the device.
inline std::vector<std::filesystem::path> cudaModules(bool withBackend)
{
    std::map<std::filesystem::path, std::filesystem::path> modules; // by name; the first counts
    for (const auto& folder : moduleFolders()) {
        std::error_code code;
        for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with("libvergence-kernels-") ||
                (withBackend && name == "libvergence-cuda.so"))
                modules.emplace(name, entry.path());
        }
    }
    std::vector<std::filesystem::path> paths;
    for (const auto& [name, path] : modules)
        paths.push_back(path);
    return paths;
}

/// As the command line does for the lab that it runs: without it a launch says what is missing.
inline void loadCudaBodies()
{
    for (const auto& module : cudaModules(false))
        loadKernelModule(module);
}

/// All devices of this computer, opened once.
inline const DeviceList& devices()
{
    static const DeviceList list = [] {
        DeviceList opened = openDevices();
        if (opened.devices.size() > 1)
            loadCudaBodies();
        return opened;
    }();
    return list;
}

} // namespace vergence::test
