#include "plugins/sugar/pipeline/surface_settings.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/base/log.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/surface/poisson.h"
#include "plugins/sugar/view/view_camera.h"

namespace vergence::sugar {

namespace {

constexpr Index kSamplesCpu = 8'192, kSamplesGpu = 250'000;
constexpr Index kFewGaussians = 1'000;
constexpr double kLeastLean = 0.2; ///< of the cameras to one side, of their distance

LearningRates ratesOf(const SugarConfig& config)
{
    return {config.ratePosition, config.ratePositionFinal, config.rateShDc,    config.rateShRest,
            config.rateOpacity,  config.rateScale,         config.rateRotation};
}

template <class T>
std::vector<T> rows(const std::vector<T>& values, const std::vector<std::size_t>& kept,
                    std::size_t width)
{
    std::vector<T> result;
    if (values.empty())
        return result;
    result.reserve(kept.size() * width);
    for (const std::size_t row : kept)
        result.insert(result.end(), values.begin() + static_cast<std::ptrdiff_t>(row * width),
                      values.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    return result;
}

} // namespace

Index samplesOf(const SugarConfig& config, bool isCpu)
{
    return config.samples > 0 ? config.samples : isCpu ? kSamplesCpu : kSamplesGpu;
}

AlignerSettings alignerSettings(const Workspace& workspace, bool isCpu)
{
    const SugarConfig& c = workspace.config;
    AlignerSettings s;
    s.mode = c.alignMode == "density" ? AlignerSettings::Mode::Density
             : c.alignMode == "sdf"   ? AlignerSettings::Mode::Sdf
                                      : AlignerSettings::Mode::DepthNormal;
    s.schedule.steps = c.alignSteps;
    s.schedule.phase1 = c.regulariseFrom;
    s.schedule.ramp = c.regulariseRamp;
    s.schedule.every = c.regulariseEvery;
    s.schedule.knnEvery = c.neighboursEvery;
    s.schedule.dnEvery = c.depthNormalEvery;
    s.entropy = c.entropy;
    s.pruneOpacity = c.alignPrune;
    s.samples = samplesOf(c, isCpu);
    s.factor = c.densityFactor;
    s.normalFactor = c.normalFactor;
    s.knn = c.neighbours;
    s.dnFactor = c.depthNormal;
    s.dnHalf = c.depthNormalHalf;
    s.dnMode =
        c.depthNormalMode == "original" ? DepthNormalMode::Summed : DepthNormalMode::Normalised;
    s.detachSamples = c.detachSamples;
    s.useFilter = c.fieldFilter;
    const LearningRates alignment = s.rates;
    s.rates = ratesOf(c);
    s.rates.position = alignment.position;
    s.rates.positionFinal = alignment.positionFinal;
    s.mip = !workspace.gaussians.filter.empty();
    s.threeSigma = c.rasterRadius == "3sigma";
    s.dssim = c.dssim;
    s.extent = workspace.extent;
    s.near = nearPlane(c, workspace.extent);
    s.background = backgroundOf(c);
    s.shDegree = workspace.gaussians.degree;
    s.sparseAdam = usesSparseAdam(c, workspace.gaussians.count());
    s.moments = momentFormat(c);
    s.seed = c.seed;
    return s;
}

RefinerSettings refinerSettings(const Workspace& workspace)
{
    const SugarConfig& c = workspace.config;
    RefinerSettings s;
    s.steps = c.refineSteps;
    s.perTriangle = c.refinePerTriangle;
    s.normalWeight = c.refineNormal;
    s.fixedOpacity = c.refineFixedOpacity;
    s.rates = ratesOf(c);
    s.extent = workspace.extent;
    if (!c.box.empty()) {
        const SceneBox box = sceneBox(workspace);
        s.boxRadius = std::hypot(box.halfSize[0], box.halfSize[1], box.halfSize[2]);
    }
    s.near = nearPlane(c, workspace.extent);
    s.background = backgroundOf(c);
    s.threeSigma = c.rasterRadius == "3sigma";
    s.dssim = c.dssim;
    s.degree = c.shDegree;
    s.bandRows = workspace.bandRows;
    s.seed = c.seed;
    return s;
}

SurfaceSettings pointSettings(const SugarConfig& config, double level)
{
    SurfaceSettings settings;
    settings.points = config.surfacePoints;
    settings.scale = config.surfaceScale;
    settings.levels = {static_cast<float>(level)};
    settings.seed = config.seed;
    return settings;
}

TsdfSettings tsdfSettings(const Workspace& workspace, const SceneBox& box, Region region, int depth)
{
    TsdfSettings settings;
    settings.voxel = box.voxelOf(region, depth);
    settings.referenceDepth = workspace.extent;
    return settings;
}

std::string solverOf(const SugarConfig& config)
{
    std::string reason;
    if (config.solver == "poisson" && !hasPoisson(&reason))
        throw InputError("Poisson reconstruction cannot run here: " + reason +
                         " Choose tsdf or density as solver.");
    if (config.solver != "auto")
        return config.solver;
    return hasPoisson() ? "poisson" : "tsdf";
}

SceneBox sceneBox(const Workspace& workspace)
{
    const std::vector<double>& box = workspace.config.box;
    if (box.empty())
        return boxAround(workspace.learntCameras(), workspace.extent,
                         workspace.config.meshBackground);
    SceneBox result;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        result.centre[axis] = (box[axis] + box[3 + axis]) / 2 - workspace.origin[axis];
        result.halfSize[axis] = (box[3 + axis] - box[axis]) / 2;
    }
    if (!workspace.config.meshBackground)
        result.reach = 1;
    return result;
}

double leastArea(double extent)
{
    return 1e-12 * extent * extent;
}

GaussianCloud withoutFaint(const GaussianCloud& cloud, double opacity)
{
    const auto logit = static_cast<float>(std::log(opacity / (1 - opacity)));
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < cloud.opacity.size(); ++i) {
        if (opacity <= 0 || cloud.opacity[i] > logit)
            kept.push_back(i);
    }
    if (static_cast<Index>(kept.size()) < kFewGaussians)
        return cloud;
    GaussianCloud result;
    result.degree = cloud.degree;
    result.position = rows(cloud.position, kept, 3);
    result.logScale = rows(cloud.logScale, kept, 3);
    result.rotation = rows(cloud.rotation, kept, 4);
    result.opacity = rows(cloud.opacity, kept, 1);
    result.shDc = rows(cloud.shDc, kept, 3);
    result.shRest =
        rows(cloud.shRest, kept, 3 * static_cast<std::size_t>(restCoefficients(cloud.degree)));
    result.filter = rows(cloud.filter, kept, 1);
    return result;
}

MeshAxes meshAxes(const Workspace& workspace)
{
    const std::vector<Camera>& cameras = workspace.pictures->source().cameras();
    if (cameras.empty())
        return {};
    const SceneFrame frame = sceneFrame(cameras);
    const Point3 up{frame.up[0], frame.up[1], frame.up[2]};
    const auto towards = [&](const Camera& camera) {
        const auto c = camera.centre();
        const Point3 away{c[0] - frame.target[0], c[1] - frame.target[1], c[2] - frame.target[2]};
        return away - dot(away, up) * up;
    };
    Point3 mean;
    for (const Camera& camera : cameras)
        mean = mean + (1.0 / static_cast<double>(cameras.size())) * towards(camera);
    // Cameras all around have no side in common.
    if (norm(mean) < kLeastLean * frame.radius)
        mean = towards(cameras.front());
    if (!(norm(mean) > 0))
        return {};
    const Point3 front = unit(mean);
    return {frame.up, {front.x, front.y, front.z}};
}

} // namespace vergence::sugar
