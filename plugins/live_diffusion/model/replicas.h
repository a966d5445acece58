#pragma once

#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

// Two networks that published frame rates were measured on, for measuring the same again. They
// denoise nothing.

/// Frame `x` [3, 64, 64] and `t` [1, 1, 1] → `y` [3, 64, 64]: convolutions, one attention of 12
/// heads, two transposed convolutions with skips. `channels` = 96 is the published one; a multiple
/// of 3.
Program buildReplicaA(Index channels = 96, Index grid = 64);

/// Frame `x`, previous frame `previous` [3, 64, 64] and `t` → `y` [3, 64, 64]: two U-Nets in
/// series and a stage at full resolution with attention over all pixels. `channels` = 192 is the
/// published one; a multiple of 32; grid a multiple of 16.
Program buildReplicaB(Index channels = 192, Index grid = 64);

} // namespace vergence::live
