#include "core/compute/ops/pointwise.h"
#include "plugins/foveated_vlm/model/losses.h"
#include "plugins/foveated_vlm/model/token_likelihood.h"

namespace vergence::fvlm {

namespace {
/// Σ log π of each sequence's counted tokens, [pairs, 2].
Value logProbabilities(GazeForward& forward, const LanguageStates& states)
{
    Graph& graph = forward.pass().graph;
    const SequenceTables& tables = forward.tables();
    const LlamaModel& language = forward.model().language();
    const Value nll = tokenLikelihood(graph, forward.predictingStates(states),
                                      forward.pass()[language.head()], tables.labels);
    const SequenceShape& shape = tables.shape();
    const Value sums =
        linear(graph, reshape(graph, nll, {1, shape.counted}), graph.constant(tables.sequenceSums));
    return reshape(graph, scale(graph, -1, sums), {shape.clips, 2});
}

/// Mean of softplus(−m): cross-entropy of the logits (m, 0) with the first as label.
Value meanSoftplus(Graph& graph, Value margins)
{
    const Index pairs = graph.shape(margins)[0];
    const Tensor zeros = graph.take({pairs, 1}, graph.tensor(margins).dtype());
    fill(graph.stream(), zeros, 0);
    const Tensor labels = graph.take({pairs}, DType::I32);
    graph.stream().fillBytes(labels.data(), 0, labels.bytes());
    return crossEntropy(graph, concat(graph, {margins, graph.constant(zeros)}, 1), labels);
}
} // namespace

PreferenceValues preferenceLoss(const ForwardPass& pass, const FoveatedModel& model,
                                const MicroBatch& batch, const PreferenceSettings& settings)
{
    const SequenceShape& shape = batch.tables->shape();
    const Index pairs = shape.clips;
    expects(shape.sequences == 2 * pairs && model.settings().hasText(),
            "preferenceLoss: every sample needs a chosen and one rejected ending");
    expects(settings.reference.shape() == Shape({pairs, 2}),
            "preferenceLoss: two reference log-probabilities per pair are needed");
    Graph& graph = pass.graph;
    GazeForward forward(pass, model, batch);
    Glance glance = forward.coarse();
    for (int k = 1; k <= settings.refinements && forward.hasFrames(); ++k)
        glance = forward.look(forward.nextQueries(forward.shortStates(glance, k == 1)));

    PreferenceValues values;
    values.logProbabilities = logProbabilities(forward, forward.wholeStates(glance, false));
    const Value gained =
        addScaled(graph, 1, values.logProbabilities, -1, graph.constant(settings.reference));
    const Tensor signs = graph.take({2}, settings.reference.dtype());
    fill(graph.stream(), signs.narrow(0, 0, 1), settings.beta);
    fill(graph.stream(), signs.narrow(0, 1, 1), -settings.beta);
    const Value margins = linear(graph, gained, graph.constant(signs.reshaped({1, 2})));
    values.margins = reshape(graph, margins, {pairs});
    values.loss =
        multiply(graph, scale(graph, static_cast<double>(pairs), meanSoftplus(graph, margins)),
                 graph.constant(settings.inversePairs));
    return values;
}

} // namespace vergence::fvlm
