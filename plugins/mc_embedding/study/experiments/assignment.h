#pragma once

#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Column for every row so that the sum of costs is least; −1 for rows that are left over where
/// there are fewer columns. Costs are finite. The Hungarian method with shortest augmenting paths,
/// O(rows² · columns). Source: On the implementation of a primal-dual algorithm for the assignment
/// problem (Jonker, Volgenant 1987).
std::vector<int> optimalAssignment(const Matrix& costs);

} // namespace vergence::mc_embedding
