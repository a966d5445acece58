#include "plugins/sugar/config_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/config/rule_issues.h"

namespace vergence::sugar {

namespace {

using C = SugarConfig;
using Issues = std::vector<ConfigIssue>;

Issues checkPaths(const C& c)
{
    Issues issues;
    std::error_code failure;
    if (!c.scene.empty() && !std::filesystem::exists(c.scene, failure))
        issues.push_back(ruleError(
            "scene", fmt::format("{} does not exist; name the folder of a COLMAP model or of a "
                                 "transforms.json, or leave it empty for the built-in scene.",
                                 c.scene.string())));
    if (!c.images.empty() && !std::filesystem::is_directory(c.images, failure))
        issues.push_back(
            ruleError("images", fmt::format("{} is not a folder.", c.images.string())));
    if (!c.maskFolder.empty() && !std::filesystem::is_directory(c.maskFolder, failure))
        issues.push_back(
            ruleError("mask_folder", fmt::format("{} is not a folder.", c.maskFolder.string())));
    if (!c.gaussians.empty() && !std::filesystem::is_regular_file(c.gaussians, failure))
        issues.push_back(ruleError(
            "gaussians", fmt::format("{} is not a file; name a 3DGS PLY, an SPZ or a .splat file.",
                                     c.gaussians.string())));
    if (c.iterations > 0 && c.hasNoPictures())
        issues.push_back(ruleError(
            "scene", "There is nothing to learn from: name the scene of the Gaussians, or set "
                     "iterations to 0 to look at them."));
    if (c.iterations == 0 && c.gaussians.empty() && !c.isBuiltIn())
        issues.push_back(ruleWarning(
            "iterations", "Nothing is learnt in 0 steps; the initial points are shown."));
    return issues;
}

Issues checkDensification(const C& c)
{
    Issues issues;
    if (c.densify == "none")
        return issues;
    if (c.densifyUntil > 0 && c.densifyUntil <= c.densifyFrom)
        issues.push_back(ruleWarning(
            "densify_until",
            fmt::format("Gaussians are never added: densify_until ({}) is not above densify_from "
                        "({}).",
                        c.densifyUntil, c.densifyFrom)));
    if (c.iterations > 0 && c.densifyFrom >= c.iterations)
        issues.push_back(ruleWarning(
            "densify_from", fmt::format("Gaussians are never added: densify_from ({}) is not below "
                                        "iterations ({}).",
                                        c.densifyFrom, c.iterations)));
    return issues;
}

Issues checkRates(const C& c)
{
    if (c.ratePositionFinal <= c.ratePosition)
        return {};
    return {ruleError("rate_position_final",
                      fmt::format("rate_position_final ({}) must not be above rate_position ({}).",
                                  c.ratePositionFinal, c.ratePosition))};
}

Issues checkGoal(const C& c)
{
    Issues issues;
    const bool wantsSurface = c.goal != "gaussians";
    if (wantsSurface && c.hasNoPictures())
        issues.push_back(ruleError("goal", "A surface needs the pictures: name the scene of the "
                                           "Gaussians, or set goal to gaussians."));
    if (wantsSurface && c.iterations == 0 && c.gaussians.empty())
        issues.push_back(ruleError("iterations",
                                   "A surface needs Gaussians: train some, or name a file of "
                                   "trained ones in gaussians."));
    if (wantsSurface && c.alignSteps > 0 && c.regulariseFrom >= c.alignSteps)
        issues.push_back(ruleWarning(
            "regularise_from",
            fmt::format("Nothing is regularised: regularise_from ({}) is not below align_steps "
                        "({}).",
                        c.regulariseFrom, c.alignSteps)));
    std::error_code failure;
    if (!c.reuseFrom.empty() && !std::filesystem::is_directory(c.reuseFrom / "stages", failure))
        issues.push_back(ruleError(
            "reuse_from", fmt::format("{} has no finished stages; name the folder of a run of "
                                      "this lab.",
                                      c.reuseFrom.string())));
    return issues;
}

Issues checkBox(const C& c)
{
    if (c.box.empty())
        return {};
    if (c.box.size() != 6)
        return {ruleError("box", "Give six numbers: smallest x y z, largest x y z.")};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!(c.box[axis] < c.box[3 + axis]))
            return {ruleError("box", fmt::format("The smallest {0} must be below the largest {0}.",
                                                 "xyz"[axis]))};
    }
    return {};
}

Issues checkPerTriangle(const C& c)
{
    if (c.refinePerTriangle != 2 && c.refinePerTriangle != 5)
        return {};
    return {ruleError("refine_per_triangle", "Choose 1, 3, 4 or 6 Gaussians a triangle.")};
}

Issues checkFormats(const C& c)
{
    static constexpr std::array kKnown{"ply", "splat", "spz"};
    Issues issues;
    for (const std::string& format : c.formats) {
        if (std::find(kKnown.begin(), kKnown.end(), format) == kKnown.end())
            issues.push_back(ruleError(
                "formats",
                fmt::format("{} is not a format; choose among ply, splat and spz.", format)));
    }
    return issues;
}

} // namespace

void addRules(SchemaBuilder<SugarConfig>& builder)
{
    builder.rule("paths", checkPaths);
    builder.rule("densification", checkDensification);
    builder.rule("rates", checkRates);
    builder.rule("goal", checkGoal);
    builder.rule("box", checkBox);
    builder.rule("per_triangle", checkPerTriangle);
    builder.rule("formats", checkFormats);
}

} // namespace vergence::sugar
