#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/cuda_emulation/engine/arena.h"

namespace vergence::emulation {

namespace {

/// Whether the other process has at this place what it exported.
bool isLabelled(std::size_t offset, const SharedPlace& place)
{
    const unsigned char* const at = arena().first + offset - kZoneBytes;
    const Open open(at, sizeof(Label));
    Label label;
    std::memcpy(&label, at, sizeof(label));
    return label.serial == place.serial && label.bytes == place.bytes;
}

bool mapRoom(Room room, int file, std::size_t offsetInFile)
{
    return mmap(arena().first + room.first, room.bytes, PROT_NONE,
                MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
                static_cast<off_t>(offsetInFile)) != MAP_FAILED;
}

bool isPlausible(const SharedPlace& place)
{
    return place.device >= 0 && place.device < deviceCount() && place.bytes > 0 &&
           place.offset % kPageBytes == kZoneBytes && place.bytes < arena().bytesPerDevice;
}

} // namespace

std::optional<SharedPlace> sharedPlaceOf(const void* pointer)
{
    const std::lock_guard guard(deviceLock());
    const auto allocation = allocationAt(pointer);
    if (!allocation || allocation->isImported)
        return std::nullopt;
    const DeviceMemory& memory = deviceMemory();
    const std::size_t offset = memory.arena.offsetOf(allocation->first);
    SharedPlace place;
    place.process = getpid();
    place.file = memory.file;
    place.device = allocation->device;
    place.offset = offset;
    place.bytes = allocation->bytes;
    place.serial = memory.live.at(offset).serial;
    return place;
}

void* importPlace(const SharedPlace& place)
{
    const std::lock_guard guard(deviceLock());
    if (!isPlausible(place))
        return nullptr;
    DeviceMemory& memory = deviceMemory();
    const std::string path =
        "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
        return nullptr;
    Part& part = memory.parts[static_cast<std::size_t>(place.device)];
    const Room room = takeRoom(part, roomFor(place.bytes).bytes);
    bool isMapped = false;
    if (room.bytes > 0 &&
        lseek(file, 0, SEEK_END) >= static_cast<off_t>(place.offset + place.bytes))
        isMapped = mapRoom(room, file, place.offset - kZoneBytes);
    close(file);
    const std::size_t offset = room.first + kZoneBytes;
    if (isMapped && isLabelled(offset, place)) {
        addLive(offset, {place.bytes, room, place.serial, true});
        return memory.arena.first + offset;
    }
    if (isMapped)
        mapRoom(room, memory.file, room.first);
    if (room.bytes > 0)
        giveRoomBack(part, room);
    return nullptr;
}

bool releaseImported(void* pointer)
{
    const std::lock_guard guard(deviceLock());
    DeviceMemory& memory = deviceMemory();
    const auto allocation = allocationAt(pointer);
    if (!allocation || !allocation->isImported || allocation->first != pointer)
        return false;
    const std::size_t offset = memory.arena.offsetOf(pointer);
    const Room room = memory.live.at(offset).room;
    removeLive(offset);
    mapRoom(room, memory.file, room.first);
    giveRoomBack(memory.parts[static_cast<std::size_t>(allocation->device)], room);
    return true;
}

} // namespace vergence::emulation
