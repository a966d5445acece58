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
    builder.rule("formats", checkFormats);
}

} // namespace vergence::sugar
