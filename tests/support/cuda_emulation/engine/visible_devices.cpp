#include "tests/support/cuda_emulation/engine/visible_devices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation {

namespace {

/// As NVML and CUDA_VISIBLE_DEVICES spell it.
std::string nameOf(int device)
{
    constexpr std::array kDashesBefore = {4, 6, 8, 10};
    std::string name = settings().isMig ? "MIG-" : "GPU-";
    const Uuid uuid = uuidOf(device);
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (std::count(kDashesBefore.begin(), kDashesBefore.end(), i) > 0)
            name += '-';
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", uuid[i]);
        name += digits.data();
    }
    return name;
}

/// The device that an entry of CUDA_VISIBLE_DEVICES means; -1: none.
int deviceNamed(const std::string& entry, int devices)
{
    int number = -1;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
    if (error == std::errc() && end == entry.data() + entry.size())
        return number < devices ? number : -1;
    for (int device = 0; device < devices; ++device) {
        constexpr std::size_t kPrefix = 4; // names may be shortened, but not to that
        if (entry.size() > kPrefix && nameOf(device).starts_with(entry))
            return device;
    }
    return -1;
}

std::array<bool, kMostDevices>& contexts()
{
    static std::array<bool, kMostDevices> opened{};
    return opened;
}

} // namespace

Uuid uuidOf(int device)
{
    Uuid uuid;
    const std::string text = "emulated-gpu-00" + std::to_string(device);
    std::memcpy(uuid.data(), text.data(), uuid.size());
    return uuid;
}

std::vector<int> visibleDevices()
{
    const int devices = std::clamp(settings().devices, 0, kMostDevices);
    std::vector<int> visible;
    if (!settings().visible) {
        for (int device = 0; device < devices; ++device)
            visible.push_back(device);
        return visible;
    }
    std::stringstream list(*settings().visible);
    for (std::string entry; std::getline(list, entry, ',');) {
        const int device = deviceNamed(entry, devices);
        if (device < 0 || std::count(visible.begin(), visible.end(), device) > 0)
            break;
        visible.push_back(device);
    }
    return visible;
}

void openContext(int device)
{
    const std::lock_guard guard(deviceLock());
    bool& isOpen = contexts()[static_cast<std::size_t>(device)];
    if (isOpen)
        return;
    isOpen = true;
    if (settings().contextsFile.empty())
        return;
    const auto visible = visibleDevices();
    if (std::FILE* const file = std::fopen(settings().contextsFile.c_str(), "a")) {
        std::fprintf(file, "%s of %d\n", nameOf(visible[static_cast<std::size_t>(device)]).c_str(),
                     static_cast<int>(visible.size()));
        std::fclose(file);
    }
}

bool hasContext(int device)
{
    const std::lock_guard guard(deviceLock());
    return contexts()[static_cast<std::size_t>(device)];
}

} // namespace vergence::emulation
