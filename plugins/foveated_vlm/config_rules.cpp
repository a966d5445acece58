#include "plugins/foveated_vlm/config_rules.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/rule_issues.h"
#include "plugins/foveated_vlm/clips/grid_names.h"
#include "plugins/foveated_vlm/model/known_names.h"

namespace vergence::fvlm {

namespace {

using C = FoveatedVlmConfig;
using Issues = std::vector<ConfigIssue>;

bool isFolder(const std::filesystem::path& path)
{
    std::error_code failure;
    return std::filesystem::is_directory(path, failure);
}

void checkTower(Issues& issues, const char* key, const std::string& value,
                std::span<const std::string_view> names, bool needsFolder)
{
    if (isFolder(value))
        return;
    if (std::ranges::find(names, value) == names.end())
        issues.push_back(ruleError(key, fmt::format("{} is neither a folder nor one of {}.", value,
                                                    fmt::join(names, ", "))));
    else if (needsFolder)
        issues.push_back(ruleError(
            key, fmt::format("weights = \"hf_dir\" reads files: name the folder that holds {}.",
                             value)));
}

Issues checkModel(const C& c)
{
    Issues issues;
    const bool needsFolder = c.weights == "hf_dir";
    checkTower(issues, "vit", c.vit, kKnownVitNames, needsFolder);
    checkTower(issues, "llm", c.llm, kKnownLlmNames, needsFolder);
    std::error_code failure;
    if (c.weights == "checkpoint" && !std::filesystem::is_regular_file(c.checkpoint, failure))
        issues.push_back(
            ruleError("checkpoint", fmt::format("{} is not a file; name a model.safetensors that "
                                                "this lab wrote.",
                                                c.checkpoint.string())));
    if (c.variant == "dpo" && c.weights != "checkpoint")
        issues.push_back(ruleWarning(
            "weights", "Preferences are learnt from a model that has not learnt to answer; name "
                       "a checkpoint."));
    if (c.visualNorm == "batch_std")
        issues.push_back(ruleWarning("visual_norm",
                                     "batch_std couples the samples of a batch and lets later "
                                     "frames leak into earlier ones; it is for old checkpoints."));
    const int patch = isMadeForDrawnClips(c.vit) ? 8 : 14;
    if (!isFolder(c.vit) && c.size < patch)
        issues.push_back(ruleError(
            "size", fmt::format("A frame of {} px holds no patch of {} px.", c.size, patch)));
    return issues;
}

void checkGrid(Issues& issues, const C& c)
{
    if (!c.isGrid())
        return;
    const int least = gridTask(c.task)->leastCell;
    if (c.cells * least > c.size)
        issues.push_back(ruleError(
            "cells", fmt::format("A frame of {} px has no room for {} cells along an edge: a cell "
                                 "of this task needs {} px, so at most {} fit. Lower cells, or "
                                 "raise size.",
                                 c.size, c.cells, least, c.size / least)));
    if (!c.hasText())
        issues.push_back(ruleError("task", "Cells are asked for in words, and variant A writes "
                                           "none; choose variant B, or task = next."));
}

Issues checkData(const C& c)
{
    Issues issues;
    std::error_code failure;
    if (!c.clips.empty() && !std::filesystem::exists(c.clips, failure))
        issues.push_back(ruleError("clips", fmt::format("{} does not exist; name videos, frames "
                                                        "or shards, or leave it empty for drawn "
                                                        "clips.",
                                                        c.clips.string())));
    if (!c.captions.empty() && !std::filesystem::is_regular_file(c.captions, failure))
        issues.push_back(
            ruleError("captions", fmt::format("{} is not a file.", c.captions.string())));
    if (c.isDrawn() && c.hasText() && c.task == "next")
        issues.push_back(ruleError("task",
                                   "Clips drawn for next have no text; choose another task, or "
                                   "variant A."));
    checkGrid(issues, c);
    if (c.hasLatents() && c.latents != "patch_basis" &&
        !std::filesystem::exists(c.latentsPath, failure))
        issues.push_back(ruleError("latents_path",
                                   fmt::format("Latents from {} need a path: {}.", c.latents,
                                               c.latents == "vae" ? "the autoencoder's folder"
                                                                  : "the shard that holds them")));
    if (c.hasLatents() && c.isDrawn() && c.latents != "patch_basis")
        issues.push_back(ruleError("latents", "Clips that are drawn have latents of the fixed "
                                              "basis; name clips, or choose patch_basis."));
    if (c.variant == "dpo" && c.captions.empty() && !c.isDrawn())
        issues.push_back(ruleWarning("captions", "Preferences need chosen and rejected answers; "
                                                 "samples without both are left out."));
    if (c.textOnly > 0 && c.variant == "A")
        issues.push_back(ruleError("text_only", "Variant A learns no text; set text_only to 0."));
    if (c.textOnly > 0 && c.variant == "dpo")
        issues.push_back(ruleError("text_only", "Preferences are about clips; set text_only to "
                                                "0."));
    if (c.hasLatents() && c.frames < 2)
        issues.push_back(ruleError("frames", "There is no next frame in a clip of one frame."));
    if (c.isDrawn() && c.clipCount > 0 && c.batch > c.clipCount)
        issues.push_back(ruleError("batch", fmt::format("A batch of {} is more than all {} clips.",
                                                        c.batch, c.clipCount)));
    return issues;
}

Issues checkLength(const C& c)
{
    if ((c.microSteps > 0) != (c.samples > 0)) {
        if (!c.isDrawn() || c.clipCount == 0)
            return {};
        const double epochs = static_cast<double>(c.totalMicroSteps()) * c.batch / c.clipCount;
        if (epochs > c.maxEpochs)
            return {ruleError("max_epochs",
                              fmt::format("The run would pass over its clips {:.1f} times, more "
                                          "than max_epochs = {:g}; shorten it, or raise "
                                          "max_epochs if that is meant.",
                                          epochs, c.maxEpochs))};
        return {};
    }
    return {ruleError("micro_steps", c.samples > 0
                                         ? "Give micro_steps or samples, not both."
                                         : "Say how long to train: micro_steps or samples.")};
}

/// The length of a run is counted in whole batches.
Issues checkBudget(const C& c)
{
    const std::int64_t fewest = std::max<std::int64_t>(1, c.framesPerBatch / c.frames);
    if (c.samples <= 0 || c.microSteps > 0 || fewest >= c.batch)
        return {};
    return {ruleWarning("samples",
                        fmt::format("frames_per_batch = {} lets {} clips of {} frames into a batch "
                                    "of {}: the run may present as few as {} samples. Lower batch "
                                    "and raise grad_accum, or raise frames_per_batch.",
                                    c.framesPerBatch, fewest, c.frames, c.batch,
                                    c.totalMicroSteps() * fewest))};
}

void checkControls(Issues& issues, const C& c)
{
    if (c.control != "beside")
        return;
    const std::set<int> tokens(c.controlTokens.begin(), c.controlTokens.end());
    if (tokens.size() < c.controlTokens.size() || !tokens.contains(1))
        issues.push_back(ruleError("control_tokens", "Name each number of tokens once, and 1 among "
                                                     "them, which is the matched control."));
    const bool isPicture = c.isGrid() && c.task != "sign" && c.frames == 1;
    if (tokens.size() > 1 && !isPicture)
        issues.push_back(ruleError("control_tokens", "More tokens than one are for grids of a "
                                                     "single frame: task = cell or letter, frames "
                                                     "= 1."));
}

Issues checkTraining(const C& c)
{
    Issues issues;
    if (c.control == "coarse_only" && c.refinements > 1)
        issues.push_back(
            ruleWarning("refinements", "The matched control has no fine passes to refine."));
    if (c.control != "none" && c.variant == "dpo")
        issues.push_back(ruleError("control", "Preferences are not learnt with one look alone; "
                                              "choose another variant, or control = none."));
    checkControls(issues, c);
    if (c.control == "beside" && !c.compareWith.empty())
        issues.push_back(ruleError("compare_with", "The run trains its own control, control = "
                                                   "beside; leave this empty."));
    const bool promptStandsFirst =
        c.order == "prompt_frames_answer" && c.hasText() && c.variant != "joint";
    if (c.firstQuery == "prompt" && !promptStandsFirst)
        issues.push_back(ruleError("first_query", "The first query comes from the question, which "
                                                  "must stand before the frames: set order = "
                                                  "prompt_frames_answer, and variant B or dpo."));
    if (c.variant == "A" && c.lambdaCoarse == 0)
        issues.push_back(ruleWarning("lambda_coarse",
                                     "The coarse loss is not learnt from, and measured in tests "
                                     "alone; the published runs used 1."));
    if (c.freezeVit && c.freezeLlm && c.lrConnector == 0)
        issues.push_back(ruleError("lr_connector", "Nothing learns: both models are frozen and "
                                                   "the rate of what joins them is 0."));
    if (!c.compareWith.empty() && !isFolder(c.compareWith))
        issues.push_back(ruleError(
            "compare_with", fmt::format("{} is not the folder of a run.", c.compareWith.string())));
    if (c.epsilon <= 0)
        issues.push_back(ruleError("epsilon", "epsilon must be above 0."));
    return issues;
}

} // namespace

void addRules(SchemaBuilder<FoveatedVlmConfig>& builder)
{
    builder.rule("model", checkModel);
    builder.rule("data", checkData);
    builder.rule("length", checkLength);
    builder.rule("budget", checkBudget);
    builder.rule("training", checkTraining);
}

} // namespace vergence::fvlm
