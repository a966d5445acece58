#pragma once

#include "core/compute/dense/tile_kernels.h"

namespace vergence {

/// A part of y.
struct TilePlace {
    Index batch = 0, row = 0, column = 0; ///< of its first number
    Index rows = 0, columns = 0;
};

/// Where a tile lies in one of a problem's results; null where there is none.
std::byte* placeIn(const MatmulProblem& problem, const MatrixBatch& result, const TilePlace& tile);

/// All that follows the product of a tile; `product` may lie where y or preActivation is.
TileFinish finishOf(const MatmulProblem& problem, const TilePlace& tile, const void* product,
                    Index productStride);

} // namespace vergence
