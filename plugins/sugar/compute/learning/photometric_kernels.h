#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/sugar/compute/learning/ssim_math.h"

namespace vergence::sugar {

/// Rows that the gradient of a row depends on, to each side.
inline constexpr Index kPhotometricHalo = 2 * kSsimReach;

/// Sums over the samples of a picture (three a pixel), each weighted by the mask.
struct PhotometricSums {
    double l1 = 0, ssim = 0;
    double square = 0;  ///< squared errors; measures only
    double square8 = 0; ///< of the picture rounded to 8 bits; measures only
};

/// Rows [begin, end) of an image of `height` rows. x holds its rows [top, top + rows), which must
/// include the halo of them that lies in the image.
struct PhotometricArguments {
    Index height = 0, width = 0;
    Index top = 0, rows = 0;
    Index begin = 0, end = 0;
    const float* x = nullptr;            ///< [3, rows, W]
    const std::uint8_t* photo = nullptr; ///< [H, W, 3]
    const std::uint8_t* mask = nullptr;  ///< [H, W] weights, or null for 1
    float* gradX = nullptr;              ///< [3, rows, W], rows [begin, end) are written
    float l1Factor = 0, ssimFactor = 0;  ///< ∂L/∂ of the two sums
    void* scratch = nullptr;             ///< photometricScratch() bytes on the device
    PhotometricSums* sums = nullptr;     ///< on the host; overwritten
};

/// Where x holds a pixel of the image; −1 where it does not: outside of the image, or in a row that
/// no row of the band depends on.
VERGENCE_HD Index placeInX(const PhotometricArguments& p, Index channel, Index row, Index column)
{
    const bool isHeld = row >= p.top && row < p.top + p.rows && column >= 0 && column < p.width;
    return isHeld ? (channel * p.rows + row - p.top) * p.width + column : -1;
}

/// Sums and gradient of a band. Waits for the stream.
inline const Kernel<void(const PhotometricArguments&)> photometricGradient{
    "sugar.photometric_gradient"};
/// All four sums, of x clamped to [0, 1].
inline const Kernel<void(const PhotometricArguments&)> photometricMeasures{
    "sugar.photometric_measures"};
/// Bytes of scratch memory for a band. Runs nothing.
inline const Kernel<void(const PhotometricArguments&, std::size_t*)> photometricScratch{
    "sugar.photometric_scratch"};

/// Sum of a mask's weights, brought to the host. Waits for the stream.
inline const Kernel<void(const std::uint8_t*, Index, double*)> maskTotal{"sugar.mask_total"};

} // namespace vergence::sugar
