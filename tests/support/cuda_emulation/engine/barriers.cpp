#include <cstring>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/counters.h"
#include "tests/support/cuda_emulation/engine/findings.h"

namespace vergence::emulation {

namespace {

bool isSame(Site a, Site b)
{
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

void openBarrier()
{
    Block& block = theBlock;
    block.voteResult = block.vote == Vote::Count ? block.votes
                       : block.vote == Vote::Or  ? block.votes > 0
                                                 : block.votes == block.arrived;
    watch.moment.barrier = tick();
    block.arrived = 0;
    block.warp = -1;
    for (int number = 0; number < block.warpCount; ++number) {
        Warp& warp = block.warps[static_cast<std::size_t>(number)];
        makeReady(number, warp.atBarrier);
        warp.atBarrier = 0;
    }
    if (watch.isCounted)
        countBarrier();
}

void checkArrival(Site site)
{
    for (const Meeting& meeting : currentWarp().meetings) {
        if (meeting.mask >> laneOfThread() & 1)
            report("barrier", site,
                   "a lane waits at a barrier while its warp waits for it at " +
                       textOf(meeting.site));
    }
    if (theBlock.arrived > 0 && !isSame(theBlock.barrierSite, site))
        report("barrier", site,
               "threads of a block meet at different barriers, others at " +
                   textOf(theBlock.barrierSite));
}

} // namespace

void openBarrierIfAllArrived()
{
    if (theBlock.arrived > 0 && theBlock.arrived == theBlock.alive)
        openBarrier();
}

int barrier(Site site, Vote vote, int value)
{
    leaveKernel();
    checkArrival(site);
    Block& block = theBlock;
    if (block.arrived++ == 0) {
        block.barrierSite = site;
        block.votes = 0;
    }
    block.vote = vote;
    block.votes += value;
    currentThread().site = site;
    currentWarp().atBarrier |= 1u << laneOfThread();
    openBarrierIfAllArrived();
    giveWay();
    enterKernel();
    return block.voteResult;
}

} // namespace vergence::emulation
