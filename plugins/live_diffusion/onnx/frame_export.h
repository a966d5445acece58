#pragma once

#include "plugins/live_diffusion/diffusion/sampler.h"
#include "plugins/live_diffusion/onnx/program_export.h"

namespace vergence::live {

/// A whole frame as one ONNX graph: the noised start, every step of the sampler with its
/// evaluation, the temporal blend. Weights, and what does not depend on x or on the time, are there
/// once. Without guidance; what leaves the network is used in 32 bits.
///
/// Inputs, beside u, h, b, mem and mem_bias of exportProgram(): init [B, 3p², g, g], what the first
/// step starts from below its noise (the input frame as a rule, zeros for noise alone); noise, ε,
/// of the same extents; previous, the output before; beta [1], the strength of the blend, 0 for the
/// first frame; for steps i that want fresh noise (LCM, DDIM with η above 0) noise_i. These are 32
/// bits wide. Output: frame [B, 3p², g, g] in 32 bits, in [−1, 1].
///
/// `unet` is a denoiser; throws ContractError as exportProgram() does.
OnnxModel exportFrame(const Program& unet, const WeightSource& weights, const Sampler& sampler,
                      const OnnxOptions& options = {});

} // namespace vergence::live
