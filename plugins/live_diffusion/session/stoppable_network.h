#pragma once

#include <functional>
#include <memory>

#include "plugins/live_diffusion/bench/driven_network.h"

namespace vergence::live {

/// Thrown by a stoppable network; no Error, so that nobody takes it for a failure.
struct Stopped {};

/// The network with a question before each evaluation and replay: throws Stopped once `isStopped`
/// says so. For measurements that would otherwise go on for seconds.
std::shared_ptr<FrameNetwork> stoppable(std::shared_ptr<FrameNetwork> network,
                                        std::function<bool()> isStopped);
/// The same for whatever the subject builds.
BenchSubject stoppable(BenchSubject subject, std::function<bool()> isStopped);

} // namespace vergence::live
