#include "plugins/live_diffusion/config_rules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/rule_issues.h"
#include "plugins/live_diffusion/diffusion/schedule.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

namespace {

using C = LiveDiffusionConfig;
using Issues = std::vector<ConfigIssue>;

Issues checkParts(const C& c)
{
    Issues issues;
    std::set<std::string> seen;
    for (const std::string& part : c.parts) {
        if (std::ranges::find(partNames(), part) == partNames().end())
            issues.push_back(ruleError("parts", fmt::format("There is no part {}; parts are {}.",
                                                            part, fmt::join(partNames(), ", "))));
        else if (!seen.insert(part).second)
            issues.push_back(ruleError("parts", fmt::format("{} is listed twice.", part)));
    }
    if (c.network == "unet" && c.weights == "trained" && c.has("train") &&
        c.parts.front() != "train")
        issues.push_back(ruleError("parts", "With weights = trained the other parts use what train "
                                            "has learnt: let train come first."));
    const bool isReplica = c.network.starts_with("replica");
    for (const char* part : {"stream", "drift", "train", "distill", "onnx"})
        if (isReplica && c.has(part))
            issues.push_back(ruleError(
                "parts",
                fmt::format("A replica can be measured (ab, profile), not used for {}.", part)));
    for (const char* part : {"train", "distill", "onnx", "ab", "profile"})
        if (c.network == "oracle" && c.has(part))
            issues.push_back(
                ruleError("parts", fmt::format("The oracle has no weights for {}.", part)));
    if (c.network == "unet" && c.weights == "bench" && (c.has("drift") || c.has("distill")))
        issues.push_back(ruleError("parts", "Random weights say nothing about drift, and nothing "
                                            "can be distilled from them; choose trained weights."));
    return issues;
}

Issues checkNetwork(const C& c)
{
    Issues issues;
    if (c.network.starts_with("replica"))
        return issues;
    const Size size = sizeOfName(c.modelSize);
    const Index grid = layoutOf(size).nativeGrid * (c.highQuality ? 2 : 1);
    if (c.frameSize < grid || c.frameSize % grid != 0) {
        issues.push_back(ruleError(
            "frame_size", fmt::format("A frame of {} px is no multiple of the {} cells of {}.",
                                      c.frameSize, grid, c.modelSize)));
        return issues;
    }
    UnetSettings settings = unetSettings(size, c.frameSize, c.highQuality);
    settings.isMisaligned = c.misaligned;
    settings.hasAttentionAtLevel0 = c.attentionLevel0;
    settings.hasWindowAttention = c.windowAttention;
    settings.channelRounding = std::max(1, c.channelRounding);
    if (const std::string problem = problemOf(settings); !problem.empty())
        issues.push_back(ruleError("model_size", problem + "."));
    std::error_code failure;
    if (c.network == "unet" && c.weights == "file" &&
        !std::filesystem::is_regular_file(c.weightsFile, failure))
        issues.push_back(
            ruleError("weights_file", fmt::format("{} is not a file; name a safetensors file that "
                                                  "this lab wrote.",
                                                  c.weightsFile.string())));
    const bool isShipped = c.modelSize == "pico" && c.frameSize == 64 && !c.highQuality &&
                           !c.attentionLevel0 && !c.windowAttention && !c.misaligned;
    if (c.network == "unet" && c.weights == "shipped" && !isShipped)
        issues.push_back(ruleError("weights", "Weights come with the program for pico at 64 px "
                                              "alone; choose bench for measuring, or a file."));
    if (c.network == "unet" && c.weights == "trained" && !c.has("train"))
        issues.push_back(ruleError("weights", "Nothing is trained in this run: add train to "
                                              "parts."));
    if (c.network == "unet" && c.weights == "shipped" &&
        (c.prediction != "v" || c.curve != "cosine" || c.zeroTerminalSnr))
        issues.push_back(ruleError("prediction", "The shipped weights were trained to predict v "
                                                 "under the cosine schedule."));
    if (c.network == "unet" && c.weights == "bench" && c.has("stream"))
        issues.push_back(ruleWarning("weights", "The weights are random: the speed is real, the "
                                                "picture is noise."));
    return issues;
}

Issues checkSource(const C& c)
{
    Issues issues;
    if (c.has("drift") && c.source != "orbits" && c.source != "cuts")
        issues.push_back(ruleWarning("source", "Drift is measured on orbits, where the truth is "
                                               "known."));
    if (c.sampler == "lcm" && c.weights == "shipped" && c.network == "unet")
        issues.push_back(ruleWarning("sampler", "These weights were not distilled: lcm steps will "
                                                "look rough."));
    if (c.onnxOpset > 17 && c.onnxOpset < 21)
        issues.push_back(ruleError("onnx_opset", "Files are written in opset 17 or 21."));
    if (c.has("train") && c.warmup >= c.trainUpdates)
        issues.push_back(ruleError("warmup", fmt::format("A warm-up of {:g} updates leaves nothing "
                                                         "of {}; shorten it.",
                                                         c.warmup, c.trainUpdates)));
    if (c.mode == "dream" && c.start == "input")
        issues.push_back(ruleWarning("start", "A dream has no input after its first frame and "
                                              "starts from the previous output."));
    if (c.streamBatch && c.sampler == "turbo")
        issues.push_back(ruleWarning("stream_batch", "One step is one row: nothing is batched."));
    return issues;
}

Issues checkSampling(const C& c)
{
    Issues issues;
    const int times = timesUpTo(c.strength), steps = c.sampler == "turbo" ? 1 : c.steps;
    if (steps > times)
        issues.push_back(ruleError(
            "steps", fmt::format("{} steps do not fit into a strength of {:g}, which has {} of {} "
                                 "times; take fewer steps or more strength.",
                                 steps, c.strength, times, kTrainTimes)));
    const bool isPureNoise = c.zeroTerminalSnr && times == kTrainTimes;
    if (c.prediction == "epsilon" && isPureNoise)
        issues.push_back(ruleError(
            "prediction", "At full strength with zero terminal SNR there is no signal, so that "
                          "noise says nothing of the picture; predict v or lower the strength."));
    return issues;
}

} // namespace

void addRules(SchemaBuilder<LiveDiffusionConfig>& builder)
{
    builder.rule("parts", checkParts);
    builder.rule("network", checkNetwork);
    builder.rule("source", checkSource);
    builder.rule("sampling", checkSampling);
}

} // namespace vergence::live
