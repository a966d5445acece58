#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/structure.h"

namespace vergence {

Value reshape(Graph& graph, Value x, Shape shape)
{
    const Tensor y = graph.dense(x).reshaped(std::move(shape));
    return graph.record(y, {x}, [x](Graph& g, const Tensor& gradY) {
        g.passGradient(x, gradY.reshaped(g.shape(x)));
    });
}

Value permute(Graph& graph, Value x, const std::vector<int>& order)
{
    const Tensor y = graph.tensor(x).permuted(order);
    return graph.record(y, {x}, [x, order](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        copyStrided(g.stream(), gradY, gradX.tensor().permuted(order));
        gradX.finish();
    });
}

Value narrow(Graph& graph, Value x, int dimension, Index first, Index count)
{
    const Tensor y = graph.tensor(x).narrow(dimension, first, count);
    return graph.record(y, {x}, [x, dimension, first, count](Graph& g, const Tensor& gradY) {
        const Tensor window = g.addedGradient(x).narrow(dimension, first, count);
        if (window.dtype() == gradY.dtype()) {
            addStrided(g.stream(), gradY, window);
            return;
        }
        const Tensor wide = g.scratch(gradY.shape(), window.dtype());
        cast(g.stream(), gradY, wide);
        addStrided(g.stream(), wide, window);
    });
}

Value concat(Graph& graph, const std::vector<Value>& parts, int dimension)
{
    expects(!parts.empty(), "concat: nothing to join");
    Shape shape = graph.shape(parts.front());
    const int d = dimension < 0 ? dimension + static_cast<int>(shape.size()) : dimension;
    expects(d >= 0 && d < static_cast<int>(shape.size()),
            fmt::format("concat: {} has no dimension {}", toString(shape), dimension));
    const auto at = static_cast<std::size_t>(d);
    Index total = 0;
    for (const Value part : parts) {
        Shape same = graph.shape(part);
        expects(same.size() == shape.size() &&
                    graph.tensor(part).dtype() == graph.tensor(parts.front()).dtype(),
                fmt::format("concat: {} does not continue {}", toString(same), toString(shape)));
        total += std::exchange(same[at], shape[at]);
        expects(same == shape, fmt::format("concat: {} does not continue {} along dimension {}",
                                           toString(graph.shape(part)), toString(shape), d));
    }
    shape[at] = total;
    const Tensor y = graph.take(shape, graph.tensor(parts.front()).dtype());
    Index first = 0;
    for (const Value part : parts) {
        const Index count = graph.shape(part)[at];
        copyStrided(graph.stream(), graph.tensor(part), y.narrow(d, first, count));
        first += count;
    }
    return graph.record(y, parts, [parts, d](Graph& g, const Tensor& gradY) {
        Index start = 0;
        for (const Value part : parts) {
            const Index count = g.tensor(part).extent(d);
            if (g.needsGradient(part)) {
                OverwrittenGradient gradient(g, part);
                copyStrided(g.stream(), gradY.narrow(d, start, count), gradient.tensor());
                gradient.finish();
            }
            start += count;
        }
    });
}

Value gatherRows(Graph& graph, Value table, const Tensor& ids)
{
    Shape shape = graph.shape(table);
    expects(!shape.empty() && ids.dtype() == DType::I32 && ids.rank() == 1,
            fmt::format("gatherRows: ids must be I32 [n], not {} {}", nameOf(ids.dtype()),
                        toString(ids.shape())));
    shape[0] = ids.size();
    const Tensor y = graph.take(shape, graph.tensor(table).dtype());
    gatherRows(graph.stream(), graph.dense(table), ids, y);
    return graph.record(y, {table}, [table, ids](Graph& g, const Tensor& gradY) {
        scatterAddRows(g.stream(), gradY, ids, g.addedGradient(table));
    });
}

Value broadcastLeading(Graph& graph, Value x, Index count)
{
    Shape shape = graph.shape(x);
    shape.insert(shape.begin(), count);
    const Tensor y = graph.take(shape, graph.tensor(x).dtype());
    broadcastLeading(graph.stream(), graph.dense(x), y);
    return graph.record(y, {x}, [x, count](Graph& g, const Tensor& gradY) {
        SummedGradient gradX(g, x);
        const Index size = g.tensor(x).size();
        addColumnSums(g.stream(), gradY.reshaped({count, size}), gradX.get()->reshaped({size}));
        gradX.finish();
    });
}

} // namespace vergence
