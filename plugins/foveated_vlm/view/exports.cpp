#include "plugins/foveated_vlm/view/exports.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/gif.h"
#include "core/artifact/json_text.h"
#include "core/artifact/npy.h"
#include "core/artifact/output_file.h"
#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/drawing_files.h"
#include "core/base/error.h"
#include "core/compute/half.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

void exportAttention(ArtifactStore& artifacts, const std::string& name, const std::string& title,
                     const std::vector<GazeExport>& clips, GazeWeights GazeExport::*weights)
{
    std::vector<GazeWeights> all;
    for (const GazeExport& clip : clips)
        all.push_back(clip.*weights);
    writeAttentionNpy(artifacts.pathFor(name), all);
    artifacts.add(name, "attention", title);
}

nlohmann::json seriesJson(const std::string& name, const Series& series)
{
    const auto decl = std::ranges::find(metricDecls(), name, &MetricDecl::name);
    const bool isKnown = decl != metricDecls().end();
    nlohmann::json values = nlohmann::json::array();
    for (const double value : series.values())
        values.push_back(std::isfinite(value) ? nlohmann::json(value) : nlohmann::json());
    static const char* const kBetter[] = {"lower", "higher", "neither"};
    return {{"name", name},
            {"title", isKnown ? decl->title : name},
            {"unit", isKnown ? decl->unit : ""},
            {"better", isKnown ? kBetter[static_cast<int>(decl->better)] : "neither"},
            {"steps", series.steps()},
            {"values", std::move(values)}};
}

} // namespace

void writeAttentionNpy(const std::filesystem::path& path, const std::vector<GazeWeights>& clips)
{
    expects(!clips.empty(), "attention: at least one clip");
    Index frames = 0;
    for (const GazeWeights& clip : clips) {
        expects(clip.blocks == clips.front().blocks && clip.heads == clips.front().heads &&
                    clip.tokens == clips.front().tokens &&
                    clip.values.size() == static_cast<std::size_t>(clip.frames * clip.blocks *
                                                                   clip.heads * clip.tokens),
                "attention: clips of the same blocks, heads and tokens");
        frames = std::max(frames, clip.frames);
    }
    const GazeWeights& first = clips.front();
    OutputFile file(path);
    file.write(npyHeader(
        {static_cast<std::int64_t>(clips.size()), frames, first.blocks, first.heads, first.tokens},
        "<f2"));
    for (const GazeWeights& clip : clips) {
        std::vector<Float16> half(
            static_cast<std::size_t>(frames * first.blocks * first.heads * first.tokens),
            Float16(0.0F));
        std::ranges::transform(clip.values, half.begin(),
                               [](float value) { return Float16(value); });
        file.write({reinterpret_cast<const char*>(half.data()), half.size() * sizeof(Float16)});
    }
    file.commit();
}

void exportGaze(ArtifactStore& artifacts, const std::vector<GazeExport>& clips,
                const GazeLook& look)
{
    constexpr int kDelay = 17; // hundredths of a second: 6 pictures a second
    if (clips.empty())
        return;
    std::vector<GazeScene> scenes;
    nlohmann::json ids = nlohmann::json::array();
    for (const GazeExport& clip : clips) {
        scenes.push_back(clip.scene);
        ids.push_back(clip.id);
        artifacts.writePng(fmt::format("gaze_{}.png", clip.id),
                           withoutAlpha(gazePicture(clip.scene, look)), "gaze",
                           "Gaze, " + clip.scene.title);
    }
    GifOptions options;
    options.delayCentiseconds = kDelay;
    options.dithers = true; // maps are smooth, palettes are small
    options.lastDelayCentiseconds = 6 * kDelay;
    writeGif(artifacts.pathFor("gaze.gif"), gazeFrames(scenes, look), options);
    artifacts.add("gaze.gif", "gaze", "Gaze over time");
    exportAttention(artifacts, "attention_coarse.npy", "Weights of coarse looks", clips,
                    &GazeExport::coarse);
    exportAttention(artifacts, "attention_fine.npy", "Weights of fine looks", clips,
                    &GazeExport::fine);
    const GazeScene& scene = scenes.front();
    const Index patches = scene.fine.rows * scene.fine.columns;
    artifacts.writeText("attention.json",
                        prettyJson({{"axes", {"clip", "frame", "block", "head", "token"}},
                                    {"clips", ids},
                                    {"leading_tokens", clips.front().fine.tokens - patches},
                                    {"grid", {scene.fine.rows, scene.fine.columns}},
                                    {"patch_px", scene.patch},
                                    {"type", "float16"}}),
                        "attention", "What the axes of the weights are");
}

void exportCharts(ArtifactStore& artifacts, const MetricStore& store, const ChartLook& look)
{
    plot::writeDrawing(artifacts, "loss", lossChart(store, look), "chart",
                       "Losses and their ratio");
    plot::writeDrawing(artifacts, "charts", chartPage(store, look), "chart", "All charts");
    if (store.find("loss_frame_1"))
        plot::writeDrawing(artifacts, "frame_losses", frameLossChart(store, look), "chart",
                           "Loss per frame");
}

void exportVerdict(ArtifactStore& artifacts, const Verdict& verdict, const EvaluationRecord& record)
{
    plot::writeDrawing(artifacts, "verdict", verdictCard(verdict), "verdict", "Does looking help?");
    artifacts.writeText("verdict.json", prettyJson(verdictJson(verdict)), "verdict",
                        "Does looking help?");
    artifacts.writeText(kEvaluationFile, prettyJson(evaluationJson(record)), "evaluation",
                        "Losses of the held-out clips");
}

void exportTokens(ArtifactStore& artifacts, const TokenCurve& curve)
{
    const nlohmann::json table = tokenTable(curve);
    const auto title = table["title"].get<std::string>();
    plot::writeDrawing(artifacts, "tokens", tokenChart(curve), "tokens", title);
    artifacts.writeText("tokens.json", prettyJson(table), "tokens", title);
}

void exportCaptions(ArtifactStore& artifacts, const CaptionHistory& history)
{
    artifacts.writeText("captions.json", prettyJson(history.toJson()), "captions", "Texts");
    if (!history.isEmpty())
        artifacts.writePng("captions.png", plot::toImage(captionDiagram(history.pages().back())),
                           "captions", "Texts at the end");
}

void exportMetrics(ArtifactStore& artifacts, const MetricStore& store, const nlohmann::json& facts)
{
    nlohmann::json all = nlohmann::json::array();
    for (const std::string& name : store.names())
        all.push_back(seriesJson(name, *store.find(name)));
    artifacts.writeText(
        "metrics.json",
        nlohmann::json({{"format", "vergence-metrics/1"}, {"run", facts}, {"series", all}}).dump(),
        "metrics", "All series");
}

} // namespace vergence::fvlm
