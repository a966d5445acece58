#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace vergence::emulation {

/// The lock of the whole emulated computer: calls and kernels of all host threads take turns.
std::recursive_mutex& deviceLock();

constexpr int kMostDevices = 8;
/// Those that the process may use, see visibleDevices().
int deviceCount();

/// All devices' memory is one range of addresses, a part for each; backed by a file without a name,
/// so that other processes can map it (IPC). The host may touch it only while an Open lives.
/// Between allocations lie zones that belong to nobody.
struct Arena {
    unsigned char* first = nullptr;
    std::size_t bytes = 0;
    std::size_t bytesPerDevice = 0; ///< of addresses; settings().bytesPerDevice may be allocated
    const unsigned char* usable =
        nullptr; ///< for each 8 bytes how many of them may be touched, 0 to 8

    bool contains(const void* pointer) const
    {
        return static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - first) < bytes;
    }
    std::size_t offsetOf(const void* pointer) const
    {
        return static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - first);
    }
    /// The device to whose part the address belongs.
    int deviceOf(const void* pointer) const
    {
        return static_cast<int>(offsetOf(pointer) / bytesPerDevice);
    }
};
const Arena& arena();

/// A live allocation.
struct Allocation {
    unsigned char* first = nullptr;
    std::size_t bytes = 0;
    int device = 0;
    bool isImported = false; ///< opened from another process
};

/// Null where the device has no room. Multiple of 256 bytes; filled with 0xff.
void* allocateOnDevice(int device, std::size_t bytes);
/// False where no allocation begins at `pointer`. What still reads it gets 0xff.
bool freeOnDevice(void* pointer);
/// The allocation that `pointer` lies in, or the one before it (for findings).
std::optional<Allocation> allocationAt(const void* pointer);
std::optional<Allocation> allocationBefore(const void* pointer);
std::size_t bytesInUse(int device);

/// Whether all bytes belong to one live allocation; reports where not. `what` names the use.
bool isLive(const void* pointer, std::size_t bytes, const char* what);

/// Another process's memory in this one's range: what cudaIpcGetMemHandle names, and opening it.
struct SharedPlace {
    std::int32_t process = 0, file = 0;
    std::int64_t device = 0;
    std::uint64_t offset = 0, bytes = 0;
    std::uint64_t serial = 0; ///< tells allocations apart that lie at one place one after another
};
std::optional<SharedPlace> sharedPlaceOf(const void* pointer);
void* importPlace(const SharedPlace& place); ///< null where the process or its memory is gone
bool releaseImported(void* pointer);

/// Device memory can be touched by the calling thread while one of these lives: kernels, copies and
/// libraries hold one.
class Open {
public:
    Open(); ///< all of it; its cost is that of what is touched then
    Open(const void* pointer, std::size_t bytes); ///< this range alone, for those who touch it all
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

private:
    std::size_t m_first = 0, m_last = 0; ///< pages of the arena that it opened by itself
    bool m_isWhole = false;
};

} // namespace vergence::emulation
