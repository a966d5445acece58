#include "plugins/foveated_vlm/text/batch_maker.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/rng.h"

namespace vergence::fvlm {

namespace {

/// Streams of random numbers apart from those of the order.
constexpr std::uint32_t kTextPurpose = 1;
constexpr std::uint64_t kShuffleStream = std::uint64_t{2} << 56;
constexpr std::uint64_t kSplitStream = std::uint64_t{3} << 56;

template <class Items, class Count>
Index sum(const Items& items, Count count)
{
    return std::accumulate(items.begin(), items.end(), Index{0},
                           [&](Index total, const auto& item) { return total + count(item); });
}

SampleOrder::Settings textOrder(SampleOrder::Settings settings)
{
    settings.shards.clear();
    settings.purpose += kTextPurpose;
    return settings;
}

void expectsSettings(const BatchSettings& settings, const std::vector<ClipText>* texts)
{
    expects(settings.batch > 0 && settings.gradAccum > 0 && settings.window > 0,
            "BatchMaker: batch, accumulation and window are at least 1");
    expects(settings.framesPerBatch > 0 && settings.tokensPerBatch > 0,
            "BatchMaker: budgets are at least 1");
    expects(settings.textOnly >= 0 && settings.textOnly < 1,
            fmt::format("BatchMaker: a share of {} of texts without frames", settings.textOnly));
    expects(settings.textOnly == 0 || (texts && !texts->empty()),
            "BatchMaker: there are no texts without frames");
}

} // namespace

Index MicroBatchPlan::encoded() const
{
    return sum(samples, [](const PlannedSample& sample) { return sample.encoded(); });
}

Index MicroBatchPlan::frames() const
{
    return sum(samples, [](const PlannedSample& sample) { return sample.frames; });
}

std::vector<MicroBatchPlan> MicroBatchPlan::split(int parts) const
{
    expects(parts > 0, "MicroBatchPlan: at least one part");
    const auto count = static_cast<Index>(samples.size());
    const Index pieces = std::min<Index>(parts, count);
    std::vector<MicroBatchPlan> result(static_cast<std::size_t>(pieces));
    for (Index i = 0; i < pieces; ++i) {
        const auto from = samples.begin() + count * i / pieces;
        result[static_cast<std::size_t>(i)].samples.assign(from, samples.begin() +
                                                                     count * (i + 1) / pieces);
    }
    return result;
}

Index UpdatePlan::samples() const
{
    return sum(microBatches, [](const MicroBatchPlan& batch) {
        return static_cast<Index>(batch.samples.size());
    });
}

Index UpdatePlan::frames() const
{
    return sum(microBatches, [](const MicroBatchPlan& batch) { return batch.frames(); });
}

int UpdatePlan::cut() const
{
    const auto isCut = [](const PlannedSample& sample) { return sample.isCut() ? 1 : 0; };
    return static_cast<int>(
        sum(microBatches, [&](const MicroBatchPlan& batch) { return sum(batch.samples, isCut); }));
}

ClipSplit splitClips(const ClipSource& clips, double share, std::uint64_t seed)
{
    expects(share >= 0 && share < 1, fmt::format("splitClips: a share of {}", share));
    ClipSplit split;
    std::pair<std::uint32_t, Index> smallest{UINT32_MAX, 0};
    const auto limit = static_cast<std::uint32_t>(std::ldexp(share, 32));
    for (Index i = 0; i < clips.count(); ++i) {
        const std::uint32_t word = philox(seed, kSplitStream, clips.info(i).id).word[0];
        smallest = std::min(smallest, {word, i});
        (word < limit ? split.heldOut : split.training).push_back(i);
    }
    if (share > 0 && split.heldOut.empty() && split.training.size() > 1) {
        split.heldOut = {smallest.second};
        std::erase(split.training, smallest.second);
    }
    return split;
}

BatchMaker::BatchMaker(const ClipSource& clips, std::vector<Index> members,
                       const ChatTemplate* text, const std::vector<ClipText>* texts,
                       BatchSettings settings)
    : m_clips(clips),
      m_members(std::move(members)),
      m_text(text),
      m_texts(texts),
      m_settings(std::move(settings)),
      m_clipOrder(static_cast<Index>(m_members.size()), m_settings.order)
{
    expectsSettings(m_settings, texts);
    expects((m_settings.textOnly == 0 && !m_settings.preferences) || text,
            "BatchMaker: texts need a template");
    if (m_settings.textOnly > 0)
        m_textOrder.emplace(static_cast<Index>(texts->size()), textOrder(m_settings.order));
}

std::int64_t BatchMaker::textsBefore(std::int64_t drawn) const
{
    return static_cast<std::int64_t>(std::floor(m_settings.textOnly * static_cast<double>(drawn)));
}

double BatchMaker::epochs(std::int64_t samples) const
{
    return static_cast<double>(samples - textsBefore(samples)) /
           static_cast<double>(m_members.size());
}

PlannedSample BatchMaker::draw(std::int64_t drawn) const
{
    const std::int64_t texts = textsBefore(drawn);
    PlannedSample sample;
    if (textsBefore(drawn + 1) > texts) {
        sample.text = m_textOrder->sample(texts);
        sample.tokens = m_text->sample((*m_texts)[static_cast<std::size_t>(sample.text)]);
        return sample;
    }
    sample.clip = m_members[static_cast<std::size_t>(m_clipOrder.sample(drawn - texts))];
    const ClipInfo info = m_clips.info(sample.clip);
    sample.frames = info.frames;
    sample.isImage = info.isImage;
    if (m_settings.preferences) {
        sample.tokens = m_text->sample(info.text, info.text.chosen);
        sample.rejected = m_text->sample(info.text, info.text.rejected);
    } else if (m_text) {
        sample.tokens = m_text->sample(info.text);
    }
    return sample;
}

std::vector<PlannedSample> BatchMaker::sortedWindow() const
{
    std::vector<PlannedSample> clips, texts, window;
    for (Index i = 0; i < m_settings.window; ++i) {
        PlannedSample sample = draw(m_position.firstDrawn + i);
        (sample.clip < 0 ? texts : clips).push_back(std::move(sample));
    }
    const auto isShorter = [](const PlannedSample& a, const PlannedSample& b) {
        return std::tuple(a.frames, a.length()) < std::tuple(b.frames, b.length());
    };
    std::stable_sort(clips.begin(), clips.end(), isShorter);
    std::stable_sort(texts.begin(), texts.end(), isShorter);
    // Dealt evenly: after any number of samples the share of texts is that of the window.
    for (std::size_t clip = 0, text = 0; clip + text < clips.size() + texts.size();) {
        const bool isText = (clip + text + 1) * texts.size() / (clips.size() + texts.size()) > text;
        window.push_back(std::move(isText ? texts[text] : clips[clip]));
        ++(isText ? text : clip);
    }
    return window;
}

bool BatchMaker::fits(const MicroBatchPlan& batch, const PlannedSample& sample) const
{
    Index longest = sample.length(), sequences = sample.sequences();
    for (const PlannedSample& other : batch.samples) {
        longest = std::max<Index>(longest, other.length());
        sequences += other.sequences();
    }
    return static_cast<Index>(batch.samples.size()) < m_settings.batch &&
           batch.encoded() + sample.encoded() <= m_settings.framesPerBatch &&
           sequences * longest <= m_settings.tokensPerBatch;
}

void BatchMaker::planWindow()
{
    std::vector<MicroBatchPlan> batches;
    for (PlannedSample& sample : sortedWindow()) {
        if (batches.empty() || !fits(batches.back(), sample))
            batches.emplace_back();
        batches.back().samples.push_back(std::move(sample));
    }
    const auto count = static_cast<Index>(batches.size());
    const auto stream = kShuffleStream + static_cast<std::uint64_t>(m_position.firstDrawn);
    const KeyedPermutation order(count, m_settings.order.seed, stream);
    m_window.resize(batches.size());
    for (Index i = 0; i < count; ++i)
        m_window[static_cast<std::size_t>(i)] =
            std::move(batches[static_cast<std::size_t>(order(i))]);
}

UpdatePlan BatchMaker::next()
{
    UpdatePlan update;
    while (static_cast<int>(update.microBatches.size()) < m_settings.gradAccum) {
        if (m_window.empty())
            planWindow();
        update.microBatches.push_back(m_window[static_cast<std::size_t>(m_position.batch)]);
        if (++m_position.batch < static_cast<Index>(m_window.size()))
            continue;
        m_position = {m_position.firstDrawn + m_settings.window, 0};
        m_window.clear();
    }
    return update;
}

void BatchMaker::seek(Position position)
{
    const auto check = [&](bool isThere) {
        if (!isThere)
            throw InputError(fmt::format("There is no batch {} in the window of samples from {} "
                                         "on: the saved position is damaged or not of these "
                                         "settings.",
                                         position.batch, position.firstDrawn));
    };
    check(position.firstDrawn >= 0 && position.firstDrawn % m_settings.window == 0 &&
          position.batch >= 0);
    m_position = position;
    m_window.clear();
    planWindow();
    check(position.batch < static_cast<Index>(m_window.size()));
}

} // namespace vergence::fvlm
