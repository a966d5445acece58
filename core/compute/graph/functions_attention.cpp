#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"

namespace vergence {

namespace {
Tensor copyOf(const Tensor* tensor)
{
    return tensor ? *tensor : Tensor{};
}

const Tensor* orNull(const Tensor& tensor)
{
    return tensor.isEmpty() ? nullptr : &tensor;
}

/// The arguments with handles of their own, for a derivative that runs later.
struct KeptAttention {
    AttentionArgs plain;
    Tensor keyCounts, segmentStarts, bias;

    explicit KeptAttention(const AttentionArgs& args)
        : plain(args),
          keyCounts(copyOf(args.keyCounts)),
          segmentStarts(copyOf(args.segmentStarts)),
          bias(copyOf(args.bias))
    {
    }
    AttentionArgs args() const
    {
        AttentionArgs result = plain;
        result.keyCounts = orNull(keyCounts);
        result.segmentStarts = orNull(segmentStarts);
        result.bias = orNull(bias);
        return result;
    }
};

struct KeptRope {
    RopeArgs plain;
    Tensor positions;

    explicit KeptRope(const RopeArgs& args) : plain(args), positions(copyOf(args.positions)) {}
    RopeArgs args(int direction) const
    {
        RopeArgs result = plain;
        result.positions = orNull(positions);
        result.direction = direction;
        return result;
    }
};

/// As it lies where its innermost dimension is dense, else a copy.
const Tensor& heads(Graph& graph, Value x)
{
    const Tensor& tensor = graph.tensor(x);
    expects(tensor.rank() == 4,
            fmt::format("attention: {} is not [batch, positions, heads, channels]",
                        toString(tensor.shape())));
    return tensor.stride(3) == 1 ? tensor : graph.dense(x);
}

/// Windows of a projection that holds heads of q, then k, then v.
struct PackedHeads {
    Tensor all, q, k, v, qAndK;

    PackedHeads(const Tensor& qkv, int heads, int keyHeads)
    {
        const Index total = heads + 2 * keyHeads;
        all = qkv.reshaped({qkv.extent(0), qkv.extent(1), total, qkv.extent(2) / total});
        q = all.narrow(2, 0, heads);
        k = all.narrow(2, heads, keyHeads);
        v = all.narrow(2, heads + keyHeads, keyHeads);
        qAndK = all.narrow(2, 0, heads + keyHeads);
    }
};

Tensor takeLogSumExp(Graph& graph, const Tensor& q)
{
    return graph.take({q.extent(0), q.extent(2), q.extent(1)}, sumType(q.dtype()));
}

Tensor deltaScratch(Graph& graph, const Tensor& logSumExp)
{
    return graph.scratch(logSumExp.shape(), logSumExp.dtype());
}
} // namespace

Value attention(Graph& graph, Value q, Value k, Value v, const AttentionArgs& args)
{
    const Tensor &queries = heads(graph, q), &keys = heads(graph, k), &values = heads(graph, v);
    const Tensor o = graph.take(queries.shape(), queries.dtype());
    const Tensor logSumExp = graph.records({q, k, v}) ? takeLogSumExp(graph, queries) : Tensor{};
    attention(graph.stream(), queries, keys, values, o, orNull(logSumExp), args);
    return graph.record(
        o, {q, k, v},
        [q, k, v, o, logSumExp, kept = KeptAttention(args)](Graph& g, const Tensor& gradO) {
            OverwrittenGradient gradQ(g, q), gradK(g, k), gradV(g, v);
            attentionBackward(g.stream(), heads(g, q), heads(g, k), heads(g, v), o, logSumExp,
                              gradO, gradQ.tensor(), gradK.tensor(), gradV.tensor(),
                              deltaScratch(g, logSumExp), kept.args());
            gradQ.finish();
            gradK.finish();
            gradV.finish();
        });
}

Value attentionPacked(Graph& graph, Value qkv, int headCount, int keyHeads,
                      const AttentionArgs& args, const std::optional<RopeArgs>& rotary)
{
    const Tensor& all = graph.dense(qkv);
    expects(all.rank() == 3 && headCount > 0 && keyHeads > 0 &&
                all.extent(2) % (headCount + 2 * keyHeads) == 0,
            fmt::format("attentionPacked: {} does not hold {} heads of queries and {} of keys and "
                        "of values",
                        toString(all.shape()), headCount, keyHeads));
    PackedHeads parts(all, headCount, keyHeads);
    if (rotary) {
        Shape shape = parts.qAndK.shape();
        const Tensor rotated = graph.take(shape, all.dtype());
        rope(graph.stream(), parts.qAndK, rotated, *rotary);
        parts.q = rotated.narrow(2, 0, headCount);
        parts.k = rotated.narrow(2, headCount, keyHeads);
    }
    const Tensor o = graph.take(parts.q.shape(), all.dtype());
    const Tensor logSumExp = graph.records({qkv}) ? takeLogSumExp(graph, parts.q) : Tensor{};
    attention(graph.stream(), parts.q, parts.k, parts.v, o, orNull(logSumExp), args);
    const Shape flat{all.extent(0), all.extent(1), o.extent(2) * o.extent(3)};
    std::optional<KeptRope> turned;
    if (rotary)
        turned.emplace(*rotary);
    return graph.record(o.reshaped(flat), {qkv},
                        [qkv, parts, o, logSumExp, headCount, keyHeads, turned,
                         kept = KeptAttention(args)](Graph& g, const Tensor& gradY) {
                            OverwrittenGradient gradient(g, qkv);
                            const PackedHeads grad(gradient.tensor(), headCount, keyHeads);
                            attentionBackward(g.stream(), parts.q, parts.k, parts.v, o, logSumExp,
                                              gradY.reshaped(o.shape()), grad.q, grad.k, grad.v,
                                              deltaScratch(g, logSumExp), kept.args());
                            if (turned)
                                rope(g.stream(), grad.qAndK, grad.qAndK, turned->args(-1));
                            gradient.finish();
                        });
}

Value rope(Graph& graph, Value x, const RopeArgs& args)
{
    const Tensor& input = heads(graph, x);
    const Tensor y = graph.take(input.shape(), input.dtype());
    rope(graph.stream(), input, y, args);
    return graph.record(y, {x}, [x, kept = KeptRope(args)](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x);
        rope(g.stream(), gradY, gradX.tensor(), kept.args(-kept.plain.direction));
        gradX.finish();
    });
}

} // namespace vergence
