#pragma once

#include <utility>
#include <vector>

#include "plugins/foveated_vlm/model/cached_language.h"
#include "plugins/foveated_vlm/model/forward.h"

namespace vergence::fvlm {

/// The sequential mode on one micro-batch: what stands before the frames in one call, then frame by
/// frame a look and a step of the language model, then what follows in one call. Every sequence has
/// looks of its own.
class SequentialReading {
public:
    /// room: positions kept free behind every sequence. `readsAttention`: weights of every look.
    SequentialReading(GazeForward& forward, const MicroBatch& batch, Index room = 0,
                      bool readsAttention = false);

    /// States of chosen places in sequences, [n, H]; −1 in a place of Sequences' tables (rows of
    /// [sequences · length]) gives zeros.
    Value statesAt(const std::vector<std::int32_t>& rows) const;
    /// The state of the last position of every sequence [sequences, H].
    Value lastStates() const;

    Value tokens() const;               ///< z of the slots [slots, D], padding zero
    Value queries() const;              ///< [slots, Q]
    AttentionReadout attention() const; ///< M = slots, padding zero
    CachedLanguage& language() { return m_language; }

private:
    void read(Value rows, Index added, const std::vector<Index>& counts);
    void readText(bool isBefore);
    void lookAndRead(Index frame);
    Value statesBefore(const std::vector<std::int32_t>& rows) const;
    Value gathered(const std::vector<Value>& steps) const;

    GazeForward& m_forward;
    const Sequences& m_sequences;
    bool m_readsAttention;
    CachedLanguage m_language;
    std::vector<Value> m_states;                    ///< of each call [sequences · S, H]
    std::vector<std::vector<std::int32_t>> m_rowOf; ///< of position p of a sequence in m_states
    Index m_rows = 0;                               ///< of all m_states
    std::vector<Index> m_before;                    ///< positions before the first frame
    std::vector<Value> m_tokens, m_queries;         ///< per frame [sequences, ..]
    std::vector<Tensor> m_weights;
    std::vector<std::int32_t> m_stepOf; ///< [slots] row of concat(m_tokens)
};

/// I32 numbers on the tape's device.
Tensor integersOn(Graph& graph, const std::vector<std::int32_t>& values);

} // namespace vergence::fvlm
