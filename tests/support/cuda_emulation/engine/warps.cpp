#include <algorithm>
#include <cstring>

#include "tests/support/cuda_emulation/engine/block.h"
#include "tests/support/cuda_emulation/engine/counters.h"
#include "tests/support/cuda_emulation/engine/findings.h"

namespace vergence::emulation {

namespace {

/// Lanes may wait for one another in different lines; an exchange is one instruction for all.
bool isSame(const Meeting& meeting, WarpOperation operation, Site site)
{
    if (meeting.operation != operation)
        return false;
    return !operation ||
           (meeting.site.line == site.line &&
            (meeting.site.file == site.file || std::strcmp(meeting.site.file, site.file) == 0));
}

/// All have come: does what they came for and lets them go on.
void close(int number, const Meeting& meeting)
{
    if (meeting.came != meeting.mask)
        report("warp", meeting.site, "names lanes that have ended or never were");
    if (meeting.operation) {
        auto arguments = meeting.arguments;
        meeting.operation(arguments.data(), meeting.came, meeting.site);
    }
    if (meeting.ordersMemory) {
        const Stamp moment = tick();
        for (int lane = 0; lane < kWarpSize; ++lane) {
            if (meeting.came >> lane & 1)
                theBlock.threads[static_cast<std::size_t>(number * kWarpSize + lane)].warpMoment =
                    moment;
        }
    }
    if (watch.isCounted)
        countMeeting(number);
    makeReady(number, meeting.came);
}

/// The meeting that the running thread joins, perhaps a new one.
Meeting& meetingFor(Warp& warp, unsigned mask, Site site, WarpOperation operation)
{
    for (Meeting& meeting : warp.meetings) {
        if (meeting.mask != mask || (meeting.came >> laneOfThread() & 1))
            continue;
        if (isSame(meeting, operation, site))
            return meeting;
        report("warp", site,
               "lanes of a warp meet at different operations, others at " + textOf(meeting.site));
    }
    warp.meetings.push_back({mask, 0, site, operation, false, {}});
    return warp.meetings.back();
}

/// Lanes at a barrier do not come before this one does.
void checkBarrier(const Warp& warp, unsigned mask, Site site)
{
    const unsigned waiting = warp.atBarrier & mask;
    if (waiting == 0)
        return;
    report("barrier", theBlock.barrierSite,
           "a lane waits at a barrier while its warp waits for it at " + textOf(site));
}

struct Ballot {
    bool value;
    unsigned result;
};

void countBallot(void** arguments, unsigned came, Site)
{
    unsigned result = 0;
    for (int lane = 0; lane < kWarpSize; ++lane) {
        if ((came >> lane & 1) && static_cast<const Ballot*>(arguments[lane])->value)
            result |= 1u << lane;
    }
    for (int lane = 0; lane < kWarpSize; ++lane) {
        if (came >> lane & 1)
            static_cast<Ballot*>(arguments[lane])->result = result;
    }
}

} // namespace

void closeMeetings(int number)
{
    Warp& warp = theBlock.warps[static_cast<std::size_t>(number)];
    const unsigned here = warp.present & ~warp.gone;
    std::erase_if(warp.meetings, [&](const Meeting& meeting) {
        if ((meeting.mask & here) != meeting.came)
            return false;
        close(number, meeting);
        return true;
    });
}

int laneOfThread()
{
    return theBlock.current % kWarpSize;
}

void meet(unsigned mask, Site site, WarpOperation operation, void* argument, bool ordersMemory)
{
    leaveKernel();
    const int lane = laneOfThread();
    Warp& warp = currentWarp();
    if (mask >> lane & 1) {
        checkBarrier(warp, mask, site);
        Meeting& mine = meetingFor(warp, mask, site, operation);
        mine.came |= 1u << lane;
        mine.arguments[static_cast<std::size_t>(lane)] = argument;
        mine.ordersMemory = ordersMemory;
        currentThread().site = site;
        closeMeetings(theBlock.current / kWarpSize);
        giveWay();
    } else {
        report("warp", site, "a lane outside of the mask takes part");
    }
    enterKernel();
}

void syncWarp(Site site, unsigned mask)
{
    meet(mask, site, nullptr, nullptr, true);
}

unsigned ballot(Site site, unsigned mask, bool value)
{
    Ballot mine{value, 0};
    meet(mask, site, &countBallot, &mine);
    return mine.result;
}

} // namespace vergence::emulation
