#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/random.h"
#include "core/compute/ops/structure.h"

namespace vergence {

namespace {
/// gradX = factor · gradY, added or overwritten.
void scaledGradient(Graph& graph, Value x, double factor, const Tensor& gradY)
{
    if (!graph.needsGradient(x))
        return;
    if (factor == 1) {
        graph.passGradient(x, gradY);
        return;
    }
    OverwrittenGradient gradX(graph, x);
    scale(graph.stream(), factor, gradY, gradX.tensor());
    gradX.finish();
}
} // namespace

Value add(Graph& graph, Value a, Value b)
{
    return addScaled(graph, 1, a, 1, b);
}

Value addScaled(Graph& graph, double alpha, Value a, double beta, Value b)
{
    expectSameShape(graph.tensor(a), graph.tensor(b));
    const Tensor y = takeLike(graph, graph.tensor(a));
    addScaled(graph.stream(), alpha, graph.dense(a), beta, graph.dense(b), y);
    return graph.record(y, {a, b}, [alpha, a, beta, b](Graph& g, const Tensor& gradY) {
        scaledGradient(g, a, alpha, gradY);
        scaledGradient(g, b, beta, gradY);
    });
}

Value scale(Graph& graph, double alpha, Value x)
{
    const Tensor y = takeLike(graph, graph.tensor(x));
    scale(graph.stream(), alpha, graph.dense(x), y);
    return graph.record(
        y, {x}, [alpha, x](Graph& g, const Tensor& gradY) { scaledGradient(g, x, alpha, gradY); });
}

Value multiply(Graph& graph, Value a, Value b)
{
    expectSameShape(graph.tensor(a), graph.tensor(b));
    const Tensor y = takeLike(graph, graph.tensor(a));
    multiply(graph.stream(), graph.dense(a), graph.dense(b), y);
    return graph.record(y, {a, b}, [a, b](Graph& g, const Tensor& gradY) {
        for (const auto& [input, other] : {std::pair{a, b}, std::pair{b, a}}) {
            if (!g.needsGradient(input))
                continue;
            OverwrittenGradient gradient(g, input);
            multiply(g.stream(), gradY, g.dense(other), gradient.tensor());
            gradient.finish();
        }
    });
}

Value activate(Graph& graph, Activation kind, Value x)
{
    const Tensor y = takeLike(graph, graph.tensor(x));
    activate(graph.stream(), kind, graph.dense(x), y);
    return graph.record(y, {x}, [kind, x](Graph& g, const Tensor& gradY) {
        const auto target = g.gradientTarget(x);
        activateBackward(g.stream(), kind, g.dense(x), gradY, target.tensor, target.accumulate);
    });
}

Value swiglu(Graph& graph, Value gateAndUp)
{
    const Tensor both = asRows(graph.dense(gateAndUp));
    const Index width = both.extent(1) / 2;
    expects(width * 2 == both.extent(1),
            fmt::format("swiglu: {} has no two halves", toString(graph.shape(gateAndUp))));
    Shape shape = graph.shape(gateAndUp);
    shape.back() = width;
    const Tensor y = graph.take(shape, both.dtype());
    swiglu(graph.stream(), both.narrow(1, 0, width), both.narrow(1, width, width), asRows(y));
    return graph.record(y, {gateAndUp}, [gateAndUp, width](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, gateAndUp);
        const Tensor x = asRows(g.dense(gateAndUp)), grad = asRows(gradX.tensor());
        swigluBackward(g.stream(), x.narrow(1, 0, width), x.narrow(1, width, width), asRows(gradY),
                       grad.narrow(1, 0, width), grad.narrow(1, width, width));
        gradX.finish();
    });
}

Value layerScale(Graph& graph, Value x, Value scale, Value residual)
{
    const Tensor y = takeLike(graph, graph.tensor(x));
    layerScale(graph.stream(), graph.dense(x), graph.dense(scale),
               residual ? &graph.dense(residual) : nullptr, y);
    return graph.record(y, {x, scale, residual},
                        [x, scale, residual](Graph& g, const Tensor& gradY) {
                            g.passGradient(residual, gradY);
                            if (!g.records({x, scale}))
                                return;
                            SummedGradient gradScale(g, scale);
                            Graph::GradientTarget target;
                            if (g.needsGradient(x))
                                target = g.gradientTarget(x);
                            else
                                target.tensor = g.scratch(gradY.shape(), gradY.dtype());
                            layerScaleBackward(g.stream(), g.dense(x), g.dense(scale), gradY,
                                               target.tensor, target.accumulate, gradScale.get());
                            gradScale.finish();
                        });
}

Value film(Graph& graph, Value x, Value gamma, Value beta)
{
    const Tensor y = takeLike(graph, graph.tensor(x));
    film(graph.stream(), graph.dense(x), graph.dense(gamma), graph.dense(beta), y);
    return graph.record(y, {x, gamma, beta}, [x, gamma, beta](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x), gradGamma(g, gamma), gradBeta(g, beta);
        filmBackward(g.stream(), g.dense(x), g.dense(gamma), gradY, gradX.tensor(), false,
                     gradGamma.tensor(), gradBeta.tensor());
        gradX.finish();
        gradGamma.finish();
        gradBeta.finish();
    });
}

Value dropout(Graph& graph, Value x, double p)
{
    expects(p >= 0 && p < 1, "dropout: the share must be at least 0 and below 1");
    if (p == 0)
        return x;
    const RandomKey key = graph.nextRandomKey();
    const Tensor y = takeLike(graph, graph.tensor(x));
    dropout(graph.stream(), graph.dense(x), p, key, y);
    return graph.record(y, {x}, [x, p, key](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        dropout(g.stream(), gradY, p, key, gradX.tensor());
        gradX.finish();
    });
}

Value addBroadcast(Graph& graph, Value x, Value y)
{
    Shape row = graph.shape(x);
    expects(!row.empty(), "addBroadcast: x has no dimension to broadcast over");
    const Index count = row.front();
    row.erase(row.begin());
    expects(row == graph.shape(y), fmt::format("addBroadcast: {} is not one entry of {}",
                                               toString(graph.shape(y)), toString(graph.shape(x))));
    const Tensor sum = takeLike(graph, graph.tensor(x));
    const Index size = graph.tensor(y).size();
    addBias(graph.stream(), graph.dense(x).reshaped({count, size}), graph.dense(y).reshaped({size}),
            sum.reshaped({count, size}));
    return graph.record(sum, {x, y}, [x, y, count, size](Graph& g, const Tensor& gradY) {
        g.passGradient(x, gradY);
        if (SummedGradient gradSum(g, y); gradSum.get()) {
            addColumnSums(g.stream(), gradY.reshaped({count, size}),
                          gradSum.get()->reshaped({size}));
            gradSum.finish();
        }
    });
}

Value cast(Graph& graph, Value x, DType type)
{
    if (graph.tensor(x).dtype() == type)
        return x;
    const Tensor y = graph.take(graph.shape(x), type);
    cast(graph.stream(), graph.dense(x), y);
    return graph.record(y, {x}, [x](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        cast(g.stream(), gradY, gradX.tensor());
        gradX.finish();
    });
}

} // namespace vergence
