#include "plugins/foveated_vlm/encoder/look_attention.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/attention.h"
#include "core/compute/ops/loss.h"
#include "core/compute/ops/structure.h"

namespace vergence::fvlm {

namespace {

/// Heads that begin at a column of [F, rows, columns], from row 0 on.
FrameRows rowsAt(const Tensor& source, Index column)
{
    auto* data = static_cast<char*>(source.data());
    return {data + static_cast<std::size_t>(column) * sizeOf(source.dtype()), source.stride(0),
            source.stride(1)};
}

FrameRows seenRows(const Tensor& source, const KeyWindow& keys, Index column)
{
    return rowsAt(source.narrow(1, keys.firstRow, keys.seen), column);
}

LookProblem problemOf(const Tensor& source, const KeyWindow& keys, const LookSettings& settings,
                      Index queries, const Tensor* frames)
{
    LookProblem p;
    p.type = source.dtype();
    p.queries = queries;
    p.frames = source.extent(0);
    p.seen = keys.seen;
    p.heads = keys.heads;
    p.headSize = keys.headSize;
    p.scale = 1 / (std::sqrt(static_cast<double>(keys.headSize)) * settings.temperature);
    p.frameOf = frames ? static_cast<const std::int32_t*>(frames->data()) : nullptr;
    return p;
}

void expectFits(const Tensor& queries, const Tensor& source, const KeyWindow& keys,
                const Tensor* frames)
{
    const Index width = keys.heads * keys.headSize;
    expects(source.rank() == 3 && queries.rank() == 2 && queries.extent(1) == width &&
                source.dtype() == queries.dtype(),
            fmt::format("lookAttention: queries {} do not fit {} heads of {} in {}",
                        toString(queries.shape()), keys.heads, keys.headSize,
                        toString(source.shape())));
    if (frames)
        expects(frames->dtype() == DType::I32 && frames->shape() == Shape{queries.extent(0)},
                fmt::format("lookAttention: frames {} {} for {} queries", nameOf(frames->dtype()),
                            toString(frames->shape()), queries.extent(0)));
    else
        expects(queries.extent(0) == source.extent(0),
                fmt::format("lookAttention: {} queries for {} frames without a list of frames",
                            queries.extent(0), source.extent(0)));
}

/// One look with what its derivative reads.
struct Look {
    LookProblem problem;
    KeyWindow keys;
    Tensor frames; ///< keeps problem.frameOf alive
    Value queries;
    Tensor weights;
    std::shared_ptr<WaitingLooks> waiting;
    Tensor gradLogits, gradOut; ///< of a look that waits
    Tensor gradEntropy;         ///< [M, heads]; empty where none is wanted

    void forward(Graph& graph, const LookSettings& settings, const Tensor& y);
    void backward(Graph& graph, const Tensor& gradY) const;
    LookGradient left(Graph& graph, const Tensor& gradient, const Tensor& gradY) const;
};

void Look::forward(Graph& graph, const LookSettings& settings, const Tensor& y)
{
    const Tensor& source = graph.dense(keys.source);
    Stream& stream = graph.stream();
    LookLogitsArguments logits;
    logits.problem = problem;
    logits.q = graph.dense(queries).data();
    logits.keys = seenRows(source, keys, keys.firstKey);
    logits.logits = weights.data();
    lookLogits(stream, logits);
    if (settings.topK > 0 && settings.topK < keys.seen) {
        const Tensor all = std::exchange(weights, graph.take(weights.shape(), weights.dtype()));
        KeepLargestArguments keep;
        keep.type = all.dtype();
        keep.rows = problem.queries * problem.heads;
        keep.columns = problem.seen;
        keep.count = settings.topK;
        keep.logits = all.data();
        keep.kept = weights.data();
        keepLargest(stream, keep);
    }
    softmax(stream, weights, weights);
    LookMixArguments mix;
    mix.problem = problem;
    mix.weights = weights.data();
    mix.rows = seenRows(source, keys, keys.firstValue);
    mix.y = y.data();
    lookMix(stream, mix);
}

LookGradient Look::left(Graph& graph, const Tensor& gradient, const Tensor& gradY) const
{
    LookGradient result;
    result.queries = problem.queries;
    result.frameOf = problem.frameOf;
    result.q = graph.dense(queries).data();
    result.gradO = gradY.data();
    result.weights = weights.data();
    result.gradLogits = gradient.data();
    return result;
}

void Look::backward(Graph& graph, const Tensor& gradY) const
{
    const Tensor& source = graph.dense(keys.source);
    const Tensor gradient =
        gradLogits.isEmpty() ? graph.scratch(weights.shape(), weights.dtype()) : gradLogits;
    LookGradientArguments a;
    a.problem = problem;
    a.weights = weights.data();
    a.gradO = gradY.data();
    a.gradEntropy = gradEntropy.isEmpty() ? nullptr : gradEntropy.data();
    a.values = seenRows(source, keys, keys.firstValue);
    a.gradLogits = gradient.data();
    lookGradient(graph.stream(), a);
    if (graph.needsGradient(queries)) {
        const auto target = graph.gradientTarget(queries);
        LookMixArguments mix;
        mix.problem = problem;
        mix.weights = gradient.data();
        mix.rows = seenRows(source, keys, keys.firstKey);
        mix.y = target.tensor.data();
        mix.accumulate = target.accumulate;
        lookMix(graph.stream(), mix);
    }
    if (!graph.needsGradient(keys.source))
        return;
    if (waiting) {
        graph.stream().copy(gradOut.data(), gradY.data(), gradY.bytes());
        waiting->add(graph, left(graph, gradient, gradOut));
        return;
    }
    WaitingLooks alone;
    alone.add(graph, left(graph, gradient, gradY));
    alone.finish(graph, keys, graph.addedGradient(keys.source), true);
}

} // namespace

void WaitingLooks::add(Graph& graph, const LookGradient& look)
{
    m_looks.push_back(look);
    if (!m_result)
        return;
    if (m_isRead)
        graph.addedGradient(m_result);
    else
        graph.gradientTarget(m_result);
}

void WaitingLooks::finish(Graph& graph, const KeyWindow& keys, const Tensor& gradSource,
                          bool accumulate)
{
    LookKeysArguments a;
    a.problem = problemOf(gradSource, keys, {}, 0, nullptr);
    a.gradKeys = rowsAt(gradSource, keys.firstKey);
    a.gradValues = rowsAt(gradSource, keys.firstValue);
    a.firstRow = keys.firstRow;
    a.rows = gradSource.extent(1);
    a.accumulate = accumulate;
    for (std::size_t i = 0; i < m_looks.size() || !a.accumulate;) {
        for (a.looks.count = 0; i < m_looks.size() && a.looks.count < LookGradients::kMost; ++i)
            a.looks.look[a.looks.count++] = m_looks[i];
        lookKeys(graph.stream(), a);
        a.accumulate = true;
    }
    m_looks.clear();
}

namespace {
/// The entropy of a look whose result is `seen`. Its derivative leaves its gradient to that of the
/// look, which comes later.
Value entropyOf(Graph& graph, const Look& look, Value seen)
{
    const Shape shape{look.problem.queries, look.problem.heads};
    const Tensor y = graph.take(shape, look.weights.dtype());
    LookEntropyArguments a;
    a.problem = look.problem;
    a.weights = look.weights.data();
    a.entropy = y.data();
    lookEntropy(graph.stream(), a);
    return graph.record(y, {seen}, [seen, kept = look.gradEntropy](Graph& g, const Tensor& gradY) {
        g.stream().copy(kept.data(), gradY.data(), gradY.bytes());
        g.addedGradient(seen);
    });
}
} // namespace

Value lookAttention(Graph& graph, Value queries, const KeyWindow& keys,
                    const LookSettings& settings, const Tensor* frames,
                    const std::shared_ptr<WaitingLooks>& waiting, Tensor* weights, Value* entropy)
{
    const Tensor &asked = graph.dense(queries), &source = graph.dense(keys.source);
    expectFits(asked, source, keys, frames);
    const DType sums = sumType(asked.dtype());
    const Shape shape{asked.extent(0), keys.heads, keys.seen};
    Look look;
    look.problem = problemOf(source, keys, settings, asked.extent(0), frames);
    look.keys = keys;
    look.frames = frames ? *frames : Tensor{};
    look.queries = queries;
    look.weights = graph.take(shape, sums);
    if (waiting && graph.records({keys.source})) {
        look.waiting = waiting;
        look.gradLogits = graph.take(shape, sums);
        look.gradOut = graph.take(asked.shape(), asked.dtype());
    }
    const Tensor y = graph.take(asked.shape(), asked.dtype());
    look.forward(graph, settings, y);
    if (weights)
        *weights = look.weights;
    if (entropy) {
        look.gradEntropy = graph.take({asked.extent(0), keys.heads}, sums);
        graph.stream().fillBytes(look.gradEntropy.data(), 0, look.gradEntropy.bytes());
    }
    const Value seen =
        graph.record(y, {queries, keys.source},
                     [look](Graph& g, const Tensor& gradY) { look.backward(g, gradY); });
    if (entropy)
        *entropy = entropyOf(graph, look, seen);
    return seen;
}

namespace {
/// Heads of queries, keys and values of qkv; only rows that answer of the latter two.
struct PatchHeads {
    Tensor q, k, v;

    PatchHeads(const Tensor& qkv, const KeyWindow& keys)
    {
        const Tensor all = qkv.reshaped(
            {qkv.extent(0), qkv.extent(1), 3 * static_cast<Index>(keys.heads), keys.headSize});
        q = all.narrow(2, 0, keys.heads);
        k = all.narrow(2, keys.heads, keys.heads).narrow(1, 0, keys.seen);
        v = all.narrow(2, 2 * keys.heads, keys.heads).narrow(1, 0, keys.seen);
    }
};

void fillZero(Graph& graph, const Tensor& window)
{
    const Tensor zeros = graph.scratch(window.shape(), window.dtype());
    graph.stream().fillBytes(zeros.data(), 0, zeros.bytes());
    copyStrided(graph.stream(), zeros, window);
}
} // namespace

Value patchAttention(Graph& graph, const KeyWindow& keys,
                     const std::shared_ptr<WaitingLooks>& waiting)
{
    const Value qkv = keys.source;
    const Tensor& all = graph.dense(qkv);
    const PatchHeads parts(all, keys);
    const Tensor o = graph.take(parts.q.shape(), all.dtype());
    const Tensor logSumExp =
        graph.records({qkv})
            ? graph.take({o.extent(0), o.extent(2), o.extent(1)}, sumType(all.dtype()))
            : Tensor{};
    attention(graph.stream(), parts.q, parts.k, parts.v, o,
              logSumExp.isEmpty() ? nullptr : &logSumExp);
    const Shape flat{all.extent(0), all.extent(1), o.extent(2) * o.extent(3)};
    return graph.record(
        o.reshaped(flat), {qkv},
        [keys, parts, o, logSumExp, waiting](Graph& g, const Tensor& gradY) {
            OverwrittenGradient gradient(g, keys.source);
            const Tensor& grad = gradient.tensor();
            const PatchHeads to(grad, keys);
            // Keys and values of rows that do not answer take no gradient.
            const Index rows = grad.extent(1), width = grad.extent(2) / 3;
            if (rows > keys.seen)
                fillZero(g,
                         grad.narrow(1, keys.seen, rows - keys.seen).narrow(2, width, 2 * width));
            attentionBackward(g.stream(), parts.q, parts.k, parts.v, o, logSumExp,
                              gradY.reshaped(o.shape()), to.q, to.k, to.v,
                              g.scratch(logSumExp.shape(), logSumExp.dtype()));
            if (waiting)
                waiting->finish(g, keys, grad, true);
            gradient.finish();
        });
}

void receiveLooks(Graph& graph, const KeyWindow& keys, const std::shared_ptr<WaitingLooks>& waiting)
{
    const Index width = keys.heads * keys.headSize;
    const bool hasOtherColumns =
        graph.shape(keys.source)[2] > (keys.firstKey == keys.firstValue ? width : 2 * width);
    const auto finish = [keys, waiting, hasOtherColumns](Graph& g, const Tensor&) {
        if (hasOtherColumns) {
            waiting->finish(g, keys, g.addedGradient(keys.source), true);
            return;
        }
        const auto target = g.gradientTarget(keys.source);
        waiting->finish(g, keys, target.tensor, target.accumulate);
    };
    waiting->wake(
        graph.record(graph.take({1}, graph.tensor(keys.source).dtype()), {keys.source}, finish),
        false);
}

} // namespace vergence::fvlm
