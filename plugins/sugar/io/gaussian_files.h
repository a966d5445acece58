#pragma once

#include <filesystem>
#include <vector>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/io/scene.h"

namespace vergence::sugar {

/// 3DGS PLY: properties are found by name in any order, binary or ASCII, float or double, degrees 0
/// to 3. Rows with numbers that are not finite are dropped and counted. Throws InputError.
GaussianCloud readGaussianPly(const std::filesystem::path& path, Index* droppedRows = nullptr);

struct GaussianPlyOptions {
    int degree = 3; ///< at most the cloud's
    bool ascii = false;
    bool bakeFilter = false; ///< writes filtered scales and opacities instead of `filter_3D`
};
void writeGaussianPly(const std::filesystem::path& path, const GaussianCloud& cloud,
                      const GaussianPlyOptions& options = {});

/// 32 bytes a Gaussian, sorted by size × opacity; colour and opacity in 8 bits, no harmonics.
void writeSplat(const std::filesystem::path& path, const GaussianCloud& cloud);
GaussianCloud readSplat(const std::filesystem::path& path);

/// SPZ version 2 (gzip). Positions to 2⁻¹² world units, the rest in 8 bits.
void writeSpz(const std::filesystem::path& path, const GaussianCloud& cloud);
GaussianCloud readSpz(const std::filesystem::path& path);

/// By content: PLY, SPZ or .splat (by its name). Only a PLY drops rows.
GaussianCloud readGaussians(const std::filesystem::path& path, Index* droppedRows = nullptr);

/// Gaussians at the points: colour, scale from the three nearest others, opacity 0.1. Points of
/// large error or short track are left out while more than 10,000 remain. `scaleFactor` and
/// `opacity` differ for MCMC.
GaussianCloud initialCloud(const std::vector<ScenePoint>& points, double extent,
                           double opacity = 0.1, double scaleFactor = 1);
/// Where a scene has no points: uniform in a cube about `centre`, mid grey.
GaussianCloud randomCloud(Index count, const std::array<double, 3>& centre, double halfSize,
                          double extent, std::uint64_t seed);

} // namespace vergence::sugar
