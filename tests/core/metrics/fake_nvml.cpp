// A driver's management library for tests: one whole GPU, and one that is divided into two
// instances.

#include <array>
#include <cstdio>

namespace {

using Result = int;
constexpr Result kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6;

struct Part {
    const char *name, *uuid;
    unsigned long long bytes;
};
std::array<Part, 4> parts{{{"NVIDIA H100", "GPU-0", 80'000},
                           {"NVIDIA H100", "GPU-1", 80'000},
                           {"NVIDIA H100 MIG 1g.10gb", "MIG-0", 10'000},
                           {"NVIDIA H100 MIG 2g.20gb", "MIG-1", 20'000}}};
constexpr std::size_t kDivided = 1, kFirstInstance = 2;
constexpr unsigned kMostInstances = 7;
constexpr unsigned kPlaces[] = {0, 3}; ///< of the instances, with gaps as the driver has them

struct Memory {
    unsigned long long total, free, used;
};

Result write(char* text, unsigned room, const char* value)
{
    std::snprintf(text, room, "%s", value);
    return kSuccess;
}

} // namespace

extern "C" {

Result nvmlInit_v2()
{
    return kSuccess;
}
Result nvmlShutdown()
{
    return kSuccess;
}
Result nvmlDeviceGetCount_v2(unsigned* count)
{
    *count = kFirstInstance;
    return kSuccess;
}
Result nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device)
{
    *device = &parts.at(index);
    return kSuccess;
}
Result nvmlDeviceGetName(void* device, char* text, unsigned room)
{
    return write(text, room, static_cast<Part*>(device)->name);
}
Result nvmlDeviceGetUUID(void* device, char* text, unsigned room)
{
    return write(text, room, static_cast<Part*>(device)->uuid);
}
Result nvmlDeviceGetMemoryInfo(void* device, Memory* memory)
{
    const unsigned long long bytes = static_cast<Part*>(device)->bytes;
    *memory = {bytes, bytes / 2, bytes - bytes / 2};
    return kSuccess;
}
Result nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count)
{
    *count = device == &parts[kDivided] ? kMostInstances : 0;
    return kSuccess;
}
Result nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** instance)
{
    if (device != &parts[kDivided])
        return kNotSupported;
    if (index >= kMostInstances)
        return kInvalidArgument;
    for (std::size_t i = 0; i < std::size(kPlaces); ++i) {
        if (kPlaces[i] != index)
            continue;
        *instance = &parts[kFirstInstance + i];
        return kSuccess;
    }
    return kNotFound;
}

} // extern "C"
