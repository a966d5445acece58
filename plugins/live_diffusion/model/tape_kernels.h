#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::live {

// Operations of a program that the engine has no own function for. Images are dense with channels
// last; `type` is F32, F64, F16 or BF16.

/// x [rows] F32 (F64 where `isWide`) → y [rows, columns] of `type`.
struct NumberArguments {
    DType type = DType::F32;
    bool isWide = false;
    Index rows = 0, columns = 0;
    double scale = 1;
    const void* x = nullptr;
    void* y = nullptr;
};
/// Cosines and sines, see OpKind::Sinusoid.
inline const Kernel<void(const NumberArguments&)> sinusoidKernel{"live.sinusoid"};
inline const Kernel<void(const NumberArguments&)> planeKernel{"live.plane"};

/// x [images, height, width, channels] → y [images, toHeight, toWidth, channels].
struct ResizeArguments {
    DType type = DType::F32;
    Index images = 0, channels = 0;
    Index height = 0, width = 0, toHeight = 0, toWidth = 0;
    const void* x = nullptr;
    void* y = nullptr;
};
inline const Kernel<void(const ResizeArguments&)> meanPoolKernel{"live.mean_pool"};
/// x is the gradient of the result, y that of the input, overwritten; extents as going forward.
inline const Kernel<void(const ResizeArguments&)> meanPoolBackwardKernel{"live.mean_pool_backward"};
inline const Kernel<void(const ResizeArguments&)> maxPoolKernel{"live.max_pool"};
inline const Kernel<void(const ResizeArguments&)> bilinearKernel{"live.bilinear"};

/// y = (x − mean) / √(variance + epsilon) · weight + bias; x, y [rows, channels], others
/// [channels].
struct KeptNormArguments {
    DType type = DType::F32;
    Index rows = 0, channels = 0;
    double epsilon = 1e-5;
    const void *x = nullptr, *mean = nullptr, *variance = nullptr, *weight = nullptr,
               *bias = nullptr;
    void* y = nullptr;
};
inline const Kernel<void(const KeptNormArguments&)> keptNormKernel{"live.kept_norm"};

struct UnaryArguments {
    DType type = DType::F32;
    Index count = 0;
    const void* x = nullptr;
    void* y = nullptr;
};
inline const Kernel<void(const UnaryArguments&)> tanhKernel{"live.tanh"};

/// y = √(x + c²) − c.
struct RootArguments {
    DType type = DType::F32;
    Index count = 0;
    double c = 1;
    const void* x = nullptr;
    void* y = nullptr;           ///< backward: the gradient of x, overwritten
    const void* gradY = nullptr; ///< backward
};
inline const Kernel<void(const RootArguments&)> smoothRootKernel{"live.smooth_root"};
inline const Kernel<void(const RootArguments&)> smoothRootBackwardKernel{
    "live.smooth_root_backward"};

/// The temporal blend, see blend.h: x0, previous, y [pixels, channels], logits [pixels].
struct BlendArguments {
    DType type = DType::F32;
    Index pixels = 0, channels = 0;
    double beta = 1;
    const void *x0 = nullptr, *previous = nullptr, *logits = nullptr;
    void* y = nullptr;
    // Backward: gradients of the result, and where those of x0 and the logits go, overwritten.
    const void* gradY = nullptr;
    void *gradX0 = nullptr, *gradLogits = nullptr;
};
inline const Kernel<void(const BlendArguments&)> blendKernel{"live.blend"};
inline const Kernel<void(const BlendArguments&)> blendBackwardKernel{"live.blend_backward"};

} // namespace vergence::live
