#include "plugins/sugar/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"

namespace vergence::sugar {

namespace {

constexpr double kBestPsnr = 99; ///< dB, for equal pictures in means and charts

double finitePsnr(double psnr)
{
    return std::isfinite(psnr) ? std::min(psnr, kBestPsnr) : kBestPsnr;
}

template <class Part>
double meanOf(const EvaluationResult& result, Part part)
{
    double sum = 0;
    for (const PictureResult& picture : result.pictures)
        sum += part(picture.quality);
    return result.pictures.empty() ? 0 : sum / static_cast<double>(result.pictures.size());
}

} // namespace

double EvaluationResult::meanPsnr() const
{
    return meanOf(*this, [](const PictureQuality& q) { return finitePsnr(q.psnr); });
}

double EvaluationResult::meanPsnr8() const
{
    return meanOf(*this, [](const PictureQuality& q) { return finitePsnr(q.psnr8); });
}

double EvaluationResult::meanSsim() const
{
    return meanOf(*this, [](const PictureQuality& q) { return q.ssim; });
}

double EvaluationResult::meanL1() const
{
    return meanOf(*this, [](const PictureQuality& q) { return q.l1; });
}

std::optional<PictureResult> Evaluator::measure(Stream& stream, const Gaussians& gaussians,
                                                const RasterSettings& settings, std::size_t picture)
{
    const std::optional<TrainingPicture> wanted = m_pictures->get(stream, picture, 0);
    if (!wanted)
        return std::nullopt;
    const double start = steadySeconds();
    m_rendered = m_rasteriser.render(stream, gaussians, wanted->camera, settings).colour;
    stream.synchronize();
    PictureResult result;
    result.picture = picture;
    result.name = m_pictures->source().name(picture);
    result.milliseconds = (steadySeconds() - start) * 1e3;
    result.quality = pictureQuality(stream, m_rendered, wanted->photo, wanted->mask);
    if (std::isnan(result.quality.mse))
        return std::nullopt;
    result.full = wanted->mask.isEmpty()
                      ? result.quality
                      : pictureQuality(stream, m_rendered, wanted->photo, Tensor());
    return result;
}

nlohmann::json toJson(const EvaluationResult& result)
{
    nlohmann::json pictures = nlohmann::json::array();
    for (const PictureResult& p : result.pictures)
        pictures.push_back({{"picture", p.picture},
                            {"name", p.name},
                            {"psnr", finitePsnr(p.quality.psnr)},
                            {"psnr8", finitePsnr(p.quality.psnr8)},
                            {"ssim", p.quality.ssim},
                            {"l1", p.quality.l1},
                            {"psnr_full", finitePsnr(p.full.psnr)},
                            {"ssim_full", p.full.ssim},
                            {"l1_full", p.full.l1},
                            {"ms", p.milliseconds}});
    return {{"step", result.step},       {"gaussians", result.gaussians},
            {"psnr", result.meanPsnr()}, {"psnr8", result.meanPsnr8()},
            {"ssim", result.meanSsim()}, {"l1", result.meanL1()},
            {"pictures", pictures}};
}

EvaluationResult evaluationFromJson(const nlohmann::json& json)
{
    EvaluationResult result;
    result.step = json.at("step").get<std::int64_t>();
    result.gaussians = json.at("gaussians").get<Index>();
    for (const nlohmann::json& p : json.at("pictures")) {
        PictureResult picture;
        picture.picture = p.at("picture").get<std::size_t>();
        picture.name = p.at("name").get<std::string>();
        picture.quality.psnr = p.at("psnr").get<double>();
        picture.quality.psnr8 = p.at("psnr8").get<double>();
        picture.quality.ssim = p.at("ssim").get<double>();
        picture.quality.l1 = p.at("l1").get<double>();
        picture.full = picture.quality;
        picture.full.psnr = p.value("psnr_full", picture.quality.psnr);
        picture.full.ssim = p.value("ssim_full", picture.quality.ssim);
        picture.full.l1 = p.value("l1_full", picture.quality.l1);
        picture.milliseconds = p.at("ms").get<double>();
        result.pictures.push_back(picture);
    }
    return result;
}

std::string evaluationCsv(const EvaluationResult& result)
{
    std::vector<const PictureResult*> order;
    for (const PictureResult& picture : result.pictures)
        order.push_back(&picture);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->quality.psnr < b->quality.psnr;
    });
    std::string text = "picture,psnr_db,psnr_8bit_db,ssim,l1,psnr_full_db,ssim_full,render_ms\n";
    for (const PictureResult* p : order)
        text +=
            fmt::format("{},{:.4f},{:.4f},{:.6f},{:.6f},{:.4f},{:.6f},{:.3f}\n", p->name,
                        finitePsnr(p->quality.psnr), finitePsnr(p->quality.psnr8), p->quality.ssim,
                        p->quality.l1, finitePsnr(p->full.psnr), p->full.ssim, p->milliseconds);
    return text;
}

} // namespace vergence::sugar
