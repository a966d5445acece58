#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/artifact/artifact_store.h"
#include "core/metrics/metric_store.h"
#include "plugins/foveated_vlm/view/captions_view.h"
#include "plugins/foveated_vlm/view/gaze_picture.h"
#include "plugins/foveated_vlm/view/token_curve.h"
#include "plugins/foveated_vlm/view/training_charts.h"
#include "plugins/foveated_vlm/view/verdict.h"

namespace vergence::fvlm {

/// One exported clip: what is drawn, and the weights behind it.
struct GazeExport {
    GazeScene scene;
    std::uint64_t id = 0;
    GazeWeights coarse, fine;
};

/// "gaze.gif" (6 pictures a second, four rows, a column per clip, its own palette), "gaze_<id>.png"
/// per clip, "attention_coarse.npy" and "attention_fine.npy" of [clips, T, blocks, heads, N] in
/// half precision (frames that a clip does not have are 0), "attention.json" with what the axes
/// mean. Throws ContractError for clips of different blocks, heads or tokens, OutputError.
void exportGaze(ArtifactStore& artifacts, const std::vector<GazeExport>& clips,
                const GazeLook& look = {});

/// "loss.png", "loss.svg", "charts.png", "charts.svg"; "frame_losses.png" where there are any.
void exportCharts(ArtifactStore& artifacts, const MetricStore& store, const ChartLook& look = {});

/// "verdict.png", "verdict.svg", "verdict.json" and the record with its scores under
/// kEvaluationFile.
void exportVerdict(ArtifactStore& artifacts, const Verdict& verdict,
                   const EvaluationRecord& record);

/// "tokens.png", "tokens.svg", and the table as "tokens.json".
void exportTokens(ArtifactStore& artifacts, const TokenCurve& curve);

/// "captions.json" and a picture of the last page, "captions.png".
void exportCaptions(ArtifactStore& artifacts, const CaptionHistory& history);

/// "metrics.json": {"format", "run": facts, "series": [{"name", "title", "unit", "better", "steps",
/// "values"}]}; values that are not finite are null.
void exportMetrics(ArtifactStore& artifacts, const MetricStore& store, const nlohmann::json& facts);

/// Half-precision array of [clips, T, blocks, heads, N] as numpy reads it. Throws OutputError.
void writeAttentionNpy(const std::filesystem::path& path, const std::vector<GazeWeights>& clips);

} // namespace vergence::fvlm
