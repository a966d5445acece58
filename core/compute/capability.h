#pragma once

#include "core/compute/device.h"
#include "core/compute/dtype.h"

namespace vergence {

/// Compute capability as a number, "9.0" → 9; 0 where there is none, as on a CPU.
double capabilityOf(const DeviceInfo& device);

/// Compute capability from which on cards of this build multiply numbers of `type` by units of
/// their own: 7.5 for F16, 8.0 for BF16 (and for F32 rounded to TF32, which has no type); 0 for
/// others, which every card multiplies.
double leastCapability(DType type);

/// Whether products of `type` are worth choosing on a device: every one on a CPU, which may be slow
/// at it but is right, and those that the capability of a card suffices for.
bool multiplies(const DeviceInfo& device, DType type);

} // namespace vergence
