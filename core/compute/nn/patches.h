#pragma once

#include "core/compute/nn/layers.h"

namespace vergence {

/// A convolution whose kernel is its stride, as a product with unfolded patches: weight
/// [width, 3, patch, patch].
LinearLayer declarePatches(const Declaration& where, int patch, Index width, bool bias);

/// pixels [B, 3, H, W], normalised, any real type → [B, patches, width] in the type that the
/// parameters compute in.
Value embedPatches(const ForwardPass& pass, const LinearLayer& projection, Value pixels, int patch);

} // namespace vergence
