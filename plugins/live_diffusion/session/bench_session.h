#pragma once

#include "plugins/live_diffusion/bench/bench_modes.h"

namespace vergence::live {

/// Measures the network that the request's configuration describes.
BenchAnswer benchSession(const BenchRequest& request);

} // namespace vergence::live
