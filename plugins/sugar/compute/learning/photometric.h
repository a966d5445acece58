#pragma once

#include "core/compute/tensor.h"

namespace vergence::sugar {

/// Parts of the training loss. Of a whole picture they are means over all its samples; those of
/// bands add up to those of the picture.
struct PhotometricValue {
    double l1 = 0;   ///< mean |x − y|
    double ssim = 0; ///< mean structural similarity, 11×11 Gaussian window of σ 1.5, zero padding
    double loss = 0; ///< (1 − λ)·l1 + λ·(1 − ssim)
};

/// Rows of an image that are rendered and differentiated by themselves.
struct ImageBand {
    Index height = 0;         ///< rows of the whole image
    Index top = 0;            ///< row of the image that is the first one rendered
    Index begin = 0, end = 0; ///< rows [begin, end) that count; the others are their halo
    static ImageBand whole(Index height) { return {height, 0, 0, height}; }
};

/// Rows beyond a band, to each side as far as the image goes, that its gradient depends on.
inline constexpr Index kBandHalo = 10;

/// Band number `index` of those of `rows` rows each, with its halo.
ImageBand imageBand(Index height, Index rows, Index index);

/// L = (1 − λ)·mean|x − y| + λ·(1 − SSIM(x, y)) of a rendered picture against a photograph, and its
/// gradient. Keeps its buffers. Source: Image quality assessment: from error visibility to
/// structural similarity (2004), equation 13; weights of 3D Gaussian Splatting (2023).
class PhotometricLoss {
public:
    explicit PhotometricLoss(double dssimWeight = 0.2);

    /// x: [3, H, W] F32; photo: [H, W, 3] U8, sRGB values as they are; mask: [H, W] U8, weights of
    /// the pixels (their scale does not matter; 0 leaves a pixel out), or empty. gradX ([3, H, W])
    /// is overwritten. All is 0 where the mask is 0 everywhere. Waits for the stream.
    PhotometricValue evaluate(Stream& stream, const Tensor& x, const Tensor& photo,
                              const Tensor& mask, Tensor& gradX);

    /// The share of a band in the loss of the whole image, and its rows of the whole image's
    /// gradient: bit for bit on the CPU. x and gradX: [3, h, W], rows [top, top + h) of the image,
    /// which must include kBandHalo rows around the band where the image has them; photo and mask
    /// are those of the whole image. Rows of gradX outside of the band become 0.
    PhotometricValue evaluateBand(Stream& stream, const Tensor& x, const Tensor& photo,
                                  const Tensor& mask, const ImageBand& band, Tensor& gradX);

    std::size_t allocatedBytes() const { return m_scratch.bytes(); }

private:
    double m_dssimWeight;
    Tensor m_scratch; ///< [bytes] U8, grows
};

/// Measures of a picture against a photograph: values clamped to [0, 1], squares summed in double.
struct PictureQuality {
    double psnr = 0;  ///< dB; infinite for equal pictures
    double psnr8 = 0; ///< dB of the picture rounded to 8 bits, as files are
    double ssim = 0, l1 = 0, mse = 0;
};
/// Shapes as for PhotometricLoss; not a number where the mask is 0 everywhere. Waits for the
/// stream.
PictureQuality pictureQuality(Stream& stream, const Tensor& x, const Tensor& photo,
                              const Tensor& mask);

} // namespace vergence::sugar
