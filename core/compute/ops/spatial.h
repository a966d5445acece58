#pragma once

#include <vector>

#include "core/compute/tensor.h"

namespace vergence {

// Conventions: core/compute/ops/pointwise.h.

/// Cuts images into patches without overlap: image [N, C, H, W] → [N, ⌊H/p⌋·⌊W/p⌋, C·p·p], elements
/// in the order channel, row, column; rows and columns beyond the last whole patch are ignored.
/// `columns` ≥ C·p·p pads each patch with zeros for aligned products.
void unfoldPatches(Stream& stream, const Tensor& image, int patch, const Tensor& patches);
/// gradImage (overwritten; 0 in ignored rows and columns).
void unfoldPatchesBackward(Stream& stream, const Tensor& gradPatches, int patch,
                           const Tensor& gradImage);
/// The same from U8 pixels, [N, 3, H, W] or [N, H, W, 3] (channelsLast), normalised on the way:
/// (u/255 − mean[c]) / deviation[c].
struct PixelNormalisation {
    float mean[3] = {0, 0, 0};
    float deviation[3] = {1, 1, 1};
    bool channelsLast = false;
};
void unfoldPixels(Stream& stream, const Tensor& pixels, int patch, const PixelNormalisation& how,
                  const Tensor& patches);

/// Rows of the separable map that resamples `from` samples to `to`: [to, from], row-major.
/// Cubic kernel with a = −0.75, half-pixel centres, border clamped. `offset` > 0 scales by
/// (to + offset) / from instead of to / from. `antialias` stretches the kernel when shrinking,
/// takes a = −0.5 and leaves out taps beyond the border, as image libraries and the published
/// encoders do.
std::vector<double> cubicResampling(Index from, Index to, double offset = 0,
                                    bool antialias = false);

/// Nearest ×2, x [N, H, W, C] or [N, C, H, W] → twice H and W. The derivative sums each 2×2.
void upsampleNearest2(Stream& stream, const Tensor& x, bool channelsLast, const Tensor& y);
void upsampleNearest2Backward(Stream& stream, const Tensor& gradY, bool channelsLast,
                              const Tensor& gradX, bool accumulate);

/// out[n, c·p² + dy·p + dx, Y, X] = in[n, c, Y·p + dy, X·p + dx], or the same with channels last.
/// The inverse is its derivative and the other way round.
void pixelUnshuffle(Stream& stream, const Tensor& x, int factor, bool channelsLast,
                    const Tensor& y);
void pixelShuffle(Stream& stream, const Tensor& x, int factor, bool channelsLast, const Tensor& y);

} // namespace vergence
