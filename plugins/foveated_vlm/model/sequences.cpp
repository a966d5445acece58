#include "plugins/foveated_vlm/model/sequences.h"

#include <algorithm>

#include <fmt/format.h>

#include "plugins/foveated_vlm/model/foveated_model.h"

namespace vergence::fvlm {

namespace {
constexpr std::int32_t kPadding = -1, kIgnored = -100;

bool promptIsFirst(const SampleTokens& sample, const ModelSettings& settings)
{
    return sample.frames > 0 && settings.variant == Variant::Captions &&
           settings.order == SequenceOrder::PromptFramesAnswer;
}

/// Positions in front of the first token of `before` and of the ending.
struct TextPlaces {
    Index before = 0, ending = 0, length = 0, shortLength = 0;
};

TextPlaces placesOf(const SampleTokens& sample, Index ending, const ModelSettings& settings)
{
    const auto before = static_cast<Index>(sample.before.size());
    const Index frames = sample.frames;
    TextPlaces places;
    if (settings.variant == Variant::Latents) {
        const Index text = std::max<Index>(1, before + ending);
        places = {0, before, text + 1 + frames, text + 1 + frames};
    } else if (frames == 0) {
        places = {0, before, before + ending, 0};
    } else if (settings.variant == Variant::Joint) {
        places.before = 1 + frames + 1;
        places.ending = places.before + before;
        places.length = places.ending + ending;
        places.shortLength = 1 + frames;
    } else if (promptIsFirst(sample, settings)) {
        places = {0, before + frames, before + frames + ending, before + frames};
    } else {
        places = {frames, frames + before, frames + before + ending, frames};
    }
    return places;
}

Index countMasked(const std::vector<std::uint8_t>& mask, Index place)
{
    Index count = 0;
    for (std::size_t i = 0; i < mask.size(); ++i)
        count += mask[i] != 0 && place + static_cast<Index>(i) > 0;
    return count;
}

/// Calls `visit(tokens, mask)` for every ending.
template <class Visit>
void forEachEnding(const SampleTokens& sample, const Visit& visit)
{
    visit(sample.after, sample.afterMask);
    for (const Continuation& other : sample.others)
        visit(other.tokens, other.mask);
}

void expectGood(const SampleTokens& sample, const ModelSettings& settings)
{
    const auto check = [&](const std::vector<int>& tokens, const std::vector<std::uint8_t>& mask) {
        expects(tokens.size() == mask.size(),
                fmt::format("Sequences: {} tokens with a mask of {}", tokens.size(), mask.size()));
        for (const int id : tokens)
            expects(id >= 0 && id < settings.llm.vocabulary,
                    fmt::format("Sequences: token {} is not in the vocabulary of {}", id,
                                settings.llm.vocabulary));
    };
    check(sample.before, sample.beforeMask);
    forEachEnding(sample, check);
    expects(sample.frames >= 0 && (sample.frames > 0 || settings.variant != Variant::Latents),
            "Sequences: a sample for latents needs frames");
    expects(sample.frames > 0 || !sample.before.empty() || !sample.after.empty(),
            "Sequences: a sample needs frames or text");
}

Index rounded(Index n)
{
    Index granule = 1;
    while (n > 16 * granule)
        granule *= 2;
    return (n + granule - 1) / granule * granule;
}
} // namespace

Index countedTokens(const SampleTokens& sample, const ModelSettings& settings)
{
    if (!settings.hasText())
        return 0;
    Index count = 0;
    forEachEnding(sample, [&](const std::vector<int>& tokens, const std::vector<std::uint8_t>& m) {
        const TextPlaces places = placesOf(sample, static_cast<Index>(tokens.size()), settings);
        count += countMasked(sample.beforeMask, places.before) + countMasked(m, places.ending);
    });
    return count;
}

SequenceShape shapeOf(std::span<const SampleTokens> samples, const ModelSettings& settings)
{
    SequenceShape shape;
    for (const SampleTokens& sample : samples) {
        ++shape.clips;
        shape.frames += sample.encodedFrames();
        shape.slots += sample.frames;
        shape.longestClip = std::max<Index>(shape.longestClip, sample.frames);
        shape.text += static_cast<Index>(sample.before.size());
        shape.counted += countedTokens(sample, settings);
        forEachEnding(sample, [&](const std::vector<int>& tokens, const auto&) {
            const auto count = static_cast<Index>(tokens.size());
            const TextPlaces places = placesOf(sample, count, settings);
            ++shape.sequences;
            shape.text += count;
            shape.length = std::max(shape.length, places.length);
            shape.shortLength = std::max(shape.shortLength, places.shortLength);
        });
    }
    if (settings.hasText())
        shape.counted = std::max<Index>(shape.counted, 1);
    return shape;
}

SequenceShape roundedUp(SequenceShape shape, const ModelSettings& settings)
{
    const bool hasImages = shape.slots != shape.frames;
    if (settings.norm != VisualNorm::BatchStd) {
        shape.frames = rounded(shape.frames);
        shape.slots = rounded(shape.slots);
        if (hasImages && shape.slots == shape.frames)
            ++shape.slots; // equal extents say that slots are frames
    }
    for (Index* extent :
         {&shape.text, &shape.length, &shape.shortLength, &shape.counted, &shape.longestClip})
        *extent = rounded(*extent);
    return shape;
}

/// Writes one sample after another.
class Sequences::Builder {
    struct TextPart {
        std::vector<std::int32_t> rows;
        std::vector<std::int32_t> ids;
        std::vector<std::uint8_t> mask;
    };

    /// Learned rows by LearnedToken, −1 where the model has none; and how many there are.
    struct LearnedRows {
        std::array<std::int32_t, LearnedTokenCount> row{};
        int count = 0;

        explicit LearnedRows(const ModelSettings& settings)
        {
            row.fill(kPadding);
            if (!settings.hasLatents())
                return;
            count = settings.seedAsRun ? 2 : LearnedTokenCount;
            for (int i = 0; i < count; ++i)
                row[static_cast<std::size_t>(i)] = i;
        }
    };

public:
    Builder(Sequences& out, const ModelSettings& settings)
        : m_out(out),
          m_settings(settings),
          m_learned(settings)
    {
        const SequenceShape& s = out.m_shape;
        const auto padded = [](Index n, std::int32_t value) {
            return std::vector<std::int32_t>(static_cast<std::size_t>(n), value);
        };
        out.m_learned = m_learned.count;
        out.textIds = padded(s.text, kPadding);
        out.fine = out.coarse = padded(s.sequences * s.length, kPadding);
        out.shortFine = out.shortCoarse = padded(s.clips * s.shortLength, kPadding);
        out.visual = out.shortVisual = out.before = out.shortBefore = padded(s.slots, kPadding);
        out.queryOf = out.frameOf = out.staticOf = out.latentBefore = padded(s.slots, 0);
        if (s.slots == s.frames) {
            for (std::size_t i = 0; i < out.frameOf.size(); ++i)
                out.frameOf[i] = static_cast<std::int32_t>(i);
        }
        out.predicting = out.sequenceOf = padded(s.counted, kPadding);
        out.labels = padded(s.counted, kIgnored);
    }

    void add(const SampleTokens& sample)
    {
        Clip clip;
        clip.frames = sample.frames;
        clip.firstSlot = static_cast<int>(m_slots);
        clip.firstFrame = static_cast<int>(m_frames);
        clip.firstSequence = static_cast<int>(m_out.m_rows.size());
        clip.sequences = 1 + static_cast<int>(sample.others.size());
        m_slots += sample.frames;
        m_frames += sample.encodedFrames();
        addSlots(sample, clip);
        const TextPart before = addText(sample.before, sample.beforeMask);
        forEachEnding(sample,
                      [&](const std::vector<int>& tokens, const std::vector<std::uint8_t>& mask) {
                          addSequence(sample, clip, before, addText(tokens, mask));
                      });
        addShort(sample, clip);
        m_out.m_clips.push_back(clip);
    }

private:
    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

    TextPart addText(const std::vector<int>& tokens, const std::vector<std::uint8_t>& mask)
    {
        TextPart part;
        part.mask = mask;
        for (const int id : tokens) {
            part.rows.push_back(
                static_cast<std::int32_t>(m_learned.count + m_out.m_shape.slots + m_text));
            part.ids.push_back(id);
            m_out.textIds[at(m_text++)] = id;
        }
        return part;
    }

    void addSlots(const SampleTokens& sample, const Clip& clip)
    {
        for (int t = 0; t < sample.frames; ++t) {
            const auto slot = at(clip.firstSlot + t);
            m_out.frameOf[slot] = clip.firstFrame + (sample.isImage ? 0 : t);
            m_out.staticOf[slot] = t % m_settings.staticQueries;
            m_out.queryOf[slot] = t == 0 ? 0 : clip.firstSlot + t;
            m_out.latentBefore[slot] = t == 0 ? 0 : 1 + m_out.frameOf[slot - 1];
        }
    }

    /// The sequence as rows, padding left out; where no text stands for text, the learned row.
    std::vector<std::int32_t> rowsOf(const SampleTokens& sample, const Clip& clip,
                                     const TextPart& before, const TextPart& ending) const
    {
        std::vector<std::int32_t> rows;
        const auto append = [&](const std::vector<std::int32_t>& part) {
            rows.insert(rows.end(), part.begin(), part.end());
        };
        const auto appendFrames = [&] {
            for (int t = 0; t < sample.frames; ++t)
                rows.push_back(static_cast<std::int32_t>(m_learned.count + clip.firstSlot + t));
        };
        const bool isLatents = m_settings.variant == Variant::Latents;
        const bool textIsFirst = isLatents || sample.frames == 0;
        if (textIsFirst || promptIsFirst(sample, m_settings))
            append(before.rows);
        if (textIsFirst)
            append(ending.rows);
        if (isLatents && rows.empty())
            rows.push_back(m_learned.row[NoTextToken]);
        if (sample.frames == 0)
            return rows;
        if (m_settings.hasLatents())
            rows.push_back(m_learned.row[FineToken]);
        appendFrames();
        if (isLatents)
            return rows;
        if (m_settings.variant == Variant::Joint)
            rows.push_back(m_learned.row[VideoEndToken]);
        if (!promptIsFirst(sample, m_settings))
            append(before.rows);
        append(ending.rows);
        return rows;
    }

    std::int32_t coarseRow(std::int32_t row) const
    {
        const bool isMode = m_learned.count > 0 && row == m_learned.row[FineToken];
        return isMode ? m_learned.row[CoarseToken] : row;
    }

    void addSequence(const SampleTokens& sample, const Clip& clip, const TextPart& before,
                     const TextPart& ending)
    {
        const auto sequence = static_cast<Index>(m_out.m_rows.size());
        const Index first = sequence * m_out.m_shape.length;
        m_out.m_rows.push_back(rowsOf(sample, clip, before, ending));
        const auto& rows = m_out.m_rows.back();
        for (std::size_t p = 0; p < rows.size(); ++p) {
            const std::size_t place = at(first) + p;
            m_out.fine[place] = rows[p];
            m_out.coarse[place] = coarseRow(rows[p]);
            const bool isFirstVisual = m_out.isVisual(rows[p]) && sequence == clip.firstSequence;
            if (isFirstVisual) {
                const auto slot = at(rows[p] - m_learned.count);
                m_out.visual[slot] = static_cast<std::int32_t>(place);
                m_out.before[slot] = p > 0 ? static_cast<std::int32_t>(place) - 1 : kPadding;
            }
        }
        if (!m_settings.hasText())
            return;
        const TextPlaces places =
            placesOf(sample, static_cast<Index>(ending.ids.size()), m_settings);
        addLabels(before, sequence, places.before);
        addLabels(ending, sequence, places.ending);
    }

    void addLabels(const TextPart& part, Index sequence, Index place)
    {
        for (std::size_t i = 0; i < part.ids.size(); ++i) {
            const Index position = place + static_cast<Index>(i);
            if (part.mask[i] == 0 || position == 0)
                continue;
            const auto entry = at(m_counted++);
            m_out.predicting[entry] =
                static_cast<std::int32_t>(sequence * m_out.m_shape.length + position - 1);
            m_out.labels[entry] = part.ids[i];
            m_out.sequenceOf[entry] = static_cast<std::int32_t>(sequence);
        }
    }

    void addShort(const SampleTokens& sample, const Clip& clip)
    {
        if (sample.frames == 0)
            return;
        const auto& rows = m_out.m_rows[at(clip.firstSequence)];
        const Index first = static_cast<Index>(m_out.m_clips.size()) * m_out.m_shape.shortLength;
        Index seen = 0;
        for (std::size_t p = 0; p < rows.size() && seen < sample.frames; ++p) {
            const std::size_t place = at(first) + p;
            m_out.shortFine[place] = rows[p];
            m_out.shortCoarse[place] = coarseRow(rows[p]);
            if (!m_out.isVisual(rows[p]))
                continue;
            const auto slot = at(clip.firstSlot + seen++);
            m_out.shortVisual[slot] = static_cast<std::int32_t>(place);
            m_out.shortBefore[slot] = p > 0 ? static_cast<std::int32_t>(place) - 1 : kPadding;
        }
    }

    Sequences& m_out;
    const ModelSettings& m_settings;
    LearnedRows m_learned;
    Index m_slots = 0, m_frames = 0, m_text = 0, m_counted = 0;
};

Sequences::Sequences(std::span<const SampleTokens> samples, const ModelSettings& settings,
                     const std::optional<SequenceShape>& shape)
{
    for (const SampleTokens& sample : samples)
        expectGood(sample, settings);
    m_real = shapeOf(samples, settings);
    m_shape = shape.value_or(m_real);
    const SequenceShape &want = m_shape, &real = m_real;
    expects(want.clips == real.clips && want.sequences == real.sequences &&
                want.frames >= real.frames && want.slots >= real.slots && want.text >= real.text &&
                want.length >= real.length && want.shortLength >= real.shortLength &&
                want.counted >= real.counted && want.longestClip >= real.longestClip,
            "Sequences: the samples do not fit the shape");
    expects((want.slots == want.frames) == (real.slots == real.frames),
            "Sequences: images need a shape with more slots than frames, other samples one with as "
            "many");
    Builder builder(*this, settings);
    for (const SampleTokens& sample : samples)
        builder.add(sample);
}

} // namespace vergence::fvlm
