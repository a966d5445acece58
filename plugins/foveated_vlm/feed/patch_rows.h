#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// ImageNet's mean and deviation of R, G, B in [0, 1], as DINOv2 was trained with.
inline constexpr std::array<double, 3> kImageNetMean = {0.485, 0.456, 0.406};
inline constexpr std::array<double, 3> kImageNetDeviation = {0.229, 0.224, 0.225};

/// What each byte of a channel becomes, [3, 256] of `type` (F64, F32, F16 or BF16) on `device`:
/// (u/255 − mean) / deviation. A table, so that every device gives the same bits.
Tensor normalisedBytes(Stream& stream, const std::shared_ptr<Device>& device, DType type);

/// Frames of bytes as rows of normalised patches.
struct PatchRowsArguments {
    const std::uint8_t* pixels = nullptr;  ///< frames u8 [·, 3, height, width]
    const std::int64_t* numbers = nullptr; ///< [frames] which of them
    const void* values = nullptr;          ///< normalisedBytes() of `type`
    void* rows = nullptr;                  ///< [frames, G², columns] of `type`; overwritten
    DType type = DType::F32;
    Index frames = 0, height = 0, width = 0, patch = 0;
    Index columns = 0; ///< at least 3 · patch²; those beyond become 0
};
inline const Kernel<void(const PatchRowsArguments&)> patchRowsKernel{"fvlm.patch_rows"};

/// Rows by number: y[i] = x[numbers[i]].
struct GatherRowsArguments {
    const float* x = nullptr;
    const std::int64_t* numbers = nullptr; ///< [count]
    float* y = nullptr;                    ///< [count, width]; overwritten
    Index count = 0, width = 0;
};
inline const Kernel<void(const GatherRowsArguments&)> gatherRowsKernel{"fvlm.gather_rows"};

} // namespace vergence::fvlm
