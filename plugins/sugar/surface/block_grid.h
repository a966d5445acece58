#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/compute/view.h"

namespace vergence::sugar {

inline constexpr int kBlockSide = 8;
inline constexpr int kBlockNodes = kBlockSide * kBlockSide * kBlockSide;

/// Numbers at nodes of a cubic lattice, kept in blocks of 8³ where there are any. Node (i, j, k)
/// lies at origin + voxel · (i, j, k). A node that is NaN, or in no block, is unknown.
class BlockGrid {
public:
    using Place = std::array<int, 3>; ///< block coordinates: node = 8 · place + offset

    BlockGrid(const std::array<double, 3>& origin, double voxel);

    Index blocks() const { return static_cast<Index>(m_places.size()); }
    const Place& place(Index block) const { return m_places[static_cast<std::size_t>(block)]; }
    /// −1 where there is none.
    Index find(const Place& place) const;
    /// Adds the blocks that a box of the world meets, as far as they are missing; nodes unknown.
    /// Throws ContractError where the box is more than 2^20 blocks from the origin.
    void cover(const std::array<double, 3>& low, const std::array<double, 3>& high);

    /// [512] of a block, x fastest.
    float* values(Index block) { return &m_values[static_cast<std::size_t>(block) * kBlockNodes]; }
    const float* values(Index block) const
    {
        return &m_values[static_cast<std::size_t>(block) * kBlockNodes];
    }
    static std::size_t offsetOf(int x, int y, int z)
    {
        return static_cast<std::size_t>((z * kBlockSide + y) * kBlockSide + x);
    }

    double voxel() const { return m_voxel; }
    const std::array<double, 3>& origin() const { return m_origin; }
    /// World position of a node of a block.
    std::array<double, 3> position(const Place& place, int x, int y, int z) const;

private:
    static std::uint64_t keyOf(const Place& place);
    Place placeOf(const std::array<double, 3>& point) const;

    std::array<double, 3> m_origin;
    double m_voxel;
    std::vector<Place> m_places;
    std::vector<float> m_values;
    std::unordered_map<std::uint64_t, Index> m_index;
    std::array<Place, 2> m_covered{}; ///< corners of the last box, where m_isCovered
    bool m_isCovered = false;
};

} // namespace vergence::sugar
