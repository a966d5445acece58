#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/support/cuda_emulation/engine/access_checker.h"
#include "tests/support/cuda_emulation/engine/fiber.h"
#include "tests/support/cuda_emulation/language/engine_calls.h"

// Runs the threads of one block. Exactly one of them runs at a time, until it waits or ends; then
// another that is ready goes on, chosen by the seed.

namespace vergence::emulation {

constexpr int kMostThreads = 1024, kWarpSize = 32, kMostWarps = kMostThreads / kWarpSize;

struct Thread {
    uint3 index{};
    Fiber* fiber = nullptr;
    Site site{"", 0};     ///< where it waits
    Stamp warpMoment = 0; ///< stamps of its warp below are ordered before what it does
};

/// Lanes of a warp on their way to one operation.
struct Meeting {
    unsigned mask = 0, came = 0;
    Site site{"", 0};
    WarpOperation operation = nullptr;
    bool ordersMemory = false;
    std::array<void*, kWarpSize> arguments{};
};

/// Sets of lanes are bits.
struct Warp {
    unsigned present = 0, begun = 0, gone = 0;
    unsigned ready = 0, atBarrier = 0;
    std::vector<Meeting> meetings; ///< that wait for lanes
};

struct Block {
    const Launch* launch = nullptr;
    std::array<Thread, kMostThreads> threads;
    std::array<Warp, kMostWarps> warps;
    unsigned readyWarps = 0; ///< bits: those with ready lanes
    int warpCount = 0;
    int warp = -1;              ///< which goes on while it has ready lanes; −1: any
    int current = 0;            ///< the thread that runs
    int alive = 0, arrived = 0; ///< not ended; waiting at the barrier
    Site barrierSite{"", 0};    ///< of the first that arrived
    Vote vote = Vote::None;
    int votes = 0, voteResult = 0;
    Stamp time = 0; ///< see traces.h
    unsigned seed = 0;
    std::uint64_t turns = 1; ///< state of the numbers that choose who goes on
};
extern Block theBlock VERGENCE_EMULATED_HIDDEN;

inline Warp& currentWarp()
{
    return theBlock.warps[static_cast<std::size_t>(theBlock.current / kWarpSize)];
}
inline Thread& currentThread()
{
    return theBlock.threads[static_cast<std::size_t>(theBlock.current)];
}

/// Before the first block of a launch.
void beginLaunch(const Launch& launch, int device);
/// False where its threads wait for each other forever.
bool runBlock(const uint3& index);

// For what threads wait at: these are called by the running thread.

/// Between what the kernel does and what the engine does for it.
void enterKernel();
void leaveKernel();
/// What is checked from here on is done by the thread.
void actAs(int thread);
/// Time goes on: later accesses have later stamps.
Stamp tick();
void makeReady(int warp, unsigned lanes);
/// Others go on; returns when the running thread is ready and it is its turn.
void giveWay();

/// Ends meetings of the warp for which nobody is missing any more (warps.cpp).
void closeMeetings(int warp);
/// Ends the barrier where all threads that have not ended wait at it (barriers.cpp).
void openBarrierIfAllArrived();

} // namespace vergence::emulation
