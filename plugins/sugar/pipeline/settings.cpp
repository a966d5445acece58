#include "plugins/sugar/pipeline/settings.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/log.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/io/synthetic_surfaces.h"
#include "plugins/sugar/train/recentred.h"

namespace vergence::sugar {

namespace {

constexpr double kMcmcOpacity = 0.5, kMcmcScale = 0.1; ///< of the first Gaussians
constexpr Index kSparseAbove = 1'000'000;

ScheduleSettings scheduleOf(const SugarConfig& config)
{
    ScheduleSettings s;
    s.iterations = config.iterations;
    s.densifyFrom = config.densifyFrom;
    s.densifyUntil = config.densifyUntil;
    s.densifyEvery = config.densify == "none" ? 0 : config.densifyEvery;
    s.resetEvery = config.densify == "none" ? 0 : config.resetEvery;
    s.degreeEvery = config.shEvery;
    s.degree = config.shDegree;
    s.progressive = config.progressive;
    return s;
}

DensitySettings densityOf(const SugarConfig& config)
{
    DensitySettings s;
    s.mode = config.densify == "mcmc"       ? DensitySettings::Mode::Mcmc
             : config.densify == "absolute" ? DensitySettings::Mode::Absolute
             : config.densify == "combined" ? DensitySettings::Mode::Combined
                                            : DensitySettings::Mode::Classic;
    s.gradient = config.densifyGradient;
    s.absoluteGradient = config.densifyAbsolute;
    s.percentDense = config.densifyPercent;
    s.pruneOpacity = config.pruneOpacity;
    s.revisedOpacity = config.revisedOpacity;
    s.cap = config.cap;
    s.bisectsCap = config.capMode == "bisect";
    return s;
}

/// Held-out pictures by name; a name that no picture has is an error of the user's.
std::vector<bool> heldOutByName(const SugarConfig& config, const PictureSource& pictures)
{
    std::set<std::string> wanted(config.testImages.begin(), config.testImages.end());
    std::vector<bool> result(pictures.count(), false);
    for (std::size_t i = 0; i < pictures.count(); ++i)
        result[i] = wanted.erase(pictures.name(i)) > 0;
    if (!wanted.empty())
        throw InputError(fmt::format("test_images: the scene has no picture named {}; its first is "
                                     "{}.",
                                     fmt::join(wanted, ", "), pictures.name(0)));
    if (std::all_of(result.begin(), result.end(), [](bool test) { return test; }))
        throw InputError("test_images names every picture of the scene, and none is left to learn "
                         "from. Take some of them off that list.");
    return result;
}

/// The cloud in a frame with that origin.
GaussianCloud movedTo(const std::array<double, 3>& origin, GaussianCloud cloud)
{
    for (std::size_t i = 0; i < cloud.position.size(); ++i)
        cloud.position[i] = static_cast<float>(cloud.position[i] - origin[i % 3]);
    return cloud;
}

/// Where masks are looked for; empty: nowhere.
std::filesystem::path maskFolder(const SugarConfig& config)
{
    if (config.masks == "none" || !config.maskFolder.empty())
        return config.masks == "none" ? std::filesystem::path() : config.maskFolder;
    const std::filesystem::path root =
        std::filesystem::is_regular_file(config.scene) ? config.scene.parent_path() : config.scene;
    const std::filesystem::path beside =
        config.images.empty() ? root / "masks" : config.images.parent_path() / "masks";
    return std::filesystem::is_directory(beside) ? beside : std::filesystem::path();
}

/// `wanted` of `count` pictures, evenly spread; one is always left.
std::vector<bool> evenlySpread(std::size_t count, std::size_t wanted)
{
    std::vector<bool> result(count, false);
    const std::size_t held = std::min(wanted, count - 1);
    for (std::size_t k = 0; k < held; ++k) {
        const double at =
            (static_cast<double>(k) + 0.5) * static_cast<double>(count) / static_cast<double>(held);
        result[static_cast<std::size_t>(std::llround(at))] = true;
    }
    return result;
}

} // namespace

std::optional<Scene> sceneOf(const SugarConfig& config)
{
    if (config.hasNoPictures() || config.isBuiltIn())
        return std::nullopt;
    return readScene(config.scene, config.images, config.damagedLines == "skip");
}

std::unique_ptr<PictureSource> picturesOf(const SugarConfig& config,
                                          const std::optional<Scene>& scene,
                                          const std::function<bool()>& isStopped)
{
    if (config.hasNoPictures())
        return noPictures();
    if (config.isBuiltIn())
        return builtInPictures(config.builtInWidth, config.builtInHeight, config.gloss,
                               config.seed);
    PhotographSettings settings;
    settings.scale = config.imageScale;
    settings.maxWidth = config.maxWidth;
    settings.fit = config.undistortFit;
    settings.budgetBytes = static_cast<std::size_t>(config.cacheMegabytes) * 1'000'000;
    settings.background = backgroundOf(config);
    settings.keepsTransparency = config.background == "random";
    settings.alphaMasks = config.masks == "alpha";
    settings.masks = maskFolder(config);
    settings.isStopped = isStopped;
    return recentred(photographedPictures(scene.value(), settings));
}

std::vector<bool> heldOut(const SugarConfig& config, const PictureSource& pictures)
{
    std::vector<bool> result(pictures.count(), false);
    if (!config.evalSplit || result.empty())
        return result;
    if (!config.testImages.empty())
        return heldOutByName(config, pictures);
    if (config.evalRule == "even")
        return evenlySpread(pictures.count(), static_cast<std::size_t>(config.evalCount));
    bool saysItself = false;
    for (std::size_t i = 0; i < pictures.count(); ++i) {
        result[i] = pictures.isTest(i).value_or(false);
        saysItself = saysItself || pictures.isTest(i).has_value();
    }
    if (!saysItself) {
        for (std::size_t i = 0; i < pictures.count(); ++i)
            result[i] = i % static_cast<std::size_t>(config.evalEach) == 0;
    }
    // One picture cannot be learnt from and held out at once.
    if (std::all_of(result.begin(), result.end(), [](bool test) { return test; }))
        std::fill(result.begin(), result.end(), false);
    return result;
}

std::array<float, 3> backgroundOf(const SugarConfig& config)
{
    if (config.background == "white")
        return {1, 1, 1};
    if (config.background == "grey")
        return {0.5F, 0.5F, 0.5F};
    if (config.background == "auto" && config.isBuiltIn())
        return {static_cast<float>(kSyntheticSky[0]), static_cast<float>(kSyntheticSky[1]),
                static_cast<float>(kSyntheticSky[2])};
    return {0, 0, 0};
}

float nearPlane(const SugarConfig& config, double extent)
{
    return static_cast<float>(config.nearPlane > 0 ? config.nearPlane
                                                   : std::min(0.2, 0.02 * extent));
}

bool usesSparseAdam(const SugarConfig& config, Index count)
{
    return config.adamSparse == "on" || (config.adamSparse == "auto" && count > kSparseAbove);
}

MomentFormat momentFormat(const SugarConfig& config)
{
    return config.adamMoments == "compact" ? MomentFormat::Compact : MomentFormat::F32;
}

TrainerSettings trainerSettings(const SugarConfig& config, double extent,
                                const GaussianCloud& start)
{
    TrainerSettings s;
    s.schedule = scheduleOf(config);
    s.schedule.leastDegree = start.degree;
    s.density = densityOf(config);
    s.rates = {config.ratePosition, config.ratePositionFinal, config.rateShDc,    config.rateShRest,
               config.rateOpacity,  config.rateScale,         config.rateRotation};
    s.mip = config.mip;
    // A file that is only looked at is shown as it was trained.
    s.keepsFilter = config.iterations == 0 && !config.gaussians.empty();
    if (s.keepsFilter)
        s.mip = !start.filter.empty();
    s.threeSigma = config.rasterRadius == "3sigma";
    s.dssim = config.dssim;
    s.extent = extent;
    s.near = nearPlane(config, extent);
    s.background = backgroundOf(config);
    s.randomBackground = config.background == "random";
    s.sparseAdam = usesSparseAdam(config, std::max(start.count(), config.cap));
    s.moments = momentFormat(config);
    s.seed = config.seed;
    return s;
}

double cloudExtent(const GaussianCloud& cloud)
{
    double extent = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<float> values;
        for (std::size_t i = axis; i < cloud.position.size(); i += 3)
            values.push_back(cloud.position[i]);
        if (values.empty())
            return 1;
        std::sort(values.begin(), values.end());
        const auto last = static_cast<double>(values.size() - 1);
        const auto at = [&](double share) {
            return values[static_cast<std::size_t>(share * last)];
        };
        extent = std::max(extent, 0.5 * static_cast<double>(at(0.95) - at(0.05)));
    }
    return extent > 0 ? 1.1 * extent : 1;
}

GaussianCloud startingCloud(const SugarConfig& config, const PictureSource& pictures, double extent,
                            Index* droppedRows)
{
    if (!config.gaussians.empty())
        return movedTo(originOf(pictures), readGaussians(config.gaussians, droppedRows));
    const bool isMcmc = config.densify == "mcmc";
    const Scene& scene = pictures.scene();
    if (scene.points.size() >= 4)
        return isMcmc ? initialCloud(scene.points, extent, kMcmcOpacity, kMcmcScale)
                      : initialCloud(scene.points, extent);
    log("sugar").warn("The scene has {} points; {} random Gaussians are the start.",
                      scene.points.size(), config.randomPoints);
    std::array<double, 3> centre{};
    for (const Camera& camera : pictures.cameras()) {
        const auto at = camera.centre();
        for (std::size_t i = 0; i < 3; ++i)
            centre[i] += at[i] / static_cast<double>(pictures.count());
    }
    return randomCloud(config.randomPoints, centre, 1.5 * extent, extent, config.seed);
}

} // namespace vergence::sugar
