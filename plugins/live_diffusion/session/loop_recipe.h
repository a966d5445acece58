#pragma once

#include <memory>
#include <vector>

#include "plugins/live_diffusion/session/networks.h"
#include "plugins/live_diffusion/session/plan_shelf.h"
#include "plugins/live_diffusion/stream/deadline.h"
#include "plugins/live_diffusion/stream/frame_loop.h"

namespace vergence::live {

/// All that the loop of a stream is made of, as a copy: other threads make loops of it while the
/// run's own networks and settings change.
struct LoopRecipe {
    Networks networks;
    Switches switches;
    LoopSettings settings;
    std::shared_ptr<PlanShelf> shelf; ///< where networks come from and go to

    std::unique_ptr<FrameLoop> build() const;
    /// The loop of a rung of ladder().
    std::unique_ptr<FrameLoop> build(const QualityLevel& level) const;
    /// Rungs that the weights allow, best first: fewer and fewer steps. Other sizes and patches
    /// would need other weights. One rung without the deadline keeper.
    std::vector<QualityLevel> ladder() const;
};

/// The settings on a rung of a ladder.
LoopSettings reducedTo(const QualityLevel& level, LoopSettings settings);

} // namespace vergence::live
