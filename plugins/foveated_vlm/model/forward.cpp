#include "plugins/foveated_vlm/model/forward.h"

#include "plugins/foveated_vlm/model/visual_norm.h"

namespace vergence::fvlm {

namespace {
ForwardPass recomputing(const ForwardPass& pass, bool recomputes)
{
    ForwardPass result = pass;
    result.recomputes = pass.recomputes || recomputes;
    return result;
}
} // namespace

GazeForward::GazeForward(const ForwardPass& pass, const FoveatedModel& model,
                         const MicroBatch& batch, bool looksCoarsely, AttentionReadout* readout)
    : m_pass(pass),
      m_model(model),
      m_batch(batch),
      m_tables(*batch.tables),
      m_language(recomputing(pass, model.settings().recomputesLlm), model.language(),
                 model.settings().savings.jointLanguageGradients)
{
    if (m_tables.shape().text > 0)
        m_text = model.language().embed(pass, m_tables.textIds);
    if (!hasFrames())
        return;
    const Index frames = m_tables.shape().frames;
    expects(batch.patches.rank() == 3 && batch.patches.extent(0) == frames,
            "GazeForward: the patches are not those of the frames that the tables say");
    const bool isOneQuery = model.settings().staticQueries == 1;
    const bool rides = looksCoarsely && isOneQuery;
    const Value query = rides ? pass[model.staticQuery()] : Value{};
    m_encoded = model.encoder().encode(recomputing(pass, model.settings().recomputesVit),
                                       pass.graph.constant(batch.patches), query,
                                       rides ? readout : nullptr);
    if (!looksCoarsely)
        return;
    if (!isOneQuery) {
        m_coarse =
            look(gatherRows(pass.graph, pass[model.staticQuery()], m_tables.staticOf), readout);
        return;
    }
    m_coarse = glanceOf({}, bySlot(m_encoded.coarse), readout);
    if (m_coarse.entropy && !m_tables.slotsAreFrames()) {
        const Value column = reshape(pass.graph, m_coarse.entropy, {frames, 1});
        m_coarse.entropy = reshape(pass.graph, bySlot(column), {m_tables.shape().slots});
    }
}

/// Rows of encoded frames to rows of slots.
Value GazeForward::bySlot(Value byFrame) const
{
    return m_tables.slotsAreFrames() ? byFrame
                                     : gatherRows(m_pass.graph, byFrame, m_tables.frameOf);
}

Glance GazeForward::glanceOf(Value queries, Value tokens, const AttentionReadout* readout) const
{
    return {queries, tokens, enter(tokens), readout ? readout->entropy : Value{}};
}

Glance GazeForward::look(Value queries, AttentionReadout* readout) const
{
    const Tensor* frames = m_tables.slotsAreFrames() ? nullptr : &m_tables.frameOf;
    const Value tokens = m_model.encoder().look(m_pass, m_encoded, queries, frames, readout);
    return glanceOf(queries, tokens, readout);
}

Value GazeForward::enter(Value tokens) const
{
    Graph& graph = m_pass.graph;
    const double factor = m_model.settings().visualScale;
    const Value y = m_model.dinoToLlm()(m_pass, tokens);
    switch (m_model.settings().norm) {
    case VisualNorm::Scale:
        return scale(graph, factor, y);
    case VisualNorm::TokenRms:
        return scale(graph, factor, rmsNorm(graph, y, {}, 1e-6));
    case VisualNorm::BatchStd:
        return scaleByDeviation(graph, y, factor, 1e-12);
    case VisualNorm::None:
        break;
    }
    return y;
}

Value GazeForward::table(Value visualRows) const
{
    Graph& graph = m_pass.graph;
    std::vector<Value> parts;
    for (const int token : m_model.learnedTokens()) {
        if (token >= 0)
            parts.push_back(reshape(graph, m_pass[token], {1, m_model.settings().llm.width}));
    }
    if (visualRows)
        parts.push_back(visualRows);
    if (m_text)
        parts.push_back(m_text);
    return parts.size() == 1 ? parts.front() : concat(graph, parts, 0);
}

Value GazeForward::run(const Glance& glance, const Tensor& rows, Index sequences)
{
    Graph& graph = m_pass.graph;
    const Index width = m_model.settings().llm.width;
    const Value x = gatherRows(graph, table(glance.rows), rows);
    const Value states =
        m_language.states(reshape(graph, x, {sequences, rows.size() / sequences, width}));
    return reshape(graph, states, {rows.size(), width});
}

LanguageStates GazeForward::wholeStates(const Glance& glance, bool isCoarse)
{
    const Tensor& rows = isCoarse ? m_tables.coarse : m_tables.fine;
    return {run(glance, rows, m_tables.shape().sequences), m_tables.visual, m_tables.before, true};
}

LanguageStates GazeForward::shortStates(const Glance& glance, bool isCoarse)
{
    const Tensor& rows = isCoarse ? m_tables.shortCoarse : m_tables.shortFine;
    return {run(glance, rows, m_tables.shape().clips), m_tables.shortVisual, m_tables.shortBefore,
            false};
}

Value GazeForward::nextQueries(const LanguageStates& states) const
{
    Graph& graph = m_pass.graph;
    if (m_model.settings().firstQuery == FirstQuery::Prompt)
        return m_model.llmToQuery()(m_pass, gatherRows(graph, states.states, states.before));
    const Value own = m_model.llmToQuery()(m_pass, gatherRows(graph, states.states, states.visual));
    const Value all = concat(graph, {m_pass[m_model.firstQuery()], own}, 0);
    return gatherRows(graph, all, m_tables.queryOf);
}

Value GazeForward::predictingStates(const LanguageStates& states) const
{
    expects(states.isWhole, "GazeForward: text is predicted by passes that hold it");
    return gatherRows(m_pass.graph, states.states, m_tables.predicting);
}

Value GazeForward::statesBefore(const LanguageStates& states) const
{
    expects(states.isWhole, "GazeForward: latents are predicted by passes over whole sequences");
    return gatherRows(m_pass.graph, states.states, m_tables.before);
}

/// Features of the latent before every slot.
Value GazeForward::encodedLatents() const
{
    Graph& graph = m_pass.graph;
    const Value first = m_pass[m_model.firstLatent()];
    const Shape one = graph.shape(first); // [1, C, h, w]
    const Index numbers = one[1] * one[2] * one[3], slots = m_tables.shape().slots;
    const Value known = cast(graph, graph.constant(m_batch.latents), graph.tensor(first).dtype());
    const Value all = concat(graph,
                             {reshape(graph, first, {1, numbers}),
                              reshape(graph, known, {m_tables.shape().frames, numbers})},
                             0);
    const Value before = reshape(graph, gatherRows(graph, all, m_tables.latentBefore),
                                 {slots, one[1], one[2], one[3]});
    return m_model.head().encode(m_pass, permute(graph, before, {0, 2, 3, 1}));
}

Value GazeForward::predictLatents(Value statesBefore)
{
    const bool shares = m_model.settings().savings.sharedLatents;
    const Value features = shares && m_features ? m_features : encodedLatents();
    if (shares)
        m_features = features;
    return m_model.head().predict(m_pass, statesBefore, features);
}

Value GazeForward::latentTargets() const
{
    Graph& graph = m_pass.graph;
    expects(m_batch.latents.rank() == 4 && m_batch.latents.extent(0) == m_tables.shape().frames,
            "GazeForward: the latents are not those of the frames that the tables say");
    Value latents = graph.constant(m_batch.latents);
    if (!m_tables.slotsAreFrames())
        latents = gatherRows(graph, latents, m_tables.frameOf);
    return permute(graph, latents, {0, 2, 3, 1});
}

} // namespace vergence::fvlm
