#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/optics.h"
#include "plugins/light_field/compute/scene.h"
#include "plugins/light_field/compute/solver.h"

namespace vergence::light_field {

/// Every parameter of the lab with its default: the physical demo. Lengths in mm, accommodation in
/// dioptres.
struct LightFieldConfig {
    std::string profile = "physical";

    std::string sweep = "boards";
    std::vector<int> boards = {26, 32, 38, 44, 52, 60};
    std::string checkerMapping = "seed";
    double sphereDistance = 200.0, sphereRadius = 50.0;
    std::vector<std::string> scenes = {"basic"};
    std::string sweepKey = "planes";
    std::vector<double> sweepValues = {1, 2, 4, 8};
    std::filesystem::path colorImage, depthImage;
    double depthImageNear = 120.0, depthImageFar = 400.0;
    std::string depthEncoding = "linear";
    double fieldOfView = 28.0;
    bool lambert = false;
    std::vector<double> background = {0, 0, 0};

    double pupilDiameter = 4.0, retinaDistance = 24.0, retinaSize = 14.0, eyeFocal = 30.0;
    int renderRes = 256;
    std::string accRange = "auto";
    int accCount = 3;
    double accNear = 1000.0 / 150.0, accFar = 5.0;
    int eyeCount = 1;
    double eyeboxRadius = 1.0;

    double tunableZ = 50.0, tunableAperture = 0.0;
    int planes = 8;
    std::string planeSpacing = "depth";
    double depthNear = 140.0, depthFar = 220.0, focalFirst = 10.0, focalLast = 100.0;
    std::vector<double> focalLengths;

    double mlaZ = 80.0, mlaPitch = 0.4, mlaFocal = 1.0;
    std::string mlaShape = "circle";
    int mlaCount = 51;
    double panelGap = 2.0, panelSize = 20.0;
    int panelRes = 512;
    double headroom = 8.0;
    bool baffles = false;

    int raysPerPixel = 16, gtRays = 0, evalRays = 64;
    int tileRays = 8192;
    std::string sampling = "auto", missingPolicy = "auto";

    std::string solver = "pga";
    int iterations = 30;
    double learningRate = 0.03, weightDecay = 0.0;
    int subsets = 4;
    double tolerance = 1e-4;
    std::string init = "black";
    int coarseIterations = 0;
    double smoothness = 0.0, roiWeight = 1.0, bgWeight = 1.0;
    int heldoutEvery = 10;

    std::string output = "minimal";
    int gifBoard = 0;
    bool rawExport = false;
    std::uint64_t seed = 42;

    bool isSeedProfile() const { return profile == "seed"; }
    /// What `auto` stands for follows from the profile.
    TexelSampling texelSampling() const;
    MissingPolicy missing() const;
};

ConfigSchema lightFieldSchema();
LightFieldConfig readLightFieldConfig(const Config& config);

/// The optics without focal lengths that need a scene; throws ContractError for impossible
/// geometry.
Optics opticsOf(const LightFieldConfig& config, const Scene& scene);
EyeStateSettings eyeStatesOf(const LightFieldConfig& config, const Scene& scene);
SolverSettings solverSettingsOf(const LightFieldConfig& config);

/// Keys that a parameter sweep may vary: numeric, one value each.
bool isSweepable(const std::string& key);
bool isWhole(const std::string& key); ///< takes whole numbers alone

} // namespace vergence::light_field
