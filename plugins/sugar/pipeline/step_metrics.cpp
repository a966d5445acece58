#include "plugins/sugar/pipeline/step_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vergence::sugar {

namespace {

constexpr int kBins = 40;

/// Counts of values in equal bins from `low` to `high`; what lies outside counts at the ends.
nlohmann::json histogram(const std::string& id, const std::string& title, const std::string& axis,
                         Index count, double low, double high,
                         const std::function<double(std::size_t)>& valueOf)
{
    std::vector<Index> bins(kBins, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const double at = (valueOf(i) - low) / (high - low) * kBins;
        ++bins[static_cast<std::size_t>(std::clamp(at, 0.0, kBins - 1.0))];
    }
    nlohmann::json rows = nlohmann::json::array();
    for (int i = 0; i < kBins; ++i)
        rows.push_back({low + (high - low) * (i + 0.5) / kBins, bins[static_cast<std::size_t>(i)]});
    return {{"id", id}, {"title", title}, {"columns", {axis, "Gaussians"}}, {"rows", rows}};
}

} // namespace

std::vector<MetricDecl> sugarMetrics()
{
    using Better = MetricDecl::Better;
    return {{"train/loss", "Loss", "", Better::Lower, false},
            {"train/l1", "L1", "", Better::Lower, false},
            {"train/dssim", "1 − SSIM", "", Better::Lower, false},
            {"align/loss", "Photometric loss", "", Better::Lower, false},
            {"align/l1", "L1", "", Better::Lower, false},
            {"align/dssim", "1 − SSIM", "", Better::Lower, false},
            {"align/entropy", "Entropy of opacities", "", Better::Lower, false},
            {"align/density", "Density against that of flat Gaussians", "", Better::Lower, false},
            {"align/sdf", "Distance against rendered depth", "", Better::Lower, false},
            {"align/better_normal", "Normals against neighbours", "", Better::Lower, false},
            {"align/depth_normal", "Normals against depth", "", Better::Lower, false},
            {"surface/points", "Surface points", "", Better::Neither, false},
            {"refine/loss", "Loss", "", Better::Lower, false},
            {"refine/l1", "L1", "", Better::Lower, false},
            {"refine/dssim", "1 − SSIM", "", Better::Lower, false},
            {"refine/normal", "Normals of neighbouring triangles", "", Better::Lower, false},
            {"test/psnr", "Held-out PSNR", "dB", Better::Higher, true},
            {"test/ssim", "Held-out SSIM", "", Better::Higher, false},
            {"test/l1", "Held-out L1", "", Better::Lower, false},
            {"gaussians/count", "Gaussians", "", Better::Neither, false},
            {"gaussians/visible", "Visible Gaussians", "", Better::Neither, false},
            {"gaussians/instances", "Gaussian–tile pairs", "", Better::Neither, false},
            {"time/step_ms", "Step", "ms", Better::Lower, false},
            {"time/render_ms", "Render", "ms", Better::Lower, false},
            {"time/loss_ms", "Loss and its gradient", "ms", Better::Lower, false},
            {"time/backward_ms", "Backward and update", "ms", Better::Lower, false},
            {"memory/trainer_mb", "Memory of the trainer", "MB", Better::Lower, false},
            {"speed/steps_per_s", "Speed", "steps/s", Better::Higher, false}};
}

void recordStep(RunContext& context, const StepReport& report, Index count)
{
    context.record("train/loss", report.value.loss);
    context.record("train/l1", report.value.l1);
    context.record("train/dssim", 1 - report.value.ssim);
    context.record("gaussians/count", static_cast<double>(count));
    context.record("gaussians/visible", static_cast<double>(report.counts.visible));
    context.record("gaussians/instances", static_cast<double>(report.counts.instances));
    const RasterSeconds& r = report.raster;
    context.record("time/step_ms", report.seconds * 1e3);
    context.record("time/render_ms", (r.project + r.sort + r.blend) * 1e3);
    context.record("time/loss_ms", report.lossSeconds * 1e3);
    context.record("time/backward_ms", (r.blendBackward + r.gaussianBackward) * 1e3);
    if (report.seconds > 0)
        context.record("speed/steps_per_s", 1 / report.seconds);
}

void recordAlignment(RunContext& context, const AlignmentReport& report, Index count)
{
    context.record("align/loss", report.value.loss);
    context.record("align/l1", report.value.l1);
    context.record("align/dssim", 1 - report.value.ssim);
    // Terms that a step does not evaluate leave gaps.
    const auto term = [&](const char* name, const std::optional<double>& value) {
        if (value)
            context.record(name, *value);
    };
    term("align/entropy", report.entropy);
    term("align/density", report.density);
    term("align/sdf", report.sdf);
    term("align/better_normal", report.betterNormal);
    term("align/depth_normal", report.depthNormal);
    context.record("gaussians/count", static_cast<double>(count));
    context.record("gaussians/visible", static_cast<double>(report.counts.visible));
    context.record("time/step_ms", report.seconds * 1e3);
    if (report.seconds > 0)
        context.record("speed/steps_per_s", 1 / report.seconds);
}

void recordRefinement(RunContext& context, const RefineReport& report)
{
    context.record("refine/loss", report.loss);
    context.record("refine/l1", report.value.l1);
    context.record("refine/dssim", 1 - report.value.ssim);
    context.record("refine/normal", report.normal);
    context.record("gaussians/visible", static_cast<double>(report.counts.visible));
    context.record("time/step_ms", report.seconds * 1e3);
    if (report.seconds > 0)
        context.record("speed/steps_per_s", 1 / report.seconds);
}

void recordTest(RunContext& context, const EvaluationResult& result)
{
    context.recordAt("test/psnr", result.meanPsnr(), result.step);
    context.recordAt("test/ssim", result.meanSsim(), result.step);
    context.recordAt("test/l1", result.meanL1(), result.step);
    std::vector<const PictureResult*> order;
    for (const PictureResult& picture : result.pictures)
        order.push_back(&picture);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->quality.psnr < b->quality.psnr;
    });
    nlohmann::json rows = nlohmann::json::array();
    for (const PictureResult* p : order)
        rows.push_back({p->name, fmt::format("{:.2f}", p->quality.psnr),
                        fmt::format("{:.4f}", p->quality.ssim),
                        fmt::format("{:.1f}", p->milliseconds)});
    context.table(
        {{"id", "held_out"},
         {"title", fmt::format("Held-out pictures after step {}, worst first", result.step)},
         {"columns", {"picture", "PSNR (dB)", "SSIM", "render (ms)"}},
         {"rows", rows}});
}

void reportHistograms(RunContext& context, const Gaussians& gaussians, double extent)
{
    const GaussianCloud cloud = download(context.stream(), gaussians);
    const Index count = cloud.count();
    const auto scales = [&](std::size_t i) {
        std::array<double, 3> sorted{cloud.logScale[3 * i], cloud.logScale[3 * i + 1],
                                     cloud.logScale[3 * i + 2]};
        std::sort(sorted.begin(), sorted.end());
        return sorted;
    };
    const double unit = std::log10(extent), toLog10 = 1 / std::log(10.0);
    context.table(histogram("histogram_opacity", "Opacity", "opacity", count, 0, 1,
                            [&](std::size_t i) { return 1 / (1 + std::exp(-cloud.opacity[i])); }));
    context.table(histogram("histogram_scale", "Largest scale", "log10 of share of the extent",
                            count, -6, 1,
                            [&](std::size_t i) { return scales(i)[2] * toLog10 - unit; }));
    context.table(
        histogram("histogram_anisotropy", "Anisotropy", "log10 largest / smallest scale", count, 0,
                  4, [&](std::size_t i) { return (scales(i)[2] - scales(i)[0]) * toLog10; }));
}

} // namespace vergence::sugar
