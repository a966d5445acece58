#include "plugins/foveated_vlm/train/batch_loader.h"

#include "core/compute/ops/pointwise.h"

namespace vergence::fvlm {

namespace {

std::vector<Index> clipsOf(const MicroBatchPlan& plan)
{
    std::vector<Index> clips;
    for (const PlannedSample& sample : plan.samples) {
        if (sample.clip >= 0)
            clips.push_back(sample.clip);
    }
    return clips;
}

} // namespace

SampleTokens sampleTokens(const PlannedSample& sample, const TextTokens* other)
{
    SampleTokens tokens;
    tokens.frames = sample.frames;
    tokens.isImage = sample.isImage;
    tokens.before = sample.tokens.before;
    tokens.after = sample.tokens.after;
    tokens.beforeMask = sample.tokens.beforeMask;
    tokens.afterMask = sample.tokens.afterMask;
    if (other)
        tokens.others.push_back({other->after, other->afterMask});
    return tokens;
}

struct BatchLoader::Entry {
    SequenceShape shape;
    Tensor latents; ///< F32 [F, 4, h, w] as the feed gives them
    LoadedBatch loaded;
};

BatchLoader::BatchLoader(const FoveatedModel& model, FrameFeed* feed, int mostShapes)
    : m_model(model),
      m_feed(feed),
      m_mostShapes(static_cast<std::size_t>(mostShapes))
{
    expects(mostShapes > 0, "BatchLoader: room for at least one shape");
}

BatchLoader::~BatchLoader() = default;

BatchLoader::Entry& BatchLoader::entryOf(const SequenceShape& shape, Stream& stream)
{
    for (auto entry = m_entries.begin(); entry != m_entries.end(); ++entry) {
        if (entry->shape != shape)
            continue;
        m_entries.splice(m_entries.begin(), m_entries, entry);
        return m_entries.front();
    }
    if (m_entries.size() >= m_mostShapes)
        m_entries.pop_back();
    const ParameterSet& parameters = m_model.parameters();
    const auto& device = parameters.device();
    const DType real = parameters.masterType();
    const ModelSettings& settings = m_model.settings();
    Entry entry;
    entry.shape = shape;
    entry.loaded.tables = std::make_unique<SequenceTables>(device, shape, real);
    if (shape.frames > 0) { // what is padding stays 0
        const Index patch = settings.vit.patch;
        entry.loaded.batch.patches = Tensor::zeros(
            stream, device,
            {shape.frames, m_feed->patchRows() * m_feed->patchColumns(), 3 * patch * patch},
            parameters.computeType());
    }
    if (settings.hasLatents()) {
        const Shape extents{shape.frames, settings.head.widths.front(), settings.head.height,
                            settings.head.width};
        entry.latents = Tensor::zeros(stream, device, extents, DType::F32);
        entry.loaded.batch.latents =
            real == DType::F32 ? entry.latents : Tensor::zeros(stream, device, extents, real);
    }
    entry.loaded.batch.tables = entry.loaded.tables.get();
    m_entries.push_front(std::move(entry));
    return m_entries.front();
}

LoadedBatch& BatchLoader::load(Stream& stream, const MicroBatchPlan& plan,
                               std::span<const SampleTokens> samples)
{
    const ModelSettings& settings = m_model.settings();
    auto sequences = std::make_unique<Sequences>(samples, settings,
                                                 roundedUp(shapeOf(samples, settings), settings));
    Entry& entry = entryOf(sequences->shape(), stream);
    LoadedBatch& loaded = entry.loaded;
    loaded.tables->fill(stream, *sequences);
    loaded.sequences = std::move(sequences);
    loaded.batch.sequences = loaded.sequences.get();
    const std::vector<Index> clips = clipsOf(plan);
    if (clips.empty())
        return loaded;
    expects(m_feed != nullptr, "BatchLoader: samples have frames, and there is no feed");
    const Index frames = plan.encoded();
    const Tensor latents = entry.latents.isEmpty() ? Tensor{} : entry.latents.narrow(0, 0, frames);
    m_feed->fill(stream, clips, loaded.batch.patches.narrow(0, 0, frames),
                 latents.isEmpty() ? nullptr : &latents);
    if (!entry.latents.isEmpty() && entry.latents.data() != loaded.batch.latents.data())
        cast(stream, entry.latents, loaded.batch.latents);
    return loaded;
}

void BatchLoader::ahead(const MicroBatchPlan& plan)
{
    const std::vector<Index> clips = clipsOf(plan);
    if (m_feed && !clips.empty())
        m_feed->ahead(clips);
}

void BatchLoader::forgetSteps()
{
    for (Entry& entry : m_entries)
        entry.loaded.step.reset();
}

void BatchLoader::drop()
{
    m_entries.clear();
    if (m_feed)
        m_feed->forget();
}

} // namespace vergence::fvlm
