#include "plugins/light_field/config_rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/rule_issues.h"

namespace vergence::light_field {

namespace {

using C = LightFieldConfig;
using Issues = std::vector<ConfigIssue>;

Issues checkOrder(const C& c)
{
    Issues issues;
    if (c.mlaZ <= c.tunableZ)
        issues.push_back(
            ruleError("mla_z", fmt::format("mla_z ({} mm) must lie beyond tunable_z ({} mm).",
                                           c.mlaZ, c.tunableZ)));
    if (c.mlaCount > 0 && c.mlaCount % 2 == 0)
        issues.push_back(ruleError(
            "mla_count", fmt::format("mla_count must be odd or 0 (found {}).", c.mlaCount)));
    if (c.headroom > c.planes)
        issues.push_back(
            ruleError("headroom", fmt::format("headroom ({}) must not exceed planes ({}).",
                                              c.headroom, c.planes)));
    if (c.sweep == "parameter" && c.sweepKey == "headroom") {
        for (const double value : c.sweepValues) {
            if (value > c.planes)
                issues.push_back(ruleError(
                    "sweep_values",
                    fmt::format("headroom ({}) must not exceed planes ({}).", value, c.planes)));
        }
    }
    if (c.accRange == "manual" && c.accNear < c.accFar)
        issues.push_back(
            ruleError("acc_near", fmt::format("acc_near ({} D) must not be below acc_far ({} D).",
                                              c.accNear, c.accFar)));
    if (c.sphereRadius >= c.sphereDistance)
        issues.push_back(ruleError(
            "sphere_radius",
            fmt::format("sphere_radius ({} mm) must be below sphere_distance ({} mm), or the "
                        "eye is inside the sphere.",
                        c.sphereRadius, c.sphereDistance)));
    return issues;
}

Issues checkCoarse(const C& c)
{
    if (c.coarseIterations == 0)
        return {};
    Issues issues;
    const auto add = [&](const char* sentence) {
        issues.push_back(ruleError("coarse_iterations", sentence));
    };
    if (c.isSeedProfile() || c.solver == "direct")
        add("coarse_iterations needs the physical profile and a solver that iterates; set it to "
            "0.");
    if (c.init != "black")
        add("coarse_iterations gives the start itself; leave init at black or set it to 0.");
    if (c.panelRes % 2 != 0 || c.renderRes % 2 != 0 || c.panelRes < 32)
        add("coarse_iterations halves panel_res and render_res; both must be even and panel_res at "
            "least 32.");
    return issues;
}

Issues checkPlanes(const C& c)
{
    Issues issues;
    if (c.planeSpacing == "list" && static_cast<int>(c.focalLengths.size()) != c.planes)
        issues.push_back(ruleError(
            "focal_lengths",
            fmt::format("focal_lengths must name one focal length per plane ({}, found {}).",
                        c.planes, c.focalLengths.size())));
    const bool needsPlane = c.planeSpacing == "depth" || c.planeSpacing == "auto";
    if (!needsPlane || c.mlaZ <= c.tunableZ)
        return issues;
    if (c.panelGap == c.mlaFocal) {
        issues.push_back(ruleError(
            "panel_gap",
            "panel_gap equals mla_focal: the lenslets collimate and there is no central depth "
            "plane to place. Choose plane_spacing = \"linear\" or \"list\", or another gap."));
        return issues;
    }
    const double conjugate = c.panelGap * c.mlaFocal / (c.panelGap - c.mlaFocal);
    const double relay = c.mlaZ - c.tunableZ - conjugate;
    if (relay <= 0)
        issues.push_back(ruleError(
            "panel_gap",
            fmt::format("The lenslets image the panel {:.3g} mm in front of them, beyond the "
                        "tunable lens: planes cannot be placed by depth.",
                        conjugate)));
    if (c.planeSpacing == "depth" && c.depthNear >= c.depthFar)
        issues.push_back(ruleError(
            "depth_near", fmt::format("depth_near ({} mm) must be below depth_far ({} mm).",
                                      c.depthNear, c.depthFar)));
    if (c.planeSpacing == "depth" && c.depthNear <= c.tunableZ)
        issues.push_back(ruleError(
            "depth_near", fmt::format("depth_near ({} mm) must lie beyond tunable_z ({} mm).",
                                      c.depthNear, c.tunableZ)));
    return issues;
}

Issues checkScenes(const C& c)
{
    Issues issues;
    if (c.sweep == "scenes") {
        const auto known = sceneNames();
        for (const auto& name : c.scenes) {
            if (std::find(known.begin(), known.end(), name) == known.end())
                issues.push_back(
                    ruleError("scenes", fmt::format("There is no scene `{}`; there are {}.", name,
                                                    fmt::join(known, ", "))));
        }
    }
    if (c.sweep == "parameter" && !isSweepable(c.sweepKey))
        issues.push_back(ruleError(
            "sweep_key",
            fmt::format("sweep_key must name a numeric parameter (found `{}`).", c.sweepKey)));
    const auto isBroken = [](double value) { return value != std::round(value); };
    const auto broken = std::find_if(c.sweepValues.begin(), c.sweepValues.end(), isBroken);
    if (c.sweep == "parameter" && isWhole(c.sweepKey) && broken != c.sweepValues.end())
        issues.push_back(ruleError("sweep_values", fmt::format("{} takes whole numbers (found {}).",
                                                               c.sweepKey, *broken)));
    if (c.sweep == "image") {
        for (const auto& [key, path] :
             {std::pair("color_image", c.colorImage), std::pair("depth_image", c.depthImage)}) {
            std::error_code code;
            if (path.empty())
                issues.push_back(ruleError(
                    key, fmt::format("{} must name a file when sweep = \"image\".", key)));
            else if (!std::filesystem::is_regular_file(path, code))
                issues.push_back(
                    ruleError(key, fmt::format("{} does not exist: {}.", key, path.string())));
        }
        if (c.depthImageNear >= c.depthImageFar)
            issues.push_back(ruleError(
                "depth_image_near",
                fmt::format("depth_image_near ({} mm) must be below depth_image_far ({} mm).",
                            c.depthImageNear, c.depthImageFar)));
    }
    return issues;
}

/// Two planes are seen at one distance: between them nothing can be blended.
bool hasEqualPlanes(const C& c)
{
    if (c.planes == 1)
        return false;
    std::vector<double> focals = c.focalLengths;
    std::sort(focals.begin(), focals.end());
    const bool isRepeated = std::adjacent_find(focals.begin(), focals.end()) != focals.end();
    return (c.planeSpacing == "list" && isRepeated) ||
           (c.planeSpacing == "linear" && c.focalFirst == c.focalLast) ||
           c.panelGap == c.mlaFocal; // collimating lenslets
}

Issues checkProfile(const C& c)
{
    Issues issues;
    if (c.isSeedProfile()) {
        if (c.solver == "direct")
            issues.push_back(
                ruleError("solver", "The analytic competitor needs profile = \"physical\"."));
        if (c.init == "direct")
            issues.push_back(ruleError("init", "init = \"direct\" needs profile = \"physical\"."));
        if (c.sampling == "bilinear")
            issues.push_back(
                ruleError("sampling", "The seed profile reads one texel per ray; choose sampling = "
                                      "\"auto\" or \"nearest_floor\", or profile = \"physical\"."));
        if (c.missingPolicy == "absorb")
            issues.push_back(ruleError(
                "missing_policy",
                "The seed profile takes the mean of the rays that are left; choose "
                "missing_policy = \"auto\" or \"renormalise\", or profile = \"physical\"."));
        if (c.sweep == "image")
            issues.push_back(ruleError("sweep", "The seed profile knows spheres and cubes only; "
                                                "sweep = \"image\" needs profile = \"physical\"."));
        if (c.retinaSize != 40.0 || c.planeSpacing != "linear")
            issues.push_back(ruleWarning(
                "profile",
                "The seed profile reproduces the original only with retina_size = 40 and "
                "plane_spacing = \"linear\"; start from the preset seed-a100."));
    } else {
        if (c.accCount == 1 && c.eyeCount == 1)
            issues.push_back(ruleWarning(
                "acc_count", "Single-state fit: quality elsewhere is not constrained."));
        if (c.evalRays == c.raysPerPixel)
            issues.push_back(ruleWarning(
                "eval_rays", "eval_rays equals rays_per_pixel: held-out views are sampled by the "
                             "pattern of training."));
    }
    return issues;
}

/// Settings that the chosen solver cannot heed.
Issues checkSolver(const C& c)
{
    Issues issues;
    const bool isSirt = c.solver == "sirt" || c.solver == "os_sirt";
    if (c.smoothness > 0 && (c.isSeedProfile() || isSirt || c.solver == "cg"))
        issues.push_back(ruleError(
            "smoothness", "smoothness needs profile = \"physical\" and solver = \"pga\", \"adam\" "
                          "or \"adamw\"; set it to 0."));
    if (isSirt && (c.roiWeight != 1 || c.bgWeight != 1))
        issues.push_back(ruleError(
            c.roiWeight != 1 ? "roi_weight" : "bg_weight",
            fmt::format("{} weighs pixels by the rays that reach them; leave roi_weight and "
                        "bg_weight at 1.",
                        c.solver)));
    if ((c.solver == "direct" || c.init == "direct") && hasEqualPlanes(c))
        issues.push_back(ruleError(
            c.planeSpacing == "linear" ? "focal_last" : "focal_lengths",
            "The analytic competitor blends between planes: no two of them may have the same focal "
            "length, and panel_gap must not equal mla_focal."));
    if (c.roiWeight == 0 && c.bgWeight == 0)
        issues.push_back(ruleError(
            "roi_weight", "roi_weight and bg_weight must not both be 0: nothing would be fitted."));
    return issues;
}

/// Hints on quality that need valid geometry.
Issues checkQuality(const C& c)
{
    if (c.isSeedProfile() || c.sweep != "boards" || !checkOrder(c).empty() ||
        !checkPlanes(c).empty())
        return {};
    Issues issues;
    try {
        CheckerboardOptions board;
        board.center = {0, 0, c.sphereDistance};
        board.radius = c.sphereRadius;
        const Scene scene = checkerboardScene(board);
        const Optics optics = opticsOf(c, scene);
        const auto states = trainingStates(eyeStatesOf(c, scene));
        const double adequacy =
            samplingAdequacy(optics, static_cast<int>(states.size()), c.raysPerPixel);
        if (adequacy < 2)
            issues.push_back(ruleWarning(
                "rays_per_pixel",
                fmt::format("Only {:.1f} samples touch a texel (8 are good): what is not "
                            "sampled is not optimised. Raise rays_per_pixel or states, or "
                            "lower panel_res.",
                            adequacy)));
        const double spacing = widestPlaneSpacing(optics);
        if (spacing > 0.6)
            issues.push_back(ruleIssue(IssueSeverity::Note, "planes",
                                       fmt::format("Planes are {:.2f} D apart; beyond 0.6 D depth "
                                                   "blending visibly loses contrast.",
                                                   spacing)));
    } catch (const Error& failure) {
        issues.push_back(ruleError("planes", failure.what()));
    }
    return issues;
}

} // namespace

void addRules(SchemaBuilder<LightFieldConfig>& builder)
{
    builder.rule("geometry", checkOrder);
    builder.rule("plane_spacing", checkPlanes);
    builder.rule("coarse", checkCoarse);
    builder.rule("scene", checkScenes);
    builder.rule("profile", checkProfile);
    builder.rule("solver", checkSolver);
    builder.rule("quality", checkQuality);
}

} // namespace vergence::light_field
