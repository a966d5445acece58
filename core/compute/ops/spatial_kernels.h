#pragma once

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/ops/spatial.h"

namespace vergence {

/// Image [N, C, H, W] (or channels last for pixels and resampling by whole factors).
struct ImageArguments {
    DType type = DType::F32;
    Index samples = 0, channels = 0, height = 0, width = 0; ///< of the smaller grid for up-sampling
    bool channelsLast = false;
    int factor = 1; ///< patch side, or factor of the pixel shuffle
    const void* from = nullptr;
    void* to = nullptr;
    Index columns = 0; ///< of one patch, padding included
    bool accumulate = false;
};

inline const Kernel<void(const ImageArguments&)> unfoldKernel{"compute.unfold_patches"};
inline const Kernel<void(const ImageArguments&)> foldKernel{"compute.unfold_patches_backward"};
inline const Kernel<void(const ImageArguments&, const PixelNormalisation&)> unfoldPixelsKernel{
    "compute.unfold_pixels"};
inline const Kernel<void(const ImageArguments&)> upsampleKernel{"compute.upsample_nearest2"};
inline const Kernel<void(const ImageArguments&)> upsampleBackwardKernel{
    "compute.upsample_nearest2_backward"};

} // namespace vergence
