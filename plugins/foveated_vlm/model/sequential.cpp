#include "plugins/foveated_vlm/model/sequential.h"

#include <algorithm>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/structure.h"

namespace vergence::fvlm {

Tensor integersOn(Graph& graph, const std::vector<std::int32_t>& values)
{
    const Tensor tensor = graph.take({static_cast<Index>(values.size())}, DType::I32);
    graph.stream().copy(tensor.data(), values.data(), tensor.bytes());
    return tensor;
}

namespace {
Index clipFrames(const Sequences& sequences, std::size_t clip)
{
    return sequences.clips()[clip].frames;
}

/// Clip of every sequence.
std::vector<std::size_t> clipsOf(const Sequences& sequences)
{
    std::vector<std::size_t> clips;
    for (std::size_t i = 0; i < sequences.clips().size(); ++i)
        clips.insert(clips.end(), static_cast<std::size_t>(sequences.clips()[i].sequences), i);
    return clips;
}
} // namespace

SequentialReading::SequentialReading(GazeForward& forward, const MicroBatch& batch, Index room,
                                     bool readsAttention)
    : m_forward(forward),
      m_sequences(*batch.sequences),
      m_readsAttention(readsAttention),
      m_language(forward.pass(), forward.model().language(), m_sequences.real().sequences,
                 m_sequences.real().length + room),
      m_rowOf(static_cast<std::size_t>(m_sequences.real().sequences)),
      m_stepOf(static_cast<std::size_t>(m_sequences.shape().slots), -1)
{
    for (Index i = 0; i < m_sequences.real().sequences; ++i) {
        const auto& rows = m_sequences.rowsOf(i);
        const auto first = std::find_if(
            rows.begin(), rows.end(), [&](std::int32_t row) { return m_sequences.isVisual(row); });
        m_before.push_back(first - rows.begin());
    }
    readText(true);
    for (Index frame = 0; frame < m_sequences.real().longestClip; ++frame)
        lookAndRead(frame);
    readText(false);
}

/// The next `counts` positions of every sequence.
void SequentialReading::read(Value rows, Index added, const std::vector<Index>& counts)
{
    const auto sequences = static_cast<Index>(counts.size());
    const Index width = m_forward.model().settings().llm.width;
    const Value x = reshape(m_forward.pass().graph, rows, {sequences, added, width});
    m_states.push_back(m_language.extend(m_forward.pass(), x, counts));
    for (std::size_t i = 0; i < counts.size(); ++i) {
        for (Index s = 0; s < counts[i]; ++s)
            m_rowOf[i].push_back(
                static_cast<std::int32_t>(m_rows + static_cast<Index>(i) * added + s));
    }
    m_rows += sequences * added;
}

/// What stands before the frames, or after them.
void SequentialReading::readText(bool isBefore)
{
    const std::vector<std::size_t> clips = clipsOf(m_sequences);
    std::vector<Index> first, counts;
    for (std::size_t i = 0; i < clips.size(); ++i) {
        const auto length = static_cast<Index>(m_sequences.rowsOf(static_cast<Index>(i)).size());
        const Index after = std::min(length, m_before[i] + clipFrames(m_sequences, clips[i]));
        first.push_back(isBefore ? 0 : after);
        counts.push_back(isBefore ? m_before[i] : length - after);
    }
    const Index added = *std::max_element(counts.begin(), counts.end());
    if (added == 0)
        return;
    std::vector<std::int32_t> rows;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        for (Index s = 0; s < added; ++s) {
            std::int32_t row = -1;
            if (s < counts[i])
                row = m_sequences.rowsOf(
                    static_cast<Index>(i))[static_cast<std::size_t>(first[i] + s)];
            // The table holds no visual rows here.
            const bool isText = row >= m_sequences.learned();
            rows.push_back(isText ? row - static_cast<std::int32_t>(m_sequences.shape().slots)
                                  : row);
        }
    }
    Graph& graph = m_forward.pass().graph;
    read(gatherRows(graph, m_forward.table({}), integersOn(graph, rows)), added, counts);
}

void SequentialReading::lookAndRead(Index frame)
{
    const ForwardPass& pass = m_forward.pass();
    Graph& graph = pass.graph;
    const FoveatedModel& model = m_forward.model();
    const std::vector<std::size_t> clips = clipsOf(m_sequences);
    std::vector<std::int32_t> frames, before;
    std::vector<Index> counts;
    for (std::size_t i = 0; i < clips.size(); ++i) {
        const Sequences::Clip& clip = m_sequences.clips()[clips[i]];
        const bool isThere = frame < clip.frames;
        counts.push_back(isThere ? 1 : 0);
        frames.push_back(0);
        before.push_back(m_rowOf[i].empty() ? -1 : m_rowOf[i].back());
        if (!isThere)
            continue;
        const auto slot = static_cast<std::size_t>(clip.firstSlot + frame);
        frames.back() = m_sequences.frameOf[slot];
        if (clip.firstSequence == static_cast<int>(i))
            m_stepOf[slot] = static_cast<std::int32_t>(frame * static_cast<Index>(clips.size()) +
                                                       static_cast<Index>(i));
    }
    Value queries;
    if (frame == 0 && model.settings().firstQuery == FirstQuery::Learned) {
        const Value first =
            reshape(graph, pass[model.firstQuery()], {model.settings().query.width});
        queries = broadcastLeading(graph, first, static_cast<Index>(clips.size()));
    } else {
        queries = model.llmToQuery()(pass, statesBefore(before));
    }
    AttentionReadout readout;
    const Tensor frameOf = integersOn(graph, frames);
    const Value tokens = model.encoder().look(pass, m_forward.encoded(), queries, &frameOf,
                                              m_readsAttention ? &readout : nullptr);
    m_queries.push_back(queries);
    m_tokens.push_back(tokens);
    if (m_readsAttention)
        m_weights.push_back(readout.weights);
    read(m_forward.enter(tokens), 1, counts);
}

/// Rows of what was read so far; −1, and all where nothing was read, are zeros.
Value SequentialReading::statesBefore(const std::vector<std::int32_t>& rows) const
{
    Graph& graph = m_forward.pass().graph;
    if (!m_states.empty())
        return gatherRows(graph, gathered(m_states), integersOn(graph, rows));
    const Tensor zeros =
        graph.take({static_cast<Index>(rows.size()), m_forward.model().settings().llm.width},
                   graph.options().computeType);
    fill(graph.stream(), zeros, 0);
    return graph.constant(zeros);
}

Value SequentialReading::gathered(const std::vector<Value>& steps) const
{
    return steps.size() == 1 ? steps.front() : concat(m_forward.pass().graph, steps, 0);
}

Value SequentialReading::statesAt(const std::vector<std::int32_t>& rows) const
{
    std::vector<std::int32_t> places;
    const Index length = m_sequences.shape().length;
    for (const std::int32_t row : rows)
        places.push_back(row < 0 ? -1
                                 : m_rowOf[static_cast<std::size_t>(row / length)]
                                          [static_cast<std::size_t>(row % length)]);
    Graph& graph = m_forward.pass().graph;
    return gatherRows(graph, gathered(m_states), integersOn(graph, places));
}

Value SequentialReading::lastStates() const
{
    std::vector<std::int32_t> places;
    for (const auto& rows : m_rowOf)
        places.push_back(rows.back());
    Graph& graph = m_forward.pass().graph;
    return gatherRows(graph, gathered(m_states), integersOn(graph, places));
}

Value SequentialReading::tokens() const
{
    Graph& graph = m_forward.pass().graph;
    return gatherRows(graph, gathered(m_tokens), integersOn(graph, m_stepOf));
}

Value SequentialReading::queries() const
{
    Graph& graph = m_forward.pass().graph;
    return gatherRows(graph, gathered(m_queries), integersOn(graph, m_stepOf));
}

AttentionReadout SequentialReading::attention() const
{
    Graph& graph = m_forward.pass().graph;
    std::vector<Value> steps;
    for (const Tensor& weights : m_weights)
        steps.push_back(graph.constant(weights));
    const Value bySlot = gatherRows(graph, gathered(steps), integersOn(graph, m_stepOf));
    AttentionReadout readout;
    readout.weights = graph.tensor(bySlot).clone(graph.stream());
    return readout;
}

} // namespace vergence::fvlm
