#include "tests/support/cuda_emulation/engine/device_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/cuda_emulation/engine/arena.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/visible_devices.h"

namespace vergence::emulation {

namespace {

constexpr std::size_t kMostResting = std::size_t{64} << 20;
/// Twice what can be allocated, so that rooms of unfit sizes are no lack of memory.
constexpr std::size_t kLeastPerDevice = std::size_t{16} << 30;

void expectWorks(bool works, const char* what)
{
    if (works)
        return;
    std::perror(what);
    std::abort();
}

std::size_t inPages(std::size_t bytes)
{
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

DeviceMemory* prepared()
{
    auto* memory =
        new DeviceMemory; // never destroyed: handlers may ask until the process has ended
    Arena& arena = memory->arena;
    arena.bytesPerDevice = std::max(kLeastPerDevice, inPages(2 * settings().bytesPerDevice));
    arena.bytes = kMostDevices * arena.bytesPerDevice;
    memory->file = memfd_create("vergence-emulated-device", MFD_CLOEXEC);
    expectWorks(memory->file >= 0 && ftruncate(memory->file, static_cast<off_t>(arena.bytes)) == 0,
                "A file for the memory of emulated devices");
    void* const first =
        mmap(nullptr, arena.bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, memory->file, 0);
    void* const usable = mmap(nullptr, arena.bytes / 8, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expectWorks(first != MAP_FAILED && usable != MAP_FAILED, "Addresses for emulated devices");
    arena.first = static_cast<unsigned char*>(first);
    arena.usable = memory->usable = static_cast<unsigned char*>(usable);
    for (std::size_t i = 0; i < kMostDevices; ++i) {
        Part part;
        part.first = part.top = i * arena.bytesPerDevice;
        part.last = part.first + arena.bytesPerDevice;
        memory->parts.push_back(std::move(part));
    }
    return memory;
}

Room firstFit(Part& part, std::size_t bytes)
{
    for (auto& [first, free] : part.vacant) {
        if (free < bytes)
            continue;
        const Room room{first, bytes};
        const std::size_t left = free - bytes;
        part.vacant.erase(first);
        if (left > 0)
            part.vacant[room.first + bytes] = left;
        return room;
    }
    if (part.last - part.top < bytes)
        return {};
    part.top += bytes;
    return {part.top - bytes, bytes};
}

void makeVacant(Part& part, Room room)
{
    auto next = part.vacant.upper_bound(room.first);
    if (next != part.vacant.end() && room.first + room.bytes == next->first) {
        room.bytes += next->second;
        next = part.vacant.erase(next);
    }
    if (next != part.vacant.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == room.first) {
            before->second += room.bytes;
            return;
        }
    }
    part.vacant[room.first] = room.bytes;
}

void endRest(Part& part, std::size_t mostLeft)
{
    while (part.restingBytes > mostLeft) {
        const Room room = part.resting.front();
        part.resting.pop_front();
        part.restingBytes -= room.bytes;
        makeVacant(part, room);
    }
}

Allocation describe(std::size_t offset, const LiveBlock& block)
{
    unsigned char* const first = arena().first + offset;
    return {first, block.bytes, arena().deviceOf(first), block.isImported};
}

/// Labels the zone before an allocation and fills it with what is no sensible number.
void fillBlock(std::size_t offset, std::size_t bytes, const Label& label)
{
    unsigned char* const first = arena().first + offset;
    const Open open(first - kZoneBytes, kZoneBytes + bytes);
    std::memcpy(first - kZoneBytes, &label, sizeof(label));
    std::memset(first, 0xff, bytes);
}

} // namespace

std::recursive_mutex& deviceLock()
{
    static auto* mutex = new std::recursive_mutex; // outlives what other files destroy at the end
    return *mutex;
}

int deviceCount()
{
    return settings().visible ? static_cast<int>(visibleDevices().size())
                              : std::clamp(settings().devices, 0, kMostDevices);
}

DeviceMemory& deviceMemory()
{
    static DeviceMemory* const memory = [] {
        DeviceMemory* const made = prepared();
        watchForHostAccess();
        return made;
    }();
    return *memory;
}

const Arena& arena()
{
    return deviceMemory().arena;
}

Room roomFor(std::size_t bytes)
{
    return {0, inPages(bytes + 2 * kZoneBytes)};
}

Room takeRoom(Part& part, std::size_t bytes)
{
    Room room = firstFit(part, bytes);
    if (room.bytes == 0 && part.restingBytes > 0) {
        endRest(part, 0);
        room = firstFit(part, bytes);
    }
    return room;
}

void giveRoomBack(Part& part, Room room)
{
    part.resting.push_back(room);
    part.restingBytes += room.bytes;
    endRest(part, kMostResting);
}

void addLive(std::size_t offset, const LiveBlock& block)
{
    DeviceMemory& memory = deviceMemory();
    memory.live[offset] = block;
    std::memset(memory.usable + offset / 8, 8, block.bytes / 8);
    if (block.bytes % 8 != 0)
        memory.usable[(offset + block.bytes) / 8] = static_cast<unsigned char>(block.bytes % 8);
}

void removeLive(std::size_t offset)
{
    DeviceMemory& memory = deviceMemory();
    const auto found = memory.live.find(offset);
    std::memset(memory.usable + offset / 8, 0, (found->second.bytes + 7) / 8);
    memory.live.erase(found);
}

void* allocateOnDevice(int device, std::size_t bytes)
{
    const std::lock_guard guard(deviceLock());
    DeviceMemory& memory = deviceMemory();
    Part& part = memory.parts.at(static_cast<std::size_t>(device));
    const std::size_t limit = settings().bytesPerDevice;
    if (bytes == 0 || part.inUse > limit || bytes > limit - part.inUse)
        return nullptr;
    const Room room = takeRoom(part, roomFor(bytes).bytes);
    if (room.bytes == 0)
        return nullptr;
    part.inUse += bytes;
    const std::size_t offset = room.first + kZoneBytes;
    addLive(offset, {bytes, room, ++memory.serials, false});
    fillBlock(offset, bytes, {memory.serials, bytes});
    return memory.arena.first + offset;
}

bool freeOnDevice(void* pointer)
{
    const std::lock_guard guard(deviceLock());
    DeviceMemory& memory = deviceMemory();
    if (!memory.arena.contains(pointer))
        return false;
    const std::size_t offset = memory.arena.offsetOf(pointer);
    const auto found = memory.live.find(offset);
    if (found == memory.live.end() || found->second.isImported)
        return false;
    const LiveBlock block = found->second;
    Part& part = memory.parts[static_cast<std::size_t>(memory.arena.deviceOf(pointer))];
    removeLive(offset);
    fillBlock(offset, block.bytes, {});
    part.inUse -= block.bytes;
    giveRoomBack(part, block.room);
    return true;
}

std::optional<Allocation> allocationBefore(const void* pointer)
{
    const std::lock_guard guard(deviceLock());
    const DeviceMemory& memory = deviceMemory();
    if (!memory.arena.contains(pointer))
        return std::nullopt;
    auto found = memory.live.upper_bound(memory.arena.offsetOf(pointer));
    if (found == memory.live.begin())
        return std::nullopt;
    --found;
    return describe(found->first, found->second);
}

std::optional<Allocation> allocationAt(const void* pointer)
{
    const auto before = allocationBefore(pointer);
    if (!before || static_cast<const unsigned char*>(pointer) >= before->first + before->bytes)
        return std::nullopt;
    return before;
}

std::size_t bytesInUse(int device)
{
    const std::lock_guard guard(deviceLock());
    return deviceMemory().parts.at(static_cast<std::size_t>(device)).inUse;
}

bool isLive(const void* pointer, std::size_t bytes, const char* what)
{
    if (bytes == 0)
        return true;
    if (!arena().contains(pointer)) {
        report("host-memory", what, "an address that is none of a device");
        return false;
    }
    const auto before = allocationBefore(pointer);
    if (!before) {
        report("outside", what, "an address in no allocation, or in one that was freed");
        return false;
    }
    const auto from =
        static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - before->first);
    if (from < before->bytes && bytes <= before->bytes - from)
        return true;
    report("outside", what,
           std::to_string(bytes) + " bytes from byte " + std::to_string(from) +
               " of an allocation of " + std::to_string(before->bytes) +
               (from < before->bytes ? "" : ", or of one that was freed"));
    return false;
}

} // namespace vergence::emulation
