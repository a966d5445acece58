#include "core/compute/dense/tile_finish.h"

#include "core/compute/dense/pieces.h"

namespace vergence {

std::byte* placeIn(const MatmulProblem& problem, const MatrixBatch& result, const TilePlace& tile)
{
    return advanced(result.data,
                    problem.offsetOf(result, tile.batch) + tile.row * result.rowStride +
                        tile.column,
                    problem.outType);
}

TileFinish finishOf(const MatmulProblem& problem, const TilePlace& tile, const void* product,
                    Index productStride)
{
    TileFinish rest;
    rest.product = product;
    rest.productStride = productStride;
    rest.rows = tile.rows;
    rest.columns = tile.columns;
    rest.type = problem.outType;
    rest.y = placeIn(problem, problem.y, tile);
    rest.yStride = problem.y.rowStride;
    rest.residual = placeIn(problem, problem.residual, tile);
    rest.residualStride = problem.residual.rowStride;
    rest.preActivation = placeIn(problem, problem.preActivation, tile);
    rest.preActivationStride = problem.preActivation.rowStride;
    if (rest.preActivation == product && problem.alpha == 1 && !problem.bias)
        rest.preActivation = nullptr; // is there already
    rest.bias =
        advanced(problem.bias, problem.biasPerRow ? tile.row : tile.column, problem.biasType);
    rest.biasType = problem.biasType;
    rest.biasPerRow = problem.biasPerRow;
    rest.activation = problem.activation;
    rest.alpha = problem.alpha;
    rest.beta = problem.beta;
    return rest;
}

} // namespace vergence
