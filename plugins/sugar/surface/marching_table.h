#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace vergence::sugar {

// Corner c of a cell lies at (c & 1, c >> 1 & 1, c >> 2). Edges 4a … 4a + 3 run along axis a, in
// the order of the corners that they start at.

/// The corners that an edge of a cell joins, the one that it starts at first.
std::array<int, 2> cornersOfEdge(int edge);

/// How a cell is cut: triangles over points on edges (0 … 11) and in the middle of rings (12 …).
struct CellCut {
    std::vector<std::array<std::uint8_t, 3>> triangles;
    std::vector<std::vector<std::uint8_t>>
        middles; ///< edges whose points 12, 13, … are the mean of
};

/// One entry per set of inside corners, bit c for corner c. See marched() for the rules.
const std::array<CellCut, 256>& cellCuts();

} // namespace vergence::sugar
