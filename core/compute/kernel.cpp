#include "core/compute/kernel.h"

#include <cstring>
#include <map>
#include <mutex>

#include <dlfcn.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

struct Entry {
    std::string signature;
    detail::AnyFunction body = nullptr;
};

/// Bodies by name and variant. Filled by static initialisers of kernel files, read at the first
/// call of each kernel.
struct KernelTable {
    std::mutex mutex;
    std::map<std::pair<std::string, int>, Entry> entries;
};

KernelTable& table()
{
    static KernelTable instance;
    return instance;
}

} // namespace

const char* nameOf(KernelVariant variant)
{
    static constexpr const char* kNames[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "cuda",
                                             "generic"};
    return variant >= 0 && variant < kVariantCount ? kNames[variant] : "?";
}

void detail::registerKernel(const char* name, int variant, const char* signature, AnyFunction body)
{
    const std::lock_guard lock(table().mutex);
    table().entries[{name, variant}] = {signature, body};
}

detail::AnyFunction detail::findKernel(const char* name, int variant, const char* signature)
{
    const std::lock_guard lock(table().mutex);
    const auto found = table().entries.find({name, variant});
    if (found == table().entries.end()) {
        throw DeviceError(
            fmt::format(
                "The operation {} has no {} body in this installation; choose another device.",
                name, nameOf(static_cast<KernelVariant>(variant))),
            ExitCode::NoDevice);
    }
    expects(found->second.signature == signature,
            std::string("kernel ") + name + " was built with another signature");
    return found->second.body;
}

bool loadKernelModule(const std::filesystem::path& module, std::string* reason)
{
    if (::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL))
        return true;
    if (reason) {
        const char* message = ::dlerror();
        *reason = message ? message : "cannot be loaded";
    }
    return false;
}

} // namespace vergence
