#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::light_field {

/// Linear radiance [H, W, L] to RGBA8 [H, W, 4] on the same device, clamped and sRGB-encoded;
/// `channels` = 1 or 3 of the L lanes. Source: IEC 61966-2-1.
inline const Kernel<void(const Tensor&, int, const Tensor&)> packSrgb{"light_field.pack_srgb"};

} // namespace vergence::light_field
