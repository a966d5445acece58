#include "core/compute/backend.h"

#include <cstdlib>
#include <exception>
#include <sstream>
#include <string_view>

#include <dlfcn.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/kernel.h"

namespace vergence {

DeviceBackend::~DeviceBackend() = default;

std::vector<std::filesystem::path> moduleFolders()
{
    std::vector<std::filesystem::path> folders;
    if (const char* path = std::getenv("VERGENCE_MODULE_PATH")) {
        std::stringstream list(path);
        for (std::string entry; std::getline(list, entry, ':');)
            folders.emplace_back(entry);
    }
    Dl_info here{};
    if (::dladdr(reinterpret_cast<const void*>(&moduleFolders), &here) && here.dli_fname) {
        const auto folder = std::filesystem::absolute(here.dli_fname).parent_path();
        folders.push_back(folder);
        folders.push_back(folder / "vergence");
    }
    return folders;
}

namespace {

DeviceBackend* loadBackend(std::string& reason)
{
    for (const auto& folder : moduleFolders()) {
        const auto file = folder / "libvergence-cuda.so";
        std::error_code code;
        if (!std::filesystem::exists(file, code))
            continue;
        void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            reason = fmt::format("The CUDA module cannot be loaded ({}).", ::dlerror());
            return nullptr;
        }
        using Entry = DeviceBackend* (*)();
        const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "vergenceDeviceBackend"));
        if (!entry) {
            reason = fmt::format("{} is not a CUDA module of this version.", file.string());
            return nullptr;
        }
        return entry();
    }
    reason = "This installation was built without CUDA.";
    return nullptr;
}

/// The engine's own CUDA bodies. Without them its operations refuse CUDA devices by name, while
/// plugins that bring bodies of their own still run there.
void loadEngineBodies()
{
    for (const auto& folder : moduleFolders()) {
        const auto file = folder / "libvergence-kernels-compute.so";
        std::error_code code;
        if (!std::filesystem::exists(file, code))
            continue;
        std::string reason;
        if (!loadKernelModule(file, &reason))
            log("compute").warn("The CUDA bodies of the tensor engine cannot be loaded ({}).",
                                reason);
        return;
    }
}

} // namespace

DeviceList openDevices(int cpuThreads)
{
    DeviceList list;
    list.devices.push_back(makeCpuDevice(cpuThreads));
    if (DeviceBackend* backend = loadBackend(list.whyNoCuda)) {
        auto found = backend->devices(list.whyNoCuda);
        list.devices.insert(list.devices.end(), found.begin(), found.end());
        if (!found.empty()) {
            list.whyNoCuda.clear();
            loadEngineBodies();
        }
    }
    return list;
}

std::string DeviceList::nameOf(const Device& device) const
{
    if (device.isCpu())
        return "cpu";
    const char* kept = std::getenv(kDeviceNameVariable);
    const std::string_view text = kept ? kept : "";
    const std::size_t at = text.find('=');
    if (at != text.npos && text.substr(at + 1) == device.info().uuid)
        return std::string(text.substr(0, at));
    return fmt::format("cuda:{}", device.info().index);
}

namespace {

/// The first CUDA device that can be used; throws what the last one said.
std::shared_ptr<Device> firstUsable(const DeviceList& list)
{
    std::exception_ptr refusal;
    for (const auto& device : list.devices) {
        if (device->isCpu())
            continue;
        try {
            device->memory();
            return device;
        } catch (const DeviceError& error) {
            log("compute").warn("{} ({}): {}", list.nameOf(*device), device->info().name,
                                error.what());
            refusal = std::current_exception();
        }
    }
    if (refusal)
        std::rethrow_exception(refusal);
    return nullptr;
}

} // namespace

std::shared_ptr<Device> DeviceList::select(const std::string& wanted) const
{
    if (wanted == "cuda") {
        if (auto device = firstUsable(*this))
            return device;
    }
    std::string names;
    for (const auto& device : devices) {
        const std::string name = nameOf(*device);
        if (wanted == name || wanted == device->info().uuid)
            return device;
        names += names.empty() ? name : ", " + name;
    }
    throw DeviceError(fmt::format("No device {} here; there is: {}.{}{}", wanted, names,
                                  whyNoCuda.empty() ? "" : " ", whyNoCuda),
                      ExitCode::NoDevice);
}

} // namespace vergence
