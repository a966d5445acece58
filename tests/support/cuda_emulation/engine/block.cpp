#include "tests/support/cuda_emulation/engine/block.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "tests/support/cuda_emulation/engine/counters.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation {

Block theBlock;
RunningThread runningThread;

namespace {

Fiber host; ///< of the thread that launches

/// Fibers that wait in lifeOfFiber() for a thread to run.
std::vector<Fiber*>& idleFibers()
{
    static auto* all = new std::vector<Fiber*>;
    return *all;
}

/// A number for each choice, quicker than shuffledBelow().
int nextTurn()
{
    std::uint64_t& turns = theBlock.turns;
    turns ^= turns << 13;
    turns ^= turns >> 7;
    turns ^= turns << 17;
    return static_cast<int>(turns >> 40 & 31);
}

/// Number of one of the bits that are set, by the seed.
int chosenBit(unsigned bits)
{
    if (theBlock.seed == 0 || std::has_single_bit(bits))
        return std::countr_zero(bits);
    if (theBlock.seed == 1)
        return std::bit_width(bits) - 1;
    const int turn = nextTurn();
    return (std::countr_zero(std::rotr(bits, turn)) + turn) % kWarpSize;
}

/// The thread that runs next, or −1: none is ready. Lanes of one warp go on together as far as they
/// can, because their stacks are in the caches then.
int takeReady()
{
    Block& block = theBlock;
    if (block.warp < 0 || !(block.readyWarps >> block.warp & 1))
        block.warp = block.readyWarps == 0 ? -1 : chosenBit(block.readyWarps);
    if (block.warp < 0)
        return -1;
    Warp& warp = block.warps[static_cast<std::size_t>(block.warp)];
    const int lane = chosenBit(warp.ready);
    warp.ready &= ~(1u << lane);
    if (warp.ready == 0)
        block.readyWarps &= ~(1u << block.warp);
    return block.warp * kWarpSize + lane;
}

/// Whether the current thread runs for the first time.
bool begins()
{
    const unsigned lane = 1u << (theBlock.current % kWarpSize);
    Warp& warp = currentWarp();
    const bool isNew = (warp.begun & lane) == 0;
    warp.begun |= lane;
    return isNew;
}

void endThread()
{
    Block& block = theBlock;
    currentWarp().gone |= 1u << (block.current % kWarpSize);
    --block.alive;
    if (!currentWarp().meetings.empty())
        closeMeetings(block.current / kWarpSize);
    openBarrierIfAllArrived();
}

/// Runs threads from their beginning to their end, one after another, as they come.
void lifeOfFiber()
{
    Fiber* const mine = currentThread().fiber;
    for (;;) {
        enterKernel();
        theBlock.launch->call(theBlock.launch->package.get());
        leaveKernel();
        endThread();
        const int next = takeReady();
        if (next >= 0) {
            theBlock.current = next;
            if (begins()) {
                currentThread().fiber = mine;
                continue;
            }
        }
        idleFibers().push_back(mine);
        switchFiber(*mine, next >= 0 ? *currentThread().fiber : host);
    }
}

/// Gives the current thread, which begins, a stack.
Fiber& fiberForCurrent()
{
    auto& idle = idleFibers();
    if (idle.empty()) {
        currentThread().fiber = &makeFiber(&lifeOfFiber);
    } else {
        currentThread().fiber = idle.back();
        idle.pop_back();
    }
    return *currentThread().fiber;
}

/// Reports where threads wait, and takes their stacks from them.
void endInDeadlock()
{
    Block& block = theBlock;
    std::set<std::string> sites;
    for (int i = 0; i < block.warpCount * kWarpSize; ++i) {
        const Warp& warp = block.warps[static_cast<std::size_t>(i / kWarpSize)];
        if (!((warp.present & ~warp.gone) >> (i % kWarpSize) & 1))
            continue;
        Thread& thread = block.threads[static_cast<std::size_t>(i)];
        sites.insert(textOf(thread.site));
        restart(*thread.fiber, &lifeOfFiber);
        idleFibers().push_back(thread.fiber);
    }
    std::string text = std::to_string(block.alive) + " threads of a block wait for others that "
                                                     "never come, at";
    for (const std::string& site : sites)
        text += " " + site;
    report("deadlock", block.launch->site, text);
}

void beginBlock(const uint3& index)
{
    Block& block = theBlock;
    const dim3& size = block.launch->shape.block;
    const int count = static_cast<int>(size.x * size.y * size.z);
    runningThread.block = index;
    block.alive = count;
    block.arrived = 0;
    block.readyWarps = 0;
    block.warp = -1;
    for (int number = 0; number < block.warpCount; ++number) {
        Warp& warp = block.warps[static_cast<std::size_t>(number)];
        const int lanes = std::min(kWarpSize, count - number * kWarpSize);
        warp.present = ~0u >> (kWarpSize - lanes);
        warp.begun = warp.gone = warp.atBarrier = warp.ready = 0;
        warp.meetings.clear();
        makeReady(number, warp.present);
    }
    watch.moment.block = watch.moment.barrier = tick();
    beginSharedMemory(block.launch->shape.sharedBytes);
}

} // namespace

void beginLaunch(const Launch& launch, int device)
{
    prepareSharedMemory();
    watchDevice(device);
    watch.package = static_cast<const unsigned char*>(launch.package.get());
    watch.packageBytes = launch.packageBytes;
    watch.isCounted = !settings().countersFile.empty();
    runningThread.blockSize = launch.shape.block;
    runningThread.gridSize = launch.shape.grid;
    theBlock.launch = &launch;
    theBlock.seed = settings().seed;
    theBlock.turns = 1 + shuffledBelow(std::size_t{1} << 32);
    const dim3& size = launch.shape.block;
    unsigned i = 0;
    for (unsigned z = 0; z < size.z; ++z) {
        for (unsigned y = 0; y < size.y; ++y) {
            for (unsigned x = 0; x < size.x; ++x, ++i)
                theBlock.threads[i].index = {x, y, z};
        }
    }
    theBlock.warpCount = static_cast<int>((i + kWarpSize - 1) / kWarpSize);
    watch.moment.launch = tick();
}

bool runBlock(const uint3& index)
{
    beginBlock(index);
    theBlock.current = takeReady();
    begins();
    switchFiber(host, fiberForCurrent());
    const bool isDone = theBlock.alive == 0;
    if (!isDone)
        endInDeadlock();
    checkSharedBytes();
    if (watch.isCounted)
        countBlock();
    return isDone;
}

void actAs(int number)
{
    const Thread& thread = theBlock.threads[static_cast<std::size_t>(number)];
    runningThread.thread = thread.index;
    watch.moment.now = theBlock.time << kTimeShift | static_cast<Stamp>(number) << kThreadShift;
    watch.moment.warp = thread.warpMoment;
}

// Not inline: a fiber may be taken up by another thread of the host, where `watching` is elsewhere.
__attribute__((noinline)) void enterKernel()
{
    actAs(theBlock.current);
    watch.stack = currentThread().fiber->stack;
    watching = watchingOfKernels();
}

__attribute__((noinline)) void leaveKernel()
{
    watching = Watching::Nothing;
    settleDoubt();
}

Stamp tick()
{
    return ++theBlock.time << kTimeShift;
}

void makeReady(int warp, unsigned lanes)
{
    theBlock.warps[static_cast<std::size_t>(warp)].ready |= lanes;
    if (lanes != 0)
        theBlock.readyWarps |= 1u << warp;
}

void giveWay()
{
    Thread& mine = currentThread();
    const int me = theBlock.current, next = takeReady();
    if (next == me)
        return;
    if (next < 0) {
        switchFiber(*mine.fiber, host);
        return;
    }
    theBlock.current = next;
    switchFiber(*mine.fiber, begins() ? fiberForCurrent() : *currentThread().fiber);
}

} // namespace vergence::emulation
