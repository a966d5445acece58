#pragma once

#include <span>
#include <vector>

#include "plugins/foveated_vlm/model/foveated_model.h"
#include "plugins/foveated_vlm/model/language_pass.h"
#include "plugins/foveated_vlm/model/sequences.h"

namespace vergence::fvlm {

/// CoarseFine: all frames with the learned query, then each with the query that the language model
/// made of those before it (K times where refined). CoarseOnly: without the second look.
/// Sequential: frame by frame as they come, as in use, with a cache and no coarse look.
enum class Mode { CoarseFine, CoarseOnly, Sequential };

/// What a step or an evaluation reads; all on the device.
struct MicroBatch {
    Tensor
        patches; ///< [F, G², 3P²], as GazeEncoder::encode wants them; rows of padding: any finite
    Tensor latents; ///< [F, 4, h, w] F32 (F64); empty for captions
    const SequenceTables* tables = nullptr;
    const Sequences* sequences = nullptr; ///< the same in host memory; training reads it not
};

/// Visual tokens of one look at all frames.
struct Glance {
    Value queries; ///< [M, Q] asked with; none for the coarse look
    Value tokens;  ///< z [M, D]
    Value rows;    ///< [M, H] as they enter the language model
    /// Entropy of its attention [M], mean over blocks and heads, nats; where a readout wanted it.
    Value entropy;
};

/// States of one pass of the language model.
struct LanguageStates {
    Value states;          ///< [rows, H], padding included
    Tensor visual, before; ///< [M] I32: rows of the visual tokens, and those before them
    bool isWhole = false;  ///< text included
};

/// The parts of a forward pass on one micro-batch, in the order of their use. What it is given must
/// outlive backward(), and it lives as long as its tape. A batch without frames has text alone: no
/// glances.
class GazeForward {
public:
    /// Encodes the frames, and looks at them with the learned query where `looksCoarsely`.
    /// `readout` receives the weights of that look, M = F.
    GazeForward(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
                bool looksCoarsely = true, AttentionReadout* readout = nullptr);

    bool hasFrames() const { return m_tables.shape().slots > 0; }
    const Glance& coarse() const { return m_coarse; }
    /// A look with these queries [M, Q], one per slot.
    Glance look(Value queries, AttentionReadout* readout = nullptr) const;

    /// The language model on whole sequences of these visual tokens.
    LanguageStates wholeStates(const Glance& glance, bool isCoarse);
    /// On what stands up to the last visual token, one row per clip: all that queries depend on.
    LanguageStates shortStates(const Glance& glance, bool isCoarse);
    /// Queries of the next look: of slot t from the state of slot t − 1, of first frames the
    /// learned one or, as the settings say, from the state before them. [M, Q]
    Value nextQueries(const LanguageStates& states) const;

    /// States that predict the counted tokens [counted, H]; of whole sequences.
    Value predictingStates(const LanguageStates& states) const;
    /// What the head predicts for every slot, [M, h, w, C], from these states before it [M, H].
    Value predictLatents(Value statesBefore);
    /// The states before every slot's token [M, H]; of whole sequences.
    Value statesBefore(const LanguageStates& states) const;
    /// The latents of all slots in the same layout, F32 (F64).
    Value latentTargets() const;

    /// z [n, D] → rows [n, H] under the model's norm.
    Value enter(Value tokens) const;
    /// concat(learned tokens, visual rows, embedded text); visual rows may be none.
    Value table(Value visualRows) const;
    const Encoded& encoded() const { return m_encoded; }
    const FoveatedModel& model() const { return m_model; }
    const ForwardPass& pass() const { return m_pass; }
    const SequenceTables& tables() const { return m_tables; }

private:
    Value bySlot(Value byFrame) const;
    Glance glanceOf(Value queries, Value tokens, const AttentionReadout* readout) const;
    Value run(const Glance& glance, const Tensor& rows, Index sequences);
    Value encodedLatents() const;

    const ForwardPass& m_pass;
    const FoveatedModel& m_model;
    const MicroBatch& m_batch;
    const SequenceTables& m_tables;
    Encoded m_encoded;
    Glance m_coarse;
    Value m_text;     ///< embedded [text, H]
    Value m_features; ///< of the latents before, once known, where the passes share them
    LanguagePass m_language;
};

} // namespace vergence::fvlm
