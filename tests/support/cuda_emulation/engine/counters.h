#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vergence::emulation {

struct Touch;

/// What a kernel did, over all its launches.
struct KernelCounters {
    std::uint64_t launches = 0, blocks = 0, threads = 0;
    std::uint64_t globalBytes = 0; ///< asked for by its instructions
    std::uint64_t globalSectors =
        0; ///< of 32 bytes, touched by warps: each instruction's lanes together
    std::uint64_t sharedBytes = 0;
    std::uint64_t bankConflicts = 0; ///< extra passes over 32 banks of 4 bytes
    std::uint64_t barriers = 0, atomics = 0;
};

/// By kernel ("name (file:line)"); empty unless settings().countersFile is set.
const std::map<std::string, KernelCounters>& kernelCounters();

// For the engine, while it counts. Which accesses a warp does together is not known of threads that
// run one after another: taken together are the lanes' n-th executions of one instruction since
// the warp last met.

void countLaunch(const std::string& kernel, std::uint64_t threadsOfBlock);
void countAccess(int thread, const Touch& touch);
/// Lanes of the warp have met.
void countMeeting(int warp);
void countBarrier();
/// A block has ended.
void countBlock();

} // namespace vergence::emulation
