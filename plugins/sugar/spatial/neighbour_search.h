#pragma once

#include "plugins/sugar/spatial/neighbours.h"
#include "plugins/sugar/spatial/point_tree.h"

namespace vergence::sugar {

/// Rows a stop is looked for between.
inline constexpr Index kSearchBatch = 8'192;

/// An empty table of the right shape.
NeighbourTable emptyTable(Index count, int k);

/// Fills rows [first, last) of the table. Returns false, with some of them not filled, where `stop`
/// said so.
bool searchRows(const PointTree<float>& tree, std::span<const float> position, Index first,
                Index last, const std::function<bool()>& stop, NeighbourTable& table);

} // namespace vergence::sugar
