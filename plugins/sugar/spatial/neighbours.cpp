#include "plugins/sugar/spatial/neighbours.h"

#include <algorithm>
#include <cmath>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/compute/z_order.h"
#include "plugins/sugar/spatial/neighbour_search.h"

namespace vergence::sugar {

namespace {

/// Fills the row of one point. There may be more points than the row has entries at its very place,
/// so the point itself may be missing among those found.
void searchRow(const PointTree<float>& tree, std::span<const float> position, std::size_t point,
               std::span<double> squaredDistances, NeighbourTable& table)
{
    const auto width = static_cast<std::size_t>(table.k);
    const auto row = std::span(table.index).subspan(point * width, width);
    const auto self = static_cast<std::uint32_t>(point);
    const std::size_t found = tree.nearest(&position[3 * point], width, row, squaredDistances);
    auto at = std::find(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(found), self);
    if (at == row.begin() + static_cast<std::ptrdiff_t>(found))
        --at;
    std::copy_backward(row.begin(), at, at + 1);
    row[0] = self;
    for (std::size_t i = found; i < width; ++i)
        row[i] = row[found - 1];
}

} // namespace

NeighbourTable emptyTable(Index count, int k)
{
    NeighbourTable table;
    table.count = count;
    table.k = k;
    table.valid = static_cast<int>(std::min<Index>(k, count));
    table.index.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(k));
    return table;
}

bool searchRows(const PointTree<float>& tree, std::span<const float> position, Index first,
                Index last, const std::function<bool()>& stop, NeighbourTable& table)
{
    const auto offset = static_cast<std::size_t>(first);
    // Queries close to each other walk the same nodes.
    const std::vector<std::uint32_t> order =
        zOrder(position.subspan(3 * offset, 3 * static_cast<std::size_t>(last - first)));
    const auto searchRange = [&](const tbb::blocked_range<std::size_t>& range) {
        std::vector<double> squaredDistances(static_cast<std::size_t>(table.k));
        for (std::size_t i = range.begin(); i < range.end(); ++i)
            searchRow(tree, position, offset + order[i], squaredDistances, table);
    };
    for (std::size_t begin = 0; begin < order.size(); begin += kSearchBatch) {
        if (stop && stop())
            return false;
        const std::size_t end = std::min<std::size_t>(order.size(), begin + kSearchBatch);
        tbb::parallel_for(tbb::blocked_range<std::size_t>(begin, end, 128), searchRange);
    }
    return true;
}

NeighbourTable nearestNeighbours(std::span<const float> position, int k,
                                 const std::function<bool()>& stop)
{
    expects(k >= 1, "nearestNeighbours: at least one neighbour, the point itself, must be wanted");
    const PointTree<float> tree(position);
    NeighbourTable table = emptyTable(static_cast<Index>(tree.count()), k);
    if (!searchRows(tree, position, 0, table.count, stop, table))
        return {};
    return table;
}

std::vector<float> logNearestDistance(std::span<const float> position,
                                      const NeighbourTable& neighbours)
{
    expects(neighbours.k >= 2 && position.size() == 3 * static_cast<std::size_t>(neighbours.count),
            "logNearestDistance: neighbours of these points, two of each, are needed");
    std::vector<float> result(static_cast<std::size_t>(neighbours.count));
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::size_t other = neighbours.row(static_cast<Index>(i))[1];
        double squared = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double difference = static_cast<double>(position[3 * i + axis]) -
                                      static_cast<double>(position[3 * other + axis]);
            squared += difference * difference;
        }
        result[i] = static_cast<float>(std::log(std::max(std::sqrt(squared), 1e-7)));
    }
    return result;
}

} // namespace vergence::sugar
