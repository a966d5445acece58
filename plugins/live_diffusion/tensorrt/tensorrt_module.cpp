#include "plugins/live_diffusion/tensorrt/tensorrt_module.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "core/compute/backend.h"

namespace vergence::live {

namespace {

/// The module, or why there is none.
struct FoundModule {
    TensorRtModule* module = nullptr;
    std::string reason;

    FoundModule()
    {
        for (const auto& folder : moduleFolders()) {
            const auto file = folder / "libvergence-tensorrt.so";
            std::error_code code;
            if (!std::filesystem::exists(file, code))
                continue;
            void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (!handle) {
                reason = fmt::format("TensorRT cannot be loaded ({}); install its libraries.",
                                     ::dlerror());
                return;
            }
            using Entry = TensorRtModule* (*)();
            const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "vergenceTensorRt"));
            if (entry)
                module = entry();
            else
                reason = fmt::format("{} is no module of this version.", file.string());
            return;
        }
        reason = "This studio was built without TensorRT; install its SDK and build it again.";
    }
};

const FoundModule& foundModule()
{
    static const FoundModule found;
    return found;
}

} // namespace

TensorRtModule* tensorRtModule(std::string* reason)
{
    if (reason)
        *reason = foundModule().reason;
    return foundModule().module;
}

std::string whyNoTensorRt(const Device& device)
{
    return device.isCpu() ? "TensorRT needs an NVIDIA GPU." : foundModule().reason;
}

} // namespace vergence::live
