#pragma once

#include <cstddef>

#include "tests/support/cuda_emulation/engine/traces.h"

// The shared memory of the block that runs. Its variables lie apart, with zones between them that
// belong to nobody.

namespace vergence::emulation {

constexpr std::size_t kSharedZoneBytes = 128, kMostSharedBytes = std::size_t{227} << 10;
constexpr std::size_t kSharedRoomBytes = kMostSharedBytes + 64 * kSharedZoneBytes;

struct SharedMemory {
    unsigned char* first = nullptr;  ///< kSharedRoomBytes of them
    unsigned char* usable = nullptr; ///< for each 8 bytes how many of them may be touched
    TraceTable traces;
    std::size_t top = 0;     ///< end of the last variable
    std::size_t dynamic = 0; ///< where the launch's own part begins
    std::size_t dynamicBytes = 0, staticBytes = 0;
    unsigned long long block = 0; ///< number of the block
};
extern SharedMemory sharedMemory __attribute__((visibility("hidden")));

/// What a block of settings().capability may have at most.
std::size_t sharedBytesLimit();
/// Whether a kernel may be launched with so much beside its variables.
bool isAllowedDynamic(std::size_t bytes);

/// Before the first block of a process.
void prepareSharedMemory();
/// Nothing is written yet, and no variable is there but the launch's own part.
void beginSharedMemory(std::size_t dynamicBytes);
/// After a block: reports more than the launch may have.
void checkSharedBytes();

} // namespace vergence::emulation
