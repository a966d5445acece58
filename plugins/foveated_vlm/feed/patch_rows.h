#pragma once

#include <array>
#include <cstdint>

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// ImageNet's mean and deviation of R, G, B in [0, 1], as DINOv2 was trained with.
inline constexpr std::array<double, 3> kImageNetMean = {0.485, 0.456, 0.406};
inline constexpr std::array<double, 3> kImageNetDeviation = {0.229, 0.224, 0.225};

/// The 3 · 256 normalised values of bytes on a device, [3, 256] in `type`.
Tensor normalisedValues(Stream& stream, const std::shared_ptr<Device>& device, DType type);

/// Rows of patches from bytes.
struct PatchRowsArguments {
    const std::uint8_t* pixels = nullptr;  ///< memory of frames u8 [3, height, width]
    const std::int64_t* offsets = nullptr; ///< [frames] where each begins, bytes
    const void* values = nullptr;          ///< [3, 256] of `type`
    void* rows = nullptr;                  ///< [frames, G², columns] of `type`; overwritten
    DType type = DType::F32;               ///< F64, F32, F16 or BF16
    Index frames = 0, height = 0, width = 0, patch = 0;
    Index columns = 0; ///< at least 3 · patch²; what is beyond becomes 0
};
inline const Kernel<void(const PatchRowsArguments&)> patchRowsKernel{"fvlm.patch_rows"};

/// Gathers rows of floats: y[i] = x[rows[i]].
struct GatherFloatsArguments {
    const float* x = nullptr;
    const std::int64_t* rows = nullptr; ///< [count]
    float* y = nullptr;                 ///< [count, width]; overwritten
    Index count = 0, width = 0;
};
inline const Kernel<void(const GatherFloatsArguments&)> gatherFloatsKernel{"fvlm.gather_floats"};

} // namespace vergence::fvlm
