#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/loss.h"
#include "core/compute/ops/scalar.h"

namespace vergence {

namespace {
Tensor takeLoss(Graph& graph, const Tensor& like)
{
    return graph.take({1}, sumType(like.dtype()));
}

/// A loss of prediction and target whose derivative with respect to the target is that with the two
/// exchanged: `backward(stream, prediction, target, gradLoss, gradPrediction, accumulate)`.
template <class Backward>
Value recordSymmetric(Graph& graph, Value prediction, Value target, const Tensor& loss,
                      const Backward& backward)
{
    return graph.record(loss, {prediction, target},
                        [prediction, target, backward](Graph& g, const Tensor& gradLoss) {
                            for (const auto& [of, other] :
                                 {std::pair{prediction, target}, std::pair{target, prediction}}) {
                                if (!g.needsGradient(of))
                                    continue;
                                const auto place = g.gradientTarget(of);
                                backward(g.stream(), g.dense(of), g.dense(other), gradLoss,
                                         place.tensor, place.accumulate);
                            }
                        });
}
} // namespace

Value crossEntropy(Graph& graph, Value logits, const Tensor& labels)
{
    const Tensor rows = asRows(graph.dense(logits));
    const Tensor loss = takeLoss(graph, rows);
    const Tensor rowLoss = graph.take({rows.extent(0)}, loss.dtype());
    const Tensor counted = graph.take({1}, DType::I32);
    const Tensor flat = labels.reshaped({labels.size()});
    crossEntropy(graph.stream(), rows, flat, rowLoss, counted, loss);
    return graph.record(loss, {logits}, [logits, flat, counted](Graph& g, const Tensor& gradLoss) {
        const auto target = g.gradientTarget(logits);
        crossEntropyBackward(g.stream(), asRows(g.dense(logits)), flat, counted, gradLoss,
                             asRows(target.tensor), target.accumulate);
    });
}

Value linearCrossEntropy(Graph& graph, Value hidden, Value weight, const Tensor& labels,
                         Index chunkRows)
{
    expects(chunkRows > 0, "linearCrossEntropy: a chunk needs at least one row");
    const Tensor rows = asRows(graph.dense(hidden));
    const Tensor& matrix = graph.dense(weight);
    const Tensor loss = takeLoss(graph, rows);
    const Tensor rowLoss = graph.take({rows.extent(0)}, loss.dtype());
    const Tensor counted = graph.take({1}, DType::I32);
    const Tensor logits =
        graph.take({std::min(chunkRows, rows.extent(0)), matrix.extent(0)}, rows.dtype());
    // Both gradients come with the logits, so they are made now for a loss gradient of 1 and
    // weighted when the true one is known: one more pass over them instead of all logits again.
    Tensor gradHidden, gradWeight;
    LinearCrossEntropyArgs args;
    if (graph.records({hidden})) {
        gradHidden = graph.take(rows.shape(), rows.dtype());
        args.gradHidden = &gradHidden;
    }
    if (graph.records({weight})) {
        gradWeight = graph.take(matrix.shape(), loss.dtype());
        graph.stream().fillBytes(gradWeight.data(), 0, gradWeight.bytes());
        args.gradWeight = &gradWeight;
    }
    const Tensor flat = labels.reshaped({labels.size()});
    linearCrossEntropy(graph.stream(), rows, matrix, flat, rowLoss, counted, loss, logits, args);
    return graph.record(loss, {hidden, weight},
                        [hidden, weight, gradHidden, gradWeight](Graph& g, const Tensor& gradLoss) {
                            if (g.needsGradient(hidden)) {
                                const auto target = g.gradientTarget(hidden);
                                scaleByDevice(g.stream(), gradHidden, gradLoss,
                                              asRows(target.tensor), target.accumulate);
                            }
                            if (g.needsGradient(weight)) {
                                const auto target = g.gradientTarget(weight);
                                scaleByDevice(g.stream(), gradWeight, gradLoss, target.tensor,
                                              target.accumulate);
                            }
                        });
}

Value meanSquaredError(Graph& graph, Value prediction, Value target)
{
    const Tensor loss = takeLoss(graph, graph.tensor(prediction));
    meanSquaredError(graph.stream(), graph.dense(prediction), graph.dense(target), loss);
    return recordSymmetric(graph, prediction, target, loss, meanSquaredErrorBackward);
}

Value smoothL1(Graph& graph, Value prediction, Value target, double beta)
{
    const Tensor loss = takeLoss(graph, graph.tensor(prediction));
    smoothL1(graph.stream(), graph.dense(prediction), graph.dense(target), beta, loss);
    return recordSymmetric(graph, prediction, target, loss,
                           [beta](Stream& stream, const Tensor& of, const Tensor& other,
                                  const Tensor& gradLoss, const Tensor& gradOf, bool accumulate) {
                               smoothL1Backward(stream, of, other, beta, gradLoss, gradOf,
                                                accumulate);
                           });
}

Value smoothAbsoluteError(Graph& graph, Value prediction, Value target, double c)
{
    const Tensor loss = takeLoss(graph, graph.tensor(prediction));
    smoothAbsoluteError(graph.stream(), graph.dense(prediction), graph.dense(target), c, loss);
    return recordSymmetric(graph, prediction, target, loss,
                           [c](Stream& stream, const Tensor& of, const Tensor& other,
                               const Tensor& gradLoss, const Tensor& gradOf, bool accumulate) {
                               smoothAbsoluteErrorBackward(stream, of, other, c, gradLoss, gradOf,
                                                           accumulate);
                           });
}

Value weightedSum(Graph& graph, Value x, const Tensor& weights)
{
    expectSameShape(graph.tensor(x), weights);
    const Tensor loss = takeLoss(graph, graph.tensor(x));
    dotProduct(graph.stream(), graph.dense(x), weights, loss);
    return graph.record(loss, {x}, [x, weights](Graph& g, const Tensor& gradLoss) {
        const auto target = g.gradientTarget(x);
        scaleByDevice(g.stream(), weights, gradLoss, target.tensor, target.accumulate);
    });
}

} // namespace vergence
