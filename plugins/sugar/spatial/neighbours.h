#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/compute/view.h"

namespace vergence::sugar {

/// The nearest neighbours of each of N points among them.
struct NeighbourTable {
    Index count = 0; ///< N
    int k = 0;       ///< entries of a row
    /// Different points of a row, min(k, N). The other entries repeat the last one and are to be
    /// given the weight 0.
    int valid = 0;
    /// [N, k] First the point itself, then by distance, the smaller index first where distances are
    /// equal.
    std::vector<std::uint32_t> index;

    std::span<const std::uint32_t> row(Index i) const
    {
        const auto width = static_cast<std::size_t>(k);
        return std::span(index).subspan(static_cast<std::size_t>(i) * width, width);
    }
    bool operator==(const NeighbourTable&) const = default;
};

/// Neighbours of all `position` [N, 3], which must be finite; k of at least 1. Runs on all threads;
/// the result does not depend on their number. `stop` is asked at least every 100 ms of search, not
/// while the tree is built (0.3 s per million points); where it says so, an empty table comes back.
NeighbourTable nearestNeighbours(std::span<const float> position, int k,
                                 const std::function<bool()>& stop = {});

/// ln of the distance to the nearest other point, at least 1e-7: the scale that SuGaR gives to
/// Gaussians which start from bare points. [N]; `neighbours` of the positions with k of at least 2.
/// Source: SuGaR (2024), its initialisation of scales.
std::vector<float> logNearestDistance(std::span<const float> position,
                                      const NeighbourTable& neighbours);

} // namespace vergence::sugar
