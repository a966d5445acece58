#include "plugins/live_diffusion/train/consistency_loss.h"

#include <vector>

#include "core/compute/graph/functions.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/model/tape_ops.h"

namespace vergence::live {

Value consistencyLoss(Graph& graph, Value f, Value target)
{
    const Index rows = graph.shape(f)[0];
    std::vector<Value> squares;
    for (Index row = 0; row < rows; ++row)
        squares.push_back(
            meanSquaredError(graph, narrow(graph, f, 0, row, 1), narrow(graph, target, 0, row, 1)));
    const Value distances = smoothRoot(graph, concat(graph, squares, 0), kConsistencyCorner);
    const Tensor shares = graph.take(graph.shape(distances), graph.tensor(distances).dtype());
    fill(graph.stream(), shares, 1 / static_cast<double>(rows));
    return weightedSum(graph, distances, shares);
}

} // namespace vergence::live
