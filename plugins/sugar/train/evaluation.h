#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plugins/sugar/compute/learning/photometric.h"
#include "plugins/sugar/compute/rasteriser.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

/// Measures of one held-out picture.
struct PictureResult {
    std::size_t picture = 0;
    std::string name;
    PictureQuality quality;  ///< of the pixels that count
    PictureQuality full;     ///< of all pixels; the same without a mask
    double milliseconds = 0; ///< of rendering
};

/// Measures of all held-out pictures after a step; means are over pictures.
struct EvaluationResult {
    std::int64_t step = 0;
    Index gaussians = 0;
    std::vector<PictureResult> pictures;

    double meanPsnr() const; ///< infinite ones count as 99 dB
    double meanPsnr8() const;
    double meanSsim() const;
    double meanL1() const;
};

/// Renders and measures at full size. One picture at a time, so that a run can stop in between.
class Evaluator {
public:
    Evaluator(std::shared_ptr<Device> device, std::shared_ptr<TrainingPictures> pictures)
        : m_rasteriser(std::move(device)),
          m_pictures(std::move(pictures))
    {
    }

    /// Nothing where the picture is left out, or where none of its pixels counts.
    std::optional<PictureResult> measure(Stream& stream, const Gaussians& gaussians,
                                         const RasterSettings& settings, std::size_t picture);
    /// The picture of the last measure(): [3, H, W].
    const Tensor& rendered() const { return m_rendered; }

private:
    Rasteriser m_rasteriser;
    std::shared_ptr<TrainingPictures> m_pictures;
    Tensor m_rendered;
};

nlohmann::json toJson(const EvaluationResult& result);
EvaluationResult evaluationFromJson(const nlohmann::json& json);
/// picture,psnr,psnr8,ssim,l1,ms with the worst picture first.
std::string evaluationCsv(const EvaluationResult& result);

} // namespace vergence::sugar
