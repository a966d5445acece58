#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "plugins/foveated_vlm/text/chat_template.h"
#include "plugins/foveated_vlm/text/sample_order.h"

namespace vergence::fvlm {

/// One sample of a micro-batch.
struct PlannedSample {
    Index clip = -1;       ///< into the source; −1: a text without frames
    Index text = -1;       ///< into the texts without frames; −1: a clip
    int frames = 0;        ///< visual tokens
    bool isImage = false;  ///< all frames equal: encoded once
    TextTokens tokens;     ///< empty where nothing is written; of preferences the chosen
    TextTokens rejected{}; ///< of preferences; else empty

    int encoded() const { return isImage ? 1 : frames; } ///< frames that the encoder sees
    int sequences() const { return rejected.size() > 0 ? 2 : 1; }
    int length() const { return frames + std::max(tokens.size(), rejected.size()); } ///< longest
    bool isCut() const { return tokens.dropped > 0 || rejected.dropped > 0; }
};

/// What one micro-step looks at.
struct MicroBatchPlan {
    std::vector<PlannedSample> samples;

    Index encoded() const; ///< frames that the encoder sees
    Index frames() const;  ///< visual tokens
    /// Neighbouring samples in `parts` pieces of nearly equal counts; fewer where there are fewer
    /// samples.
    std::vector<MicroBatchPlan> split(int parts) const;
};

/// What one update looks at; known before it starts, so that its losses have one denominator.
struct UpdatePlan {
    std::vector<MicroBatchPlan> microBatches;

    Index samples() const;
    Index frames() const;
    int cut() const; ///< samples that the limit of tokens shortened
};

struct BatchSettings {
    int batch = 8;                ///< samples of a micro-batch, at most
    int gradAccum = 4;            ///< micro-batches of an update
    Index framesPerBatch = 256;   ///< encoded
    Index tokensPerBatch = 16384; ///< sequences × the longest of them
    Index window = 1024;          ///< samples that are sorted by length together
    double textOnly = 0;          ///< share of samples that are texts without frames, 0 to 1
    bool preferences = false;     ///< every sample has a chosen and a rejected ending
    SampleOrder::Settings order{};
};

/// Which clips are trained on and which are held out.
struct ClipSplit {
    std::vector<Index> training, heldOut;
};
/// Holds out about `share` of the clips, chosen by their ids, so that other clips beside them
/// change nothing; at least one where `share` is above 0 and there are two clips or more.
ClipSplit splitClips(const ClipSource& clips, double share, std::uint64_t seed);

/// Turns the order of samples into micro-batches under budgets: samples of a window are sorted by
/// frames and length, texts without frames dealt evenly between clips, cut into micro-batches and
/// these shuffled. Nothing is left out for its size: a sample above a budget is alone. All of it is
/// a function of settings and position. Specification, section 7.5.
class BatchMaker {
public:
    /// `members`: the clips that are drawn from. `text`: null where nothing is written. `texts`:
    /// conversations without frames, of which a share above 0 needs some. All must outlive it.
    /// Throws ContractError for settings out of range.
    BatchMaker(const ClipSource& clips, std::vector<Index> members, const ChatTemplate* text,
               const std::vector<ClipText>* texts, BatchSettings settings);

    /// The micro-batches of the next update.
    UpdatePlan next();

    /// Where the next update begins.
    struct Position {
        std::int64_t firstDrawn = 0; ///< of the window, counted over the run
        Index batch = 0;             ///< micro-batch of the window
        bool operator==(const Position&) const = default;
    };
    Position position() const { return m_position; }
    void seek(Position position); ///< throws InputError where these settings have no such position

    /// Passes over the clips after `samples` samples of the run.
    double epochs(std::int64_t samples) const;
    const BatchSettings& settings() const { return m_settings; }
    const std::vector<Index>& members() const { return m_members; }

private:
    std::int64_t textsBefore(std::int64_t drawn) const;
    PlannedSample draw(std::int64_t drawn) const;
    void planWindow();
    std::vector<PlannedSample> sortedWindow() const;
    bool fits(const MicroBatchPlan& batch, const PlannedSample& sample) const;

    const ClipSource& m_clips;
    std::vector<Index> m_members;
    const ChatTemplate* m_text;
    const std::vector<ClipText>* m_texts;
    BatchSettings m_settings;
    SampleOrder m_clipOrder;
    std::optional<SampleOrder> m_textOrder;
    Position m_position;
    std::vector<MicroBatchPlan> m_window; ///< of m_position; empty: to be planned
};

} // namespace vergence::fvlm
