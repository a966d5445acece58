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
};

/// One pass of the language model.
struct LanguageStates {
    Value states;                   ///< [rows, H], padding included
    const Tensor* visual = nullptr; ///< rows of the visual tokens [M] I32
};

/// The parts of a forward pass on one micro-batch, in the order of their use. Lives as long as its
/// tape; the pass, the model and the batch must outlive backward().
class GazeForward {
public:
    /// Encodes the frames, and looks at them with the learned query where `looksCoarsely`.
    /// `readout`: receives the weights of that look, M = F.
    GazeForward(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
                bool looksCoarsely = true, AttentionReadout* readout = nullptr);

    const Glance& coarse() const { return m_coarse; }
    /// A look with these queries [M, Q], one per slot.
    Glance look(Value queries, AttentionReadout* readout = nullptr) const;
    /// The same at chosen encoded frames [n] I32.
    Glance look(Value queries, const Tensor& frames) const;

    /// The language model on whole sequences of these visual tokens.
    LanguageStates wholeStates(const Glance& glance, bool isCoarse) const;
    /// On what stands up to the last visual token, one row per clip: all that queries depend on.
    LanguageStates shortStates(const Glance& glance, bool isCoarse) const;
    /// Queries of the next look: of slot t from the state of slot t − 1, of first frames the
    /// learned one. [M, Q]
    Value nextQueries(const LanguageStates& states) const;

    /// States that predict the counted tokens [counted, H]; of whole sequences.
    Value predictingStates(const LanguageStates& states) const;
    /// What the head predicts for every slot, [M, h, w, C]; of whole sequences.
    Value predictLatents(const LanguageStates& states) const;
    /// The latents of all slots in the same layout, F32 (F64).
    Value latentTargets() const;

    /// z [n, D] → rows [n, H] under the model's norm.
    Value enter(Value tokens) const;
    /// Embedded text of all sequences [text, H].
    Value text() const { return m_text; }
    /// concat(learned tokens, visual rows, text)
    Value table(Value visualRows) const;
    const Encoded& encoded() const { return m_encoded; }
    const FoveatedModel& model() const { return m_model; }
    const ForwardPass& pass() const { return m_pass; }

private:
    LanguageStates run(const Glance& glance, const Tensor& rows, Index sequences,
                       const Tensor& visual) const;
    Value latentFeatures() const;

    const ForwardPass& m_pass;
    const FoveatedModel& m_model;
    const MicroBatch& m_batch;
    Encoded m_encoded;
    Glance m_coarse;
    Value m_text;
    mutable LanguagePass m_language;
    mutable Value m_features; ///< of the latents before; shared by the passes where told
};

} // namespace vergence::fvlm
