#pragma once

#include "core/base/enum_names.h"
#include "plugins/live_diffusion/sources/player.h"
#include "plugins/live_diffusion/stream/deadline.h"

namespace vergence::live {

using vergence::nameOf;

/// How frames wait for the inference thread: the newest replaces the one that waits; two wait and a
/// third replaces the older; or the source waits, so that none is lost.
enum class Waiting { LatestWins, FifoOfTwo, EveryFrame };
constexpr auto namesOf(Waiting)
{
    return std::array{EnumName{Waiting::EveryFrame, "every"},
                      EnumName{Waiting::LatestWins, "latest"},
                      EnumName{Waiting::FifoOfTwo, "fifo"}};
}

struct LiveSettings {
    Waiting waiting = Waiting::LatestWins;
    PlaySettings play; ///< speed, loop, pacing
    DeadlineSettings deadline;
    double stallSeconds = 2;   ///< a source without a frame for so long is said to have stalled
    bool startsPaused = false; ///< so that listeners miss nothing
    int presentSlots = 2;      ///< finished frames that wait for who shows them, 1 … 16
};

} // namespace vergence::live
