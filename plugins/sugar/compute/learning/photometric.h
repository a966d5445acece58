#pragma once

#include "core/compute/tensor.h"

namespace vergence::sugar {

/// Parts of the training loss and of the measures of a picture; means over all samples.
struct PhotometricValue {
    double l1 = 0;   ///< mean |x − y|
    double ssim = 0; ///< mean structural similarity, 11×11 Gaussian window of σ 1.5, zero padding
    double loss = 0; ///< (1 − λ)·l1 + λ·(1 − ssim)
};

/// L = (1 − λ)·mean|x − y| + λ·(1 − SSIM(x, y)) of a rendered picture against a photograph, and its
/// gradient. Keeps its buffers. Source: Image quality assessment: from error visibility to
/// structural similarity (2004), equation 13; weights of 3D Gaussian Splatting (2023).
class PhotometricLoss {
public:
    explicit PhotometricLoss(double dssimWeight = 0.2);

    /// x: [3, H, W] F32; photo: [H, W, 3] U8, sRGB values as they are; mask: [H, W] U8, 0 leaves a
    /// pixel out, or empty. gradX ([3, H, W]) is overwritten. Waits for the stream.
    PhotometricValue evaluate(Stream& stream, const Tensor& x, const Tensor& photo,
                              const Tensor& mask, Tensor& gradX);

private:
    double m_dssimWeight;
    Tensor m_scratch;
};

/// Measures of a picture against a photograph: values clamped to [0, 1], squares summed in double.
struct PictureQuality {
    double psnr = 0;  ///< dB; infinite for equal pictures
    double psnr8 = 0; ///< dB of the picture rounded to 8 bits, as files are
    double ssim = 0, l1 = 0, mse = 0;
};
PictureQuality pictureQuality(Stream& stream, const Tensor& x, const Tensor& photo,
                              const Tensor& mask);

} // namespace vergence::sugar
