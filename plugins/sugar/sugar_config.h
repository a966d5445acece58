#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace vergence::sugar {

/// Every parameter of the lab with its default. Specification, section 22.3.
struct SugarConfig {
    std::uint64_t seed = 1;
    std::string goal = "texture";    ///< the last stage: gaussians … texture
    std::string plan = "as_set";     ///< or auto: sizes follow the device's memory
    std::filesystem::path reuseFrom; ///< run whose stages may be taken over; empty: none

    std::filesystem::path scene;       ///< folder; empty: the built-in scene
    std::filesystem::path images;      ///< folder of the photographs; empty: where the scene says
    std::string masks = "auto";        ///< or alpha, none
    std::filesystem::path maskFolder;  ///< empty: masks beside the photographs
    std::string damagedLines = "stop"; ///< or skip
    std::filesystem::path gaussians;   ///< file to start from instead of points; empty: none
    double imageScale = 1;
    int maxWidth = 1920;
    std::string undistortFit = "inside";
    int builtInWidth = 160, builtInHeight = 120;
    bool gloss = false;
    std::int64_t cacheMegabytes = 0;

    bool evalSplit = true;
    std::string evalRule = "each"; ///< or even
    int evalEach = 8, evalCount = 4;
    std::vector<std::string> testImages;
    int evalEvery = 1'000;

    std::int64_t iterations = 30'000;
    bool progressive = false;
    int bandRows = 0; ///< 0: as memory asks
    int shDegree = 3, shEvery = 1'000;
    bool mip = true;
    std::string rasterRadius = "exact"; ///< or 3sigma
    std::string background = "auto";
    double nearPlane = 0; ///< world units; 0: 0.02 of the extent, at most 0.2
    double dssim = 0.2;
    int randomPoints = 100'000;

    double ratePosition = 1.6e-4, ratePositionFinal = 1.6e-6, rateShDc = 2.5e-3,
           rateShRest = 1.25e-4, rateOpacity = 5e-2, rateScale = 5e-3, rateRotation = 1e-3;
    std::string adamSparse = "auto";
    std::string adamMoments = "fp32"; ///< or compact

    std::string densify = "mcmc";
    std::int64_t densifyFrom = 500, densifyUntil = 15'000, densifyEvery = 100;
    double densifyGradient = 2e-4, densifyAbsolute = 8e-4, densifyPercent = 0.01;
    double pruneOpacity = 0.005;
    std::int64_t resetEvery = 3'000;
    std::int64_t cap = 1'000'000;
    std::string capMode = "best"; ///< or bisect
    bool revisedOpacity = false;

    std::int64_t alignSteps = 8'000;
    std::string alignMode = "dn_consistency";
    double entropy = 0.1, alignPrune = 0.5;
    std::int64_t regulariseFrom = 2'000, regulariseRamp = 200;
    std::int64_t samples = 0; ///< 0: 250,000 on a GPU, 8,192 on the CPU
    int regulariseEvery = 1;
    double densityFactor = 0.2, normalFactor = 0.2;
    int neighbours = 16;
    std::int64_t neighboursEvery = 500;
    double depthNormal = 0.05;
    std::string depthNormalMode = "normalised";
    bool depthNormalHalf = false;
    int depthNormalEvery = 1;
    bool detachSamples = false, fieldFilter = true;

    std::int64_t surfacePoints = 10'000'000;
    double surfaceLevel = 0.3, surfaceScale = 1, outlierDeviations = 20;
    std::string solver = "auto";
    int poissonDepth = 10, gridDepth = 8;
    bool meshBackground = true;
    std::vector<double> box; ///< smallest and largest corner; empty: around the cameras
    double meshQuantile = 0.1, meshParts = 0.001;
    int meshHoles = 60; ///< edges
    std::int64_t triangles = 1'000'000;
    double trianglesBackground = 0.5; ///< share of `triangles`

    int refinePerTriangle = 1;
    std::int64_t refineSteps = 15'000;
    double refineNormal = 0.1;
    bool refineFixedOpacity = false;

    std::string texturePacking = "charts";
    int textureSquare = 10, textureSide = 8'192;
    std::string textureSource = "diffuse";
    bool textureRobust = true;
    bool trimBorder = false, keepLargest = false;
    int fillHoles = 0, smoothRounds = 0;

    std::vector<int> milestones = {5'000, 7'000, 10'000, 13'000, 15'000};
    std::vector<std::string> formats = {"ply"};
    bool bakeFilter = false;
    int turntableFrames = 72, turntableSize = 480;

    bool isBuiltIn() const { return scene.empty() && gaussians.empty(); }
    /// Gaussians of a file without a scene: there is nothing to learn from.
    bool hasNoPictures() const { return scene.empty() && !gaussians.empty(); }
};

ConfigSchema sugarSchema();
SugarConfig readSugarConfig(const Config& config);

} // namespace vergence::sugar
