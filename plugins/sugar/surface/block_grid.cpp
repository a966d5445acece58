#include "plugins/sugar/surface/block_grid.h"

#include <cmath>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

constexpr int kFarthestPlace = 1 << 20;

} // namespace

BlockGrid::BlockGrid(const std::array<double, 3>& origin, double voxel)
    : m_origin(origin),
      m_voxel(voxel)
{
    expects(voxel > 0 && std::isfinite(voxel), "BlockGrid: the voxel must be above 0");
}

std::uint64_t BlockGrid::keyOf(const Place& place)
{
    std::uint64_t key = 0;
    for (const int axis : place)
        key = key << 21 | static_cast<std::uint64_t>(axis + kFarthestPlace);
    return key;
}

Index BlockGrid::find(const Place& place) const
{
    for (const int axis : place) {
        if (axis < -kFarthestPlace || axis >= kFarthestPlace)
            return -1;
    }
    const auto found = m_index.find(keyOf(place));
    return found == m_index.end() ? -1 : found->second;
}

void BlockGrid::cover(const std::array<double, 3>& low, const std::array<double, 3>& high)
{
    const Place first = placeOf(low), last = placeOf(high);
    if (m_isCovered && m_covered == std::array<Place, 2>{first, last})
        return; // neighbouring pixels and points mostly ask for the same blocks
    m_covered = {first, last};
    m_isCovered = true;
    for (int z = first[2]; z <= last[2]; ++z) {
        for (int y = first[1]; y <= last[1]; ++y) {
            for (int x = first[0]; x <= last[0]; ++x) {
                if (m_index.try_emplace(keyOf({x, y, z}), blocks()).second)
                    m_places.push_back({x, y, z});
            }
        }
    }
    m_values.resize(m_places.size() * kBlockNodes, std::numeric_limits<float>::quiet_NaN());
}

std::array<double, 3> BlockGrid::position(const Place& place, int x, int y, int z) const
{
    return {m_origin[0] + m_voxel * (kBlockSide * place[0] + x),
            m_origin[1] + m_voxel * (kBlockSide * place[1] + y),
            m_origin[2] + m_voxel * (kBlockSide * place[2] + z)};
}

BlockGrid::Place BlockGrid::placeOf(const std::array<double, 3>& point) const
{
    Place place{};
    for (std::size_t i = 0; i < 3; ++i) {
        const double block = std::floor((point[i] - m_origin[i]) / (kBlockSide * m_voxel));
        expects(std::abs(block) < kFarthestPlace,
                "BlockGrid: the voxel is too small for the extent of the surface");
        place[i] = static_cast<int>(block);
    }
    return place;
}

} // namespace vergence::sugar
