#include "tests/support/cuda_emulation/engine/shared_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <sys/mman.h>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/language/engine_calls.h"

namespace vergence::emulation {

SharedMemory sharedMemory;

namespace {

/// More only where a kernel's attribute says so.
constexpr std::size_t kUnasked = std::size_t{48} << 10;

std::size_t largestAllowed = 0; ///< of all kernels: a launch does not tell which one it is of

std::size_t roundedUp(std::size_t value, std::size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/// A place for a variable, filled with what is no sensible number.
std::size_t takeRoom(std::size_t bytes, std::size_t alignment)
{
    SharedMemory& shared = sharedMemory;
    std::size_t at = roundedUp(shared.top + kSharedZoneBytes, std::max<std::size_t>(alignment, 16));
    if (at + bytes + kSharedZoneBytes > kSharedRoomBytes) {
        report("shared", theBlock.launch->site, "more shared memory than any device has");
        at = kSharedZoneBytes;
        bytes = std::min(bytes, kMostSharedBytes);
    }
    std::memset(shared.first + at, 0xff, bytes);
    std::memset(shared.usable + at / 8, 8, bytes / 8);
    if (bytes % 8 != 0)
        shared.usable[at / 8 + bytes / 8] = static_cast<unsigned char>(bytes % 8);
    shared.top = std::max(shared.top, at + bytes);
    return at;
}

} // namespace

std::size_t sharedBytesLimit()
{
    switch (settings().capability) {
    case 70:
    case 72:
        return std::size_t{96} << 10;
    case 75:
        return std::size_t{64} << 10;
    case 80:
    case 87:
        return std::size_t{163} << 10;
    case 86:
    case 89:
    case 120:
    case 121:
        return std::size_t{99} << 10;
    default:
        return settings().capability < 70 ? kUnasked : kMostSharedBytes;
    }
}

bool isAllowedDynamic(std::size_t bytes)
{
    return bytes <= kUnasked || (bytes <= largestAllowed && bytes <= sharedBytesLimit());
}

bool allowSharedBytes(const void*, int bytes)
{
    const std::lock_guard guard(deviceLock());
    if (bytes < 0 || static_cast<std::size_t>(bytes) > sharedBytesLimit())
        return false;
    largestAllowed = std::max(largestAllowed, static_cast<std::size_t>(bytes));
    return true;
}

void prepareSharedMemory()
{
    if (sharedMemory.first)
        return;
    const auto take = [](std::size_t bytes) {
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            std::perror("Shared memory of an emulated device");
            std::abort();
        }
        return memory;
    };
    sharedMemory.first = static_cast<unsigned char*>(take(kSharedRoomBytes));
    sharedMemory.usable = static_cast<unsigned char*>(take(kSharedRoomBytes / 8));
    sharedMemory.traces.words = static_cast<Trace*>(take(kSharedRoomBytes / 4 * sizeof(Trace)));
    sharedMemory.traces.bytes = static_cast<Trace*>(take(kSharedRoomBytes * sizeof(Trace)));
}

void beginSharedMemory(std::size_t dynamicBytes)
{
    SharedMemory& shared = sharedMemory;
    std::memset(shared.usable, 0, (shared.top + 7) / 8);
    ++shared.block;
    shared.top = shared.staticBytes = 0;
    shared.dynamicBytes = dynamicBytes;
    shared.dynamic = kSharedZoneBytes;
    if (dynamicBytes > 0)
        shared.dynamic = takeRoom(dynamicBytes, 16);
}

void checkSharedBytes()
{
    const std::size_t fixed = sharedMemory.staticBytes, dynamic = sharedMemory.dynamicBytes;
    const std::size_t all = fixed + dynamic;
    const bool fits = all <= sharedBytesLimit();
    const bool isAllowed = fixed <= kUnasked && (all <= kUnasked || dynamic <= largestAllowed);
    if (fits && isAllowed)
        return;
    report("shared", theBlock.launch->site,
           std::to_string(all) + " bytes of shared memory in a block, more than " +
               (fits ? "the kernel was allowed" : "the device has"));
}

void* sharedVariable(SharedVariable& variable, std::size_t bytes, std::size_t alignment)
{
    if (variable.block != sharedMemory.block) {
        const Unwatched pause;
        variable.block = sharedMemory.block;
        variable.at = sharedMemory.first + takeRoom(bytes, alignment);
        sharedMemory.staticBytes += bytes;
    }
    return variable.at;
}

void* dynamicShared()
{
    return sharedMemory.first + sharedMemory.dynamic;
}

std::size_t sharedAddress(const void* pointer, Site site)
{
    const auto at =
        static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - sharedMemory.first);
    if (at < kSharedRoomBytes)
        return at;
    const Unwatched pause;
    report("shared-address", site, "the pointer is none to shared memory");
    return 0;
}

} // namespace vergence::emulation
