#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugins/sugar/compute/camera.h"

namespace vergence::sugar {

/// Parts of a scene that are meshed by themselves.
enum class Region : std::uint8_t { Foreground, Background, Outside };

/// What counts as foreground: |x − centre| ≤ halfSize on every axis, world units. The background
/// reaches `reach` times as far; 1 or less: there is none.
/// Source: SuGaR (2024), supplementary material on mesh extraction.
struct SceneBox {
    std::array<double, 3> centre{};
    std::array<double, 3> halfSize{1, 1, 1};
    double reach = 4;

    Region regionOf(const std::array<double, 3>& point) const; ///< Outside where not finite
    /// Longest half side of a region; that of the foreground for Outside.
    double reachOf(Region region) const;
    /// Edge of a voxel where 2^depth of them fill the longest side of a region. depth 1 to 16.
    double voxelOf(Region region, int depth) const;
};

/// The cube of half side `extent` (above 0) about the mean of the camera centres. At least one
/// camera.
SceneBox boxAround(const std::vector<Camera>& cameras, double extent, bool hasBackground = true);

} // namespace vergence::sugar
