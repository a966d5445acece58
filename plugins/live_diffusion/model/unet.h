#pragma once

#include "plugins/live_diffusion/model/program.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

/// The denoiser. Throws ContractError with problemOf(settings) where that is not empty.
///
/// Inputs, by name: `x` noisy frame, `u` input frame, `h` history frame [3p², g, g]; `t` timestep
/// 0 … 999 and `b` history bucket 0 … 10 [1, 1, 1]; `memory` tokens [D, 264, 1] and `memory_bias`
/// [1, 264, 1], which may be shared. Outputs: `prediction` [3p², g, g] (ε or v) and `blend` logit
/// [1, g, g].
///
/// Blocks: `input`, `time`, `d<level>.<i>` residual blocks of the encoder, `d<level>.down`, `m.0`,
/// `m.1`, `u<level>.<i>` of the decoder, `u<level>.up`, `head`; a residual block's attention has
/// `.a` after its name, those of the middle are `m.a0`, `m.a1`. Operations of a residual block:
/// concat (in the decoder), skip (where channels change), n1, s1, c1, emb, time, n2, s2, c2, sum;
/// of attention: n1, qkv,
/// self, o1, sum1, n2, q, kv, cross, o2, sum2, n3, ff1, gate, ff2, sum3.
Program buildUnet(const UnetSettings& settings);

/// Frame → tokens of one memory slot. Input: `frame` [3p², g, g]. Outputs: `tokens` [D, 4, 4] and
/// `null` [D, 1, 1], the learned token that is always present. Names of weights start with `mem.`.
Program buildMemoryEncoder(const UnetSettings& settings);

} // namespace vergence::live
