#include "plugins/foveated_vlm/model/token_likelihood.h"

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/loss.h"
#include "core/compute/ops/pointwise.h"

namespace vergence::fvlm {

namespace {
/// Each row of x [n, H] times its own factor [n].
Tensor scaledRows(Graph& graph, const Tensor& x, const Tensor& factors)
{
    const Index rows = x.extent(0);
    Tensor ones = graph.scratch({1, x.extent(1)}, factors.dtype());
    fill(graph.stream(), ones, 1);
    const Tensor wide = graph.scratch(x.shape(), factors.dtype());
    graph.dense().matmul(graph.stream(), factors.reshaped({rows, 1}), ones, wide, {});
    Tensor spread = wide;
    if (wide.dtype() != x.dtype()) {
        spread = graph.scratch(x.shape(), x.dtype());
        cast(graph.stream(), wide, spread);
    }
    multiply(graph.stream(), x, spread, spread);
    return spread;
}

/// The whole number 1 on the device, without asking the host: a loss of one row counts one.
Tensor countedOnce(Graph& graph, DType real)
{
    const Tensor counted = graph.scratch({1}, DType::I32);
    const Tensor label = graph.scratch({1}, DType::I32);
    const Tensor number = graph.scratch({1}, real), row = graph.scratch({1}, real);
    graph.stream().fillBytes(label.data(), 0, label.bytes());
    fill(graph.stream(), number, 0);
    const Tensor loss = graph.scratch({1}, real);
    crossEntropy(graph.stream(), number.reshaped({1, 1}), label, row, counted, loss);
    return counted;
}

struct Problem {
    Value hidden, weight;
    Tensor labels;
    Index chunkRows = 0;
};

void backward(Graph& graph, const Problem& problem, const Tensor& gradY)
{
    const Tensor hidden = asRows(graph.dense(problem.hidden));
    const Tensor weight = graph.dense(problem.weight);
    const Index rows = hidden.extent(0), vocabulary = weight.extent(0);
    const Tensor one = graph.scratch({1}, gradY.dtype());
    const Tensor counted = countedOnce(graph, gradY.dtype());
    const Tensor logits =
        graph.scratch({std::min(problem.chunkRows, rows), vocabulary}, hidden.dtype());
    fill(graph.stream(), one, 1);
    OverwrittenGradient gradHidden(graph, problem.hidden);
    SummedGradient gradWeight(graph, problem.weight);
    const Tensor gradRows = asRows(gradHidden.tensor());
    for (Index first = 0; first < rows; first += problem.chunkRows) {
        const Index count = std::min(problem.chunkRows, rows - first);
        const auto piece = [&](const Tensor& tensor) { return tensor.narrow(0, first, count); };
        const Tensor z = logits.narrow(0, 0, count);
        MatmulOptions how;
        how.transposeB = true;
        graph.dense().matmul(graph.stream(), piece(hidden), weight, z, how);
        crossEntropyBackward(graph.stream(), z, piece(problem.labels), counted, one, z, false);
        const Tensor plain = graph.scratch({count, hidden.extent(1)}, hidden.dtype());
        graph.dense().matmul(graph.stream(), z, weight, plain, {});
        const Tensor scaled = scaledRows(graph, plain, piece(gradY));
        graph.stream().copy(piece(gradRows).data(), scaled.data(), scaled.bytes());
        if (!gradWeight.get())
            continue;
        MatmulOptions add;
        add.transposeA = true;
        add.beta = 1;
        graph.dense().matmul(graph.stream(), z, scaledRows(graph, piece(hidden), piece(gradY)),
                             *gradWeight.get(), add);
    }
    gradHidden.finish();
    gradWeight.finish();
}
} // namespace

Value tokenLikelihood(Graph& graph, Value hidden, Value weight, const Tensor& labels,
                      Index chunkRows)
{
    const Tensor rows = asRows(graph.dense(hidden));
    const Tensor matrix = graph.dense(weight);
    const DType sums = sumType(rows.dtype());
    const Tensor y = graph.take({rows.extent(0)}, sums);
    const Tensor counted = graph.take({1}, DType::I32), loss = graph.take({1}, sums);
    const Tensor logits =
        graph.take({std::min(chunkRows, rows.extent(0)), matrix.extent(0)}, rows.dtype());
    const Tensor flat = labels.reshaped({labels.size()});
    linearCrossEntropy(graph.stream(), rows, matrix, flat, y, counted, loss, logits);
    const Problem problem{hidden, weight, flat, chunkRows};
    return graph.record(y, {hidden, weight},
                        [problem](Graph& g, const Tensor& gradY) { backward(g, problem, gradY); });
}

} // namespace vergence::fvlm
