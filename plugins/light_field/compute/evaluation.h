#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/linear_operator.h"

namespace vergence::light_field {

/// Peak signal-to-noise ratio in dB for peak 1, the image clamped to [0, 1]; over pixels with mask
/// > 0 (empty: all). Infinite for equal images, NaN where the mask is empty.
double psnr(std::span<const float> image, std::span<const float> target,
            std::span<const float> mask = {});

/// Mean structural similarity of two height × width images, 11×11 Gaussian window of σ 1.5, K1
/// 0.01, K2 0.03, range 1, zero padding at the border; over pixels with mask > 0 (empty: all).
/// Source: Image quality assessment: from error visibility to structural similarity (2004),
/// equation 13.
double ssim(std::span<const float> image, std::span<const float> target, int height, int width,
            std::span<const float> mask = {});

/// (mean over white cells − mean over black cells) of the image over the same of the target, in
/// cell interiors: pixels whose target and whose eight neighbours' targets are all above 0.95 or
/// all below 0.05. NaN where one kind is missing.
double contrastTransfer(std::span<const float> image, std::span<const float> target, int height,
                        int width, std::span<const float> mask);

/// Quality of one channel group (a board, or the three channels of RGB) over all states.
struct Quality {
    double mse = 0;      ///< unclamped, all pixels
    double psnr = 0;     ///< clamped, all pixels
    double psnrRoi = 0;  ///< clamped, region of interest: the headline number
    double ssim = 0;     ///< luminance, region of interest, mean over states
    double contrast = 0; ///< contrast transfer, mean over states
    std::vector<double> statePsnrRoi;
};

/// Compares images [S, W, W, L] with targets for the lanes first … first + channels − 1.
/// `withStructure` = false leaves ssim and contrast at NaN (they cost more).
Quality measureQuality(Stream& stream, const Tensor& images, const Targets& targets, int first,
                       int channels, bool withStructure = true);

/// Shows planes to an operator that took no part in the optimisation.
class Evaluator {
public:
    Evaluator(std::shared_ptr<const LinearOperator> op, Targets targets);

    /// `planes` [K, R, R, L].
    Quality evaluate(Stream& stream, const Tensor& planes, int first, int channels,
                     bool withStructure = true);
    const Tensor& images() const { return m_images; } ///< of the last evaluation
    const Targets& targets() const { return m_targets; }

private:
    std::shared_ptr<const LinearOperator> m_operator;
    Targets m_targets;
    Tensor m_images;
};

} // namespace vergence::light_field
