#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/cuda_emulation/engine/device_memory.h"

// What the files of device memory share: allocations (device_memory.cpp), protection
// (open_memory.cpp), other processes' memory (shared_places.cpp). Places are offsets in the arena.

namespace vergence::emulation {

constexpr std::size_t kPageBytes = 4096, kZoneBytes = 256;

/// Whole pages for an allocation and the zones around it.
struct Room {
    std::size_t first = 0, bytes = 0;
};

/// The part of the arena that one device has.
struct Part {
    std::size_t first = 0, last = 0;
    std::size_t top = 0;                       ///< nothing was ever allocated from here on
    std::size_t inUse = 0;                     ///< bytes as they were asked for
    std::map<std::size_t, std::size_t> vacant; ///< first → bytes of rooms below `top`
    std::deque<Room> resting;                  ///< freed lately, and kept so that late uses show
    std::size_t restingBytes = 0;
};

struct LiveBlock {
    std::size_t bytes = 0;
    Room room;
    std::uint64_t serial = 0;
    bool isImported = false;
};

/// Stands in the zone before an allocation, for other processes that open it.
struct Label {
    std::uint64_t serial = 0, bytes = 0;
};

struct DeviceMemory {
    Arena arena;
    unsigned char* usable = nullptr;
    int file = -1;
    std::vector<Part> parts;
    std::map<std::size_t, LiveBlock> live; ///< by offset
    std::uint64_t serials = 0;
    int openedWhole = 0;
    std::atomic<std::thread::id> opener; ///< who may touch all, while openedWhole
    std::vector<std::size_t> granted;    ///< chunks that it has touched so far
    std::vector<std::pair<std::size_t, std::size_t>> openedRanges;
};

DeviceMemory& deviceMemory();

Room roomFor(std::size_t bytes);
/// Addresses for a room of a device, or a room of no bytes.
Room takeRoom(Part& part, std::size_t bytes);
void giveRoomBack(Part& part, Room room);
void addLive(std::size_t offset, const LiveBlock& block);
void removeLive(std::size_t offset);

/// Ends the process where the host touches device memory that is not open.
void watchForHostAccess();

} // namespace vergence::emulation
