#include "plugins/mc_embedding/config_rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/rule_issues.h"
#include "plugins/mc_embedding/compute/model_zoo.h"
#include "plugins/mc_embedding/compute/site_plan.h"
#include "plugins/mc_embedding/io/preprocess.h"
#include "plugins/mc_embedding/study/variants.h"

namespace vergence::mc_embedding {

namespace {

using C = McEmbeddingConfig;
using Issues = std::vector<ConfigIssue>;

bool contains(const std::vector<std::string>& list, const std::string& name)
{
    return std::find(list.begin(), list.end(), name) != list.end();
}

Issues checkLists(const C& c)
{
    Issues issues;
    for (const std::string& name : c.degradations) {
        if (!isDegradation(name) || name == "none")
            issues.push_back(ruleError(
                "degradations",
                fmt::format("degradations does not know `{}`; write blur5 (radius), down4 "
                            "(factor), jpeg40 (quality) or occlude0.1 (share).",
                            name)));
    }
    for (const std::string& text : c.templates) {
        if (text.find("{}") == std::string::npos)
            issues.push_back(ruleError(
                "templates",
                fmt::format("The template \"{}\" has no {{}} for the class name.", text)));
    }
    return issues;
}

Issues checkPasses(const C& c)
{
    Issues issues;
    for (std::size_t i = 1; i < c.passes.size(); ++i) {
        if (c.passes[i] <= c.passes[i - 1])
            issues.push_back(
                ruleError("passes", fmt::format("passes must ascend ({} comes after {}).",
                                                c.passes[i], c.passes[i - 1])));
    }
    const bool needsTrials = c.runs("exp0") || c.runs("exp4") || c.runs("exp1") || c.runs("exp3");
    if (c.trials < 2 && needsTrials)
        issues.push_back(ruleWarning("trials",
                                     "One trial says nothing of repeatability; exp0, exp1, "
                                     "exp3 and exp4 need at least 2."));
    if (c.runs("exp4") && c.models.size() < 2)
        issues.push_back(
            ruleWarning("models", "exp4 compares models; with one model its comparison is empty."));
    if (c.exp5Count > 0 && !c.runs("exp5"))
        issues.push_back(ruleWarning("exp5_count", "exp5_count has no effect without exp5."));
    for (const std::string& model : c.exp5Models)
        if (std::find(c.models.begin(), c.models.end(), model) == c.models.end())
            issues.push_back(ruleError("exp5_models", model + " is not among the models."));
    return issues;
}

std::vector<TowerShape> towersOf(const C& c)
{
    std::vector<TowerShape> towers;
    for (const std::string& model : c.models) {
        if (const auto tower = towerShape(model))
            towers.push_back(*tower);
    }
    return towers;
}

std::vector<std::string> placementsOf(const C& c)
{
    return c.comparePlacements.empty() ? std::vector{c.placement} : c.comparePlacements;
}

ConfigIssue misfit(const std::string& key, const std::string& placement,
                   const ContractError& failure)
{
    return ruleError(key, fmt::format("{}, {}: {}", key, placement, failure.what()));
}

/// Whether every tower has the sites of every placement, and the kind of perturbation suits them.
Issues checkSites(const C& c)
{
    Issues issues;
    for (const std::string& name : placementsOf(c)) {
        C alone = c;
        alone.comparePlacements = {name};
        try {
            for (const Variant& variant : variantsOf(alone)) {
                for (const TowerShape& tower : towersOf(c))
                    SitePlan(tower, liveSites(tower, variant.placement),
                             perturbationOf(c, variant));
            }
        } catch (const ContractError& failure) {
            issues.push_back(misfit(
                c.comparePlacements.empty() ? "placement" : "compare_placements", name, failure));
        }
    }
    return issues;
}

Issues checkPerturbation(const C& c)
{
    Issues issues;
    const bool isDepth = c.kind == "stochastic_depth";
    const std::vector<std::string> placements = placementsOf(c);
    for (const std::string& placement : placements) {
        if ((placement == "stochastic_depth") != isDepth)
            issues.push_back(ruleError("kind", "kind = \"stochastic_depth\" and the placement "
                                               "stochastic_depth belong together."));
    }
    const bool usesSites = contains(placements, "sites");
    if (usesSites && c.sites.empty())
        issues.push_back(ruleError("sites", "The placement sites needs a list of sites."));
    if (!usesSites && !c.sites.empty())
        issues.push_back(ruleError(
            "sites", "sites is only used with placement = \"sites\"; empty it or set that."));
    if (issues.empty())
        issues = checkSites(c);
    const bool masks = c.kind == "dropout" || isDepth;
    if (masks && c.p == 0 && c.compareP.empty())
        issues.push_back(ruleWarning("p", "p = 0 masks nothing: all scores will be 0."));
    if (!masks && c.magnitude == 0)
        issues.push_back(ruleWarning("magnitude", "magnitude = 0 changes nothing."));
    return issues;
}

Issues checkFolders(const C& c)
{
    Issues issues;
    if (c.folder.empty() && c.manifest.empty() && !paintsImages(c))
        issues.push_back(ruleError("folder", "folder must name a folder of pictures, or manifest a "
                                             "list; only the demo models paint their own."));
    if (c.sampling == "manifest" && c.manifest.empty())
        issues.push_back(ruleError("manifest", "sampling = \"manifest\" needs a manifest."));
    for (const std::string& model : c.models) {
        const std::string key = "folder_" + model;
        const std::filesystem::path folder = c.folderOf(model);
        std::error_code code;
        if (!folder.empty() && !std::filesystem::is_directory(folder, code))
            issues.push_back(ruleError(key, fmt::format("{} is not a folder.", folder.string())));
        if (folder.empty() && !isDemoModel(model) && !c.allowRandom && towerShape(model))
            issues.push_back(ruleWarning(
                key, fmt::format("{} has no folder of weights and will be left out.", model)));
    }
    return issues;
}

Issues checkSize(const C& c)
{
    Issues issues;
    for (const std::string& model : c.models) {
        const auto tower = towerShape(model);
        if (c.size > 0 && tower && !fitsSize(*tower, c.size))
            issues.push_back(ruleError(
                "size", fmt::format("{} reads {} × {} patches of {} px: size must be {} to {} px, "
                                    "or 0 for its own {} px.",
                                    model, tower->grid(), tower->grid(), tower->patch,
                                    tower->grid() * tower->patch,
                                    (tower->grid() + 1) * tower->patch - 1, tower->imageSize)));
    }
    return issues;
}

/// The sites of a placement; none where a tower does not have it.
std::vector<Site> sitesOrNone(const TowerShape& tower, const Placement& placement)
{
    try {
        return liveSites(tower, placement);
    } catch (const ContractError&) {
        return {};
    }
}

/// As checkSites(), but exp3 leaves out the placements that a tower does not have.
Issues checkExp3(const C& c)
{
    Issues issues;
    for (const std::string& name : c.exp3Placements) {
        try {
            const Placement placement = placementOf(c, name);
            expects(contains(placementPresets(), placement.preset),
                    fmt::format("There is no such placement; there are {}.",
                                fmt::join(placementPresets(), ", ")));
            const Variant variant = withPlacement({{}, c.activation, c.p, {}, c.kind}, placement);
            for (const TowerShape& tower : towersOf(c)) {
                if (c.runs("exp3"))
                    SitePlan(tower, sitesOrNone(tower, placement), perturbationOf(c, variant));
            }
        } catch (const ContractError& failure) {
            issues.push_back(misfit("exp3_placements", name, failure));
        }
    }
    return issues;
}

/// What the later experiments ask for.
Issues checkLater(const C& c)
{
    Issues issues;
    const auto refuse = [&](const char* key, std::string sentence) {
        issues.push_back(ruleError(key, std::move(sentence)));
    };
    if (c.exp1Rates.size() == 1)
        refuse("exp1_rates", "exp1 compares drop probabilities: name at least 2, or none for its "
                             "own.");
    if (c.exp3Placements.size() == 1)
        refuse("exp3_placements", "exp3 compares placements: name at least 2, or none for its "
                                  "own.");
    if (c.exp8Prompts.size() == 1)
        refuse("exp8_prompts", "exp8 needs at least 2 prompts, or none for its own.");
    for (const char* name : {"exp1", "exp11"}) {
        if (c.runs(name) && c.kind != "dropout")
            refuse("kind",
                   fmt::format("{} varies the drop probability: set kind = \"dropout\".", name));
    }
    if (c.runs("mean_convergence") && c.passes.size() < 2)
        refuse("passes", "mean_convergence fits a line through several T: name at least 2.");
    if (c.runs("exp9") && c.exp9Frames.empty() && !paintsImages(c))
        issues.push_back(
            ruleWarning("exp9_frames", "exp9 needs the frames of a tracker; it will be left out."));
    return issues;
}

} // namespace

void addRules(SchemaBuilder<McEmbeddingConfig>& builder)
{
    builder.rule("names", checkLists);
    builder.rule("study", checkPasses);
    builder.rule("later", checkLater);
    builder.rule("exp3", checkExp3);
    builder.rule("perturbation", checkPerturbation);
    builder.rule("folders", checkFolders);
    builder.rule("size", checkSize);
}

} // namespace vergence::mc_embedding
