#include "plugins/sugar/pipeline/ingest.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/pipeline/forecast.h"
#include "plugins/sugar/pipeline/plan.h"
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/train/recentred.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kMostLeftOut = 20; ///< rows of the table, lines of a text

void reportFindings(RunContext& context, const PictureSource& pictures)
{
    const std::vector<DamagedLine>& damaged = pictures.scene().damaged;
    for (std::size_t i = 0; i < std::min(damaged.size(), kMostLeftOut); ++i)
        context.warn("E-DATA", fmt::format("{} line {} is left out: {}.", damaged[i].file,
                                           damaged[i].number, damaged[i].fault));
    if (damaged.size() > kMostLeftOut)
        context.warn("E-DATA",
                     fmt::format("{} further lines are left out.", damaged.size() - kMostLeftOut));
    for (const SceneFinding& finding : pictures.findings()) {
        if (finding.severity == SceneFinding::Severity::Warning)
            context.warn(finding.id, finding.sentence);
        else
            log("sugar").info("{}", finding.sentence);
    }
}

/// Cuts pictures into bands where whole ones would not fit.
void chooseBands(RunContext& context, Workspace& workspace)
{
    const PictureSource& pictures = workspace.pictures->source();
    const auto points = static_cast<Index>(pictures.scene().points.size());
    const std::size_t free = context.device()->memory().free;
    const Index rows =
        bandRowsFor(workspace.config, pictures, points > 0 ? points : workspace.config.randomPoints,
                    context.device()->isCpu(), free);
    workspace.bandRows = rows;
    const auto isHigher = [&](const Camera& camera) { return camera.height > rows; };
    if (rows > 0 && std::any_of(pictures.cameras().begin(), pictures.cameras().end(), isHigher))
        log("sugar").info("Pictures are learnt from in bands of {} rows; {:.0f} MB are free.", rows,
                          static_cast<double>(free) / 1e6);
}

} // namespace

void reportScene(RunContext& context, const Workspace& workspace)
{
    const PictureSource& pictures = workspace.pictures->source();
    if (pictures.count() == 0)
        return;
    const auto tests = std::count(workspace.isTest.begin(), workspace.isTest.end(), true);
    const Camera& first = pictures.cameras().front();
    nlohmann::json rows = nlohmann::json::array();
    const auto add = [&](const char* name, const std::string& value) {
        rows.push_back({name, value});
    };
    add("scene", pictures.scene().kind);
    add("pictures", fmt::format("{}, of them {} held out", pictures.count(), tests));
    add("size of the first", fmt::format("{} × {} px", first.width, first.height));
    if (pictures.masked() > 0)
        add("masks", fmt::format("{} of {} pictures", pictures.masked(), pictures.count()));
    if (workspace.config.masks == "alpha")
        add("transparent pixels", "do not count");
    add("lenses", fmt::format("{}", pictures.scene().cameras.size()));
    add("points", fmt::format("{}", pictures.scene().points.size()));
    add("extent of the cameras", fmt::format("{:.4g}", workspace.extent));
    const std::vector<LeftOutPicture>& leftOut = workspace.pictures->leftOut();
    for (std::size_t i = 0; i < std::min(leftOut.size(), kMostLeftOut); ++i)
        add("left out",
            fmt::format("{}: {}", pictures.name(leftOut[i].picture), leftOut[i].reason));
    if (leftOut.size() > kMostLeftOut)
        add("left out", fmt::format("{} more", leftOut.size() - kMostLeftOut));
    context.table(
        {{"id", "data"}, {"title", "Data"}, {"columns", {"figure", "value"}}, {"rows", rows}});
}

std::optional<Workspace> ingested(RunContext& context, const SugarConfig& config)
{
    const auto isStopped = [&] { return context.stopRequested(); };
    Workspace workspace;
    const std::optional<Scene> scene = sceneOf(config);
    if (isStopped())
        return std::nullopt;
    workspace.config = planned(context, config, scene);
    std::shared_ptr<PictureSource> pictures = picturesOf(workspace.config, scene, isStopped);
    if (isStopped())
        return std::nullopt;
    workspace.origin = originOf(*pictures);
    workspace.isTest = heldOut(workspace.config, *pictures);
    workspace.pictures = std::make_shared<TrainingPictures>(pictures, context.device());
    if (const auto learnt = workspace.learntCameras(); !learnt.empty())
        workspace.extent = sceneExtent(learnt, pictures->scene().points);
    else if (config.hasNoPictures())
        workspace.extent = cloudExtent(readGaussians(config.gaussians));
    chooseBands(context, workspace);
    reportFindings(context, *pictures);
    context.note("scene", {{"kind", pictures->scene().kind},
                           {"root", pictures->scene().root.string()},
                           {"fingerprint", pictures->fingerprint()},
                           {"extent", workspace.extent}});
    reportScene(context, workspace);
    return workspace;
}

} // namespace vergence::sugar
