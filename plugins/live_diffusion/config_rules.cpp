#include "plugins/live_diffusion/config_rules.h"

#include <fmt/format.h>

#include "core/config/rule_issues.h"
#include "plugins/live_diffusion/diffusion/schedule.h"

namespace vergence::live {

namespace {

using C = LiveDiffusionConfig;
using Issues = std::vector<ConfigIssue>;

constexpr PartKind kNeedStream[] = {PartKind::Stream, PartKind::Drift, PartKind::Train,
                                    PartKind::Distill, PartKind::Onnx};
constexpr PartKind kNeedWeights[] = {PartKind::Train, PartKind::Distill, PartKind::Onnx,
                                     PartKind::Ab, PartKind::Profile};

Issues checkParts(const C& c)
{
    Issues issues;
    const bool isUnet = c.network == NetworkKind::Unet;
    if (isUnet && c.weights == WeightsFrom::Training && c.has(PartKind::Train) &&
        c.parts.front() != PartKind::Train)
        issues.push_back(ruleError("parts", "With weights = trained the other parts use what train "
                                            "has learnt: let train come first."));
    for (const PartKind part : kNeedStream)
        if (c.isReplica() && c.has(part))
            issues.push_back(ruleError(
                "parts", fmt::format("A replica can be measured (ab, profile), not used for {}.",
                                     nameOf(part))));
    for (const PartKind part : kNeedWeights)
        if (c.network == NetworkKind::Oracle && c.has(part))
            issues.push_back(
                ruleError("parts", fmt::format("The oracle has no weights for {}.", nameOf(part))));
    if (isUnet && c.weights == WeightsFrom::Bench &&
        (c.has(PartKind::Drift) || c.has(PartKind::Distill)))
        issues.push_back(ruleError("parts", "Random weights say nothing about drift, and nothing "
                                            "can be distilled from them; choose trained weights."));
    return issues;
}

Issues checkNetwork(const C& c)
{
    Issues issues;
    if (c.isReplica())
        return issues;
    const Index grid = layoutOf(c.modelSize).nativeGrid * (c.highQuality ? 2 : 1);
    if (c.frameSize < grid || c.frameSize % grid != 0) {
        issues.push_back(ruleError(
            "frame_size", fmt::format("A frame of {} px is no multiple of the {} cells of {}.",
                                      c.frameSize, grid, nameOf(c.modelSize))));
        return issues;
    }
    if (const std::string problem = problemOf(unetSettings(c)); !problem.empty())
        issues.push_back(ruleError("model_size", problem + "."));
    return issues;
}

Issues checkWeights(const C& c)
{
    Issues issues;
    if (c.network != NetworkKind::Unet)
        return issues;
    if (c.weights == WeightsFrom::File && c.weightsFile.empty())
        issues.push_back(ruleError("weights_file", "Name a safetensors file that this lab wrote."));
    const bool isShipped = c.modelSize == Size::Pico && c.frameSize == 64 && !c.highQuality &&
                           !c.attentionLevel0 && !c.windowAttention && !c.misaligned;
    if (c.weights == WeightsFrom::Shipped && !isShipped)
        issues.push_back(ruleError("weights", "Weights come with the program for pico at 64 px "
                                              "alone; choose bench for measuring, or a file."));
    if (c.weights == WeightsFrom::Training && !c.has(PartKind::Train))
        issues.push_back(ruleError("weights", "Nothing is trained in this run: add train to "
                                              "parts."));
    if (c.weights == WeightsFrom::Shipped &&
        (c.loop.prediction != Prediction::V || c.loop.curve != BetaCurve::Cosine ||
         c.loop.zeroTerminalSnr))
        issues.push_back(ruleError("prediction", "The shipped weights were trained to predict v "
                                                 "under the cosine schedule."));
    if (c.weights == WeightsFrom::Bench && c.has(PartKind::Stream))
        issues.push_back(ruleWarning("weights", "The weights are random: the speed is real, the "
                                                "picture is noise."));
    if (c.loop.sampler == SamplerKind::Consistency && c.weights == WeightsFrom::Shipped)
        issues.push_back(ruleWarning("sampler", "These weights were not distilled: lcm steps will "
                                                "look rough."));
    return issues;
}

Issues checkCourse(const C& c)
{
    Issues issues;
    if (c.has(PartKind::Drift) && c.source != FilmKind::Orbits && c.source != FilmKind::Cuts)
        issues.push_back(ruleWarning("source", "Drift is measured on orbits, where the truth is "
                                               "known."));
    if (c.onnxOpset > 17 && c.onnxOpset < 21)
        issues.push_back(ruleError("onnx_opset", "Files are written in opset 17 or 21."));
    if (c.has(PartKind::Train) && c.warmup >= c.trainUpdates)
        issues.push_back(ruleError("warmup", fmt::format("A warm-up of {:g} updates leaves nothing "
                                                         "of {}; shorten it.",
                                                         c.warmup, c.trainUpdates)));
    return issues;
}

Issues checkSampling(const C& c)
{
    Issues issues;
    const int times = timesUpTo(c.loop.strength), steps = stepsOf(c.loop);
    if (steps > times)
        issues.push_back(ruleError(
            "steps", fmt::format("{} steps do not fit into a strength of {:g}, which has {} of {} "
                                 "times; take fewer steps or more strength.",
                                 steps, c.loop.strength, times, kTrainTimes)));
    const bool isPureNoise = c.loop.zeroTerminalSnr && times == kTrainTimes;
    if (c.loop.prediction == Prediction::Epsilon && isPureNoise)
        issues.push_back(ruleError(
            "prediction", "At full strength with zero terminal SNR there is no signal, so that "
                          "noise says nothing of the picture; predict v or lower the strength."));
    if (c.loop.mode == StreamMode::Dream && c.loop.start == StartFrom::Input)
        issues.push_back(ruleWarning("start", "A dream has no input after its first frame and "
                                              "starts from the previous output."));
    if (c.loop.isStreamBatch && c.loop.sampler == SamplerKind::Turbo)
        issues.push_back(ruleWarning("stream_batch", "One step is one row: nothing is batched."));
    return issues;
}

} // namespace

void addRules(SchemaBuilder<LiveDiffusionConfig>& builder)
{
    builder.rule("parts", checkParts);
    builder.rule("network", checkNetwork);
    builder.rule("weights", checkWeights);
    builder.rule("source", checkCourse);
    builder.rule("sampling", checkSampling);
}

} // namespace vergence::live
