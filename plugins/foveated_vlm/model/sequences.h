#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/foveated_vlm/model/model_settings.h"

namespace vergence::fvlm {

/// Another ending of a sample: a rejected answer, an option of a question.
struct Continuation {
    std::vector<int> tokens;
    std::vector<std::uint8_t> mask; ///< 1: the token is to be predicted
};

/// One sample as tokens. FramesText puts the frames in front of `before` and `after`;
/// PromptFramesAnswer between them; latents put both before the frames (the learned "no text" where
/// there are none); joint training puts both behind the frames and the learned end of the video.
struct SampleTokens {
    int frames = 0;       ///< 0: text alone
    bool isImage = false; ///< all frames are one image: encoded once, given once to the device
    std::vector<int> before, after;
    std::vector<std::uint8_t> beforeMask, afterMask; ///< as long as the tokens
    /// Endings in place of `after`; each is a sequence of its own behind the same frames.
    std::vector<Continuation> others;

    int encodedFrames() const { return isImage && frames > 0 ? 1 : frames; }
};

/// Tokens of a sample (all its endings) that a loss counts: mask 1 and something before them. The
/// denominators of an update are sums of this, known before it starts.
Index countedTokens(const SampleTokens& sample, const ModelSettings& settings);

/// Extents of the tables of a micro-batch. Equal shapes mean equal addresses and a step that can be
/// recorded once and replayed.
struct SequenceShape {
    Index clips = 0;       ///< samples
    Index sequences = 0;   ///< samples and their other endings
    Index frames = 0;      ///< encoded frames F, rows of MicroBatch::patches
    Index slots = 0;       ///< visual tokens M; F unless an image stands for several
    Index text = 0;        ///< text tokens of all sequences
    Index length = 0;      ///< longest sequence L
    Index shortLength = 0; ///< longest sequence up to its last visual token
    Index counted = 0;     ///< tokens to be predicted
    Index longestClip = 0; ///< most frames of a sample

    auto operator<=>(const SequenceShape&) const = default;
};

/// What the samples need.
SequenceShape shapeOf(std::span<const SampleTokens> samples, const ModelSettings& settings);
/// Frames, slots, text, lengths and counts rounded up to at most an eighth more, so that few shapes
/// occur; 0 stays 0, and clips and sequences stay as they are. Frames stay too under BatchStd,
/// whose statistics take no padding.
SequenceShape roundedUp(SequenceShape shape, const ModelSettings& settings);

/// The index tables of a micro-batch in host memory. A sequence is a list of rows of
/// concat(learned tokens, visual tokens of all slots, embedded text); −1 is padding, which lies
/// right of every sequence and is a row of zeros. Positions count from 0 in each.
class Sequences {
public:
    /// Padded to `shape`, which holds at least what the samples need. Throws ContractError for
    /// masks of another length than their tokens, an id beyond the vocabulary, a sample with
    /// neither frames nor text.
    Sequences(std::span<const SampleTokens> samples, const ModelSettings& settings,
              const std::optional<SequenceShape>& shape = {});

    const SequenceShape& shape() const { return m_shape; }
    int learned() const { return m_learned; } ///< rows in front of the visual ones

    std::vector<std::int32_t> textIds;      ///< [text]
    std::vector<std::int32_t> fine, coarse; ///< [sequences, length]
    std::vector<std::int32_t> shortFine;    ///< [clips, shortLength]: without what follows the
    std::vector<std::int32_t> shortCoarse;  ///< last visual token
    std::vector<std::int32_t> visual;       ///< [slots] row of [sequences · length] of each token
    std::vector<std::int32_t> shortVisual;  ///< [slots] row of [clips · shortLength]
    std::vector<std::int32_t> queryOf;      ///< [slots] 0: the first query; else 1 + slot before
    std::vector<std::int32_t> frameOf;      ///< [slots] encoded frame
    std::vector<std::int32_t> staticOf;     ///< [slots] query of the coarse look
    std::vector<std::int32_t> before;       ///< [slots] row before the slot's, whose state predicts
                                            ///< its latent; −1 where nothing stands before it
    std::vector<std::int32_t> shortBefore;  ///< [slots] the same of [clips · shortLength]
    std::vector<std::int32_t> latentBefore; ///< [slots] 0: the first latent; else 1 + encoded frame
    std::vector<std::int32_t> predicting;   ///< [counted] row whose state predicts the label
    std::vector<std::int32_t> labels;       ///< [counted] −100: padding
    std::vector<std::int32_t> sequenceOf;   ///< [counted] −1: padding

    /// Of the padded extents, those that are real.
    const SequenceShape& real() const { return m_real; }
    struct Clip {
        int frames = 0, firstSlot = 0, firstFrame = 0, firstSequence = 0, sequences = 0;
    };
    const std::vector<Clip>& clips() const { return m_clips; }
    /// A sequence without padding, as in `fine`; its visual rows are neighbours.
    const std::vector<std::int32_t>& rowsOf(Index sequence) const
    {
        return m_rows.at(static_cast<std::size_t>(sequence));
    }
    bool isVisual(std::int32_t row) const
    {
        return row >= m_learned && row < m_learned + m_shape.slots;
    }

private:
    class Builder;

    SequenceShape m_shape, m_real;
    int m_learned = 0;
    std::vector<Clip> m_clips;
    std::vector<std::vector<std::int32_t>> m_rows; ///< of sequences, without padding
};

/// The same on the device: one block of numbers of fixed address, filled by one copy.
class SequenceTables {
public:
    /// real: F32, or F64 where the model computes in F64.
    SequenceTables(const std::shared_ptr<Device>& device, const SequenceShape& shape,
                   DType real = DType::F32);
    /// Throws ContractError where the shape is another.
    void fill(Stream& stream, const Sequences& sequences);

    const SequenceShape& shape() const { return m_shape; }
    bool slotsAreFrames() const { return m_shape.slots == m_shape.frames; }

    // I32, extents as in Sequences.
    Tensor textIds, fine, coarse, shortFine, shortCoarse, visual, shortVisual, queryOf, frameOf,
        staticOf, before, shortBefore, latentBefore, predicting, labels;
    // Real numbers.
    Tensor countedTokens; ///< [1] tokens to be predicted in this micro-batch
    Tensor isReal;        ///< [slots] 1, padding 0
    Tensor realShare;     ///< [slots] 1 / slots of this micro-batch, padding 0
    Tensor laterShare;    ///< [slots] 1 / slots of frames 2, 3, …; first frames and padding 0
    Tensor frameShare;    ///< [longestClip, slots] 1 / samples that have a frame of that number
    /// [sequences, counted] 1 where the token is the sequence's; empty where no sample has other
    /// endings.
    Tensor sequenceSums;

private:
    SequenceShape m_shape;
    Tensor m_integers, m_reals;
};

} // namespace vergence::fvlm
