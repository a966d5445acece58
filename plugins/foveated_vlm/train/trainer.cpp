#include "plugins/foveated_vlm/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/compute/optim/finite.h"

namespace vergence::fvlm {

namespace {

void put(Stream& stream, const Tensor& scalar, double value)
{
    const auto single = static_cast<float>(value);
    const bool isDouble = scalar.dtype() == DType::F64;
    stream.copy(scalar.data(), isDouble ? static_cast<const void*>(&value) : &single,
                scalar.bytes());
}

double inverse(Index count)
{
    return count > 0 ? 1 / static_cast<double>(count) : 0;
}

Index mostPairs(const Trainer::Parts& parts, const TrainSettings& settings)
{
    const BatchSettings& batches = parts.batches.settings();
    return settings.objective == Objective::Preferences ? Index{batches.batch} * batches.gradAccum
                                                        : 0;
}

int longestClip(const Trainer::Parts& parts)
{
    if (!parts.model.settings().hasLatents())
        return 0;
    int longest = 0;
    for (const Index clip : parts.batches.members())
        longest = std::max(longest, parts.clips.info(clip).frames);
    return longest;
}

void expectsSettings(const Trainer::Parts& parts, const TrainSettings& settings)
{
    expects(settings.updates > 0 && settings.refinements > 0 && settings.skipLimit > 0 &&
                settings.live.logEvery > 0,
            "Trainer: updates, refinements, limits and intervals are at least 1");
    expects(settings.ema >= 0 && settings.ema < 1, "Trainer: a moving average decays by [0, 1)");
    expects(settings.objective == Objective::Losses || parts.text,
            "Trainer: preferences need a template");
    expects(!settings.trainsCoarseOnly || settings.objective == Objective::Losses,
            "Trainer: preferences are not trained with one look alone");
}

} // namespace

Trainer::Trainer(Stream& stream, const Parts& parts, const TrainSettings& settings)
    : m_parts(parts),
      m_settings(settings),
      m_loader(parts.model, parts.feed, settings.mostBuckets),
      m_ring(stream, parts.model.parameters(), longestClip(parts), mostPairs(parts, settings))
{
    expectsSettings(parts, settings);
    const ParameterSet& parameters = parts.model.parameters();
    const auto scalar = [&] {
        return Tensor::zeros(stream, parameters.device(), {1}, parameters.masterType());
    };
    m_inverseCounted = scalar();
    m_inverseSlots = scalar();
    m_inversePairs = scalar();
    m_ring.preferenceBeta = settings.preferenceBeta;
    if (settings.objective == Objective::Preferences) {
        m_reference = std::make_unique<PreferenceReference>(parts.clips.count());
        m_logs = Tensor::zeros(stream, parameters.device(), {parts.batches.settings().batch, 2},
                               parameters.masterType());
    }
    makeGraph(stream);
    makeAdam(stream);
    if (settings.ema > 0)
        m_average = std::make_unique<MovingAverage>(parameters, stream, settings.ema);
    m_updateStep = std::make_unique<StepGraph>([this](Stream& on) {
        m_ring.measure(on);
        m_adam->step(on);
        if (m_average)
            m_average->update(on);
    });
}

Trainer::~Trainer() = default;

void Trainer::makeGraph(Stream& stream)
{
    const ParameterSet& parameters = m_parts.model.parameters();
    m_graph = std::make_unique<Graph>(stream, parameters.device(),
                                      Graph::Options{true, parameters.computeType()});
    m_graph->stopWhen([this] { return m_isStopped && m_isStopped(); });
    m_allocations = m_graph->allocations();
}

void Trainer::makeAdam(Stream& stream)
{
    AdamOptions options;
    options.beta1 = m_settings.beta1;
    options.beta2 = m_settings.beta2;
    options.epsilon = m_settings.epsilon;
    options.clipNorm = m_settings.live.clipNorm;
    auto adam = std::make_unique<Adam>(m_parts.model.parameters(), stream, options);
    if (m_adam) {
        const auto from = m_adam->state(), to = adam->state();
        for (std::size_t i = 0; i < from.size(); ++i)
            stream.copy(to[i].second.data(), from[i].second.data(), from[i].second.bytes());
    }
    m_adam = std::move(adam);
}

double Trainer::epochs() const
{
    return m_parts.batches.epochs(m_counts.samples);
}

// Planning

std::vector<Index> Trainer::clipsOf(const MicroBatchPlan& plan) const
{
    std::vector<Index> clips;
    for (const PlannedSample& sample : plan.samples)
        clips.push_back(sample.clip);
    return clips;
}

std::vector<SampleTokens> Trainer::samplesOf(const MicroBatchPlan& plan) const
{
    std::vector<SampleTokens> samples;
    for (PlannedSample sample : plan.samples) {
        if (!m_reference) {
            samples.push_back(sampleTokens(sample));
            continue;
        }
        expects(sample.clip >= 0, "Trainer: preferences are about clips");
        const ClipText text = m_parts.clips.info(sample.clip).text;
        const TextTokens rejected = m_parts.text->sample(text, text.rejected);
        sample.tokens = m_parts.text->sample(text, text.chosen);
        samples.push_back(sampleTokens(sample, &rejected));
    }
    return samples;
}

Trainer::Update Trainer::planned()
{
    Update update;
    update.start = m_parts.batches.position();
    update.plan = m_parts.batches.next();
    for (const MicroBatchPlan& batch : update.plan.microBatches) {
        for (const SampleTokens& sample : samplesOf(batch)) {
            update.counted += countedTokens(sample, m_parts.model.settings());
            update.slots += sample.frames;
        }
    }
    announce(update);
    return update;
}

void Trainer::announce(const Update& update)
{
    for (std::size_t i = update.next; i < update.plan.microBatches.size(); ++i) {
        for (const MicroBatchPlan& piece : update.plan.microBatches[i].split(m_pieces))
            m_loader.ahead(piece);
    }
}

void Trainer::startUpdate(Stream& stream)
{
    m_update = m_following ? std::move(m_following) : std::make_unique<Update>(planned());
    m_following = std::make_unique<Update>(planned());
    put(stream, m_inverseCounted, inverse(m_update->counted));
    put(stream, m_inverseSlots, inverse(m_update->slots));
    put(stream, m_inversePairs, inverse(m_update->plan.samples()));
}

void Trainer::clearSums(Stream& stream)
{
    m_parts.model.parameters().zeroGradients(stream);
    m_ring.begin(stream);
}

// Micro-steps

MicroStepReport Trainer::microStep(Stream& stream, std::function<bool()> isStopped)
{
    expects(!isDone(), "Trainer: the run is over");
    expects(!needsReference(), "Trainer: preferences need their reference first");
    if (!m_update)
        startUpdate(stream);
    m_isStopped = std::move(isStopped);
    MicroStepReport report;
    try {
        while (!runToNext(stream))
            report.ranOutOfMemory = true;
    } catch (const GraphStopped&) {
        loseSums(stream);
        report.wasStopped = true;
        return report;
    }
    const MicroBatchPlan& done = m_update->plan.microBatches[m_update->next++];
    report.samples = static_cast<Index>(done.samples.size());
    report.pieces = m_pieces;
    report.microStep = ++m_counts.microSteps;
    m_counts.samples += report.samples;
    countWork(done);
    report.endsUpdate = m_update->next == m_update->plan.microBatches.size();
    if (report.endsUpdate)
        endUpdate(stream);
    report.updates = m_counts.updates;
    return report;
}

void Trainer::countWork(const MicroBatchPlan& done)
{
    ++m_work.microSteps;
    for (const SampleTokens& sample : samplesOf(done)) {
        const std::size_t endings = 1 + sample.others.size();
        std::size_t text = endings * sample.before.size() + sample.after.size();
        for (const Continuation& other : sample.others)
            text += other.tokens.size();
        m_work.frames += sample.frames;
        m_work.encoded += sample.encodedFrames();
        m_work.sequences += static_cast<double>(endings);
        m_work.visual += static_cast<double>(endings) * sample.frames;
        m_work.text += static_cast<double>(text);
        m_work.counted += static_cast<double>(countedTokens(sample, m_parts.model.settings()));
    }
}

/// Runs the next micro-batch, with those before it where their sums are lost. False where the
/// memory was not enough: all is to be run again, in more pieces.
bool Trainer::runToNext(Stream& stream)
{
    try {
        const std::size_t first = m_update->lostSums ? 0 : m_update->next;
        if (first == 0)
            clearSums(stream);
        for (std::size_t i = first; i <= m_update->next; ++i)
            runMicroBatch(stream, i);
        m_update->lostSums = false;
        return true;
    } catch (const DeviceError& error) {
        if (error.exitCode() != ExitCode::OutOfMemory || !splitFurther(stream))
            throw;
        return false;
    }
}

void Trainer::runMicroBatch(Stream& stream, std::size_t index)
{
    for (const MicroBatchPlan& piece : m_update->plan.microBatches[index].split(m_pieces))
        runPiece(stream, piece);
}

void Trainer::runPiece(Stream& stream, const MicroBatchPlan& piece)
{
    LoadedBatch& loaded = m_loader.load(stream, piece, samplesOf(piece));
    std::vector<std::array<double, 2>> reference;
    if (m_reference) {
        reference = m_reference->of(clipsOf(piece));
        uploadReference(stream, reference);
    }
    if (m_graph->allocations() != m_allocations) { // addresses have changed
        m_loader.forgetSteps();
        m_allocations = m_graph->allocations();
    }
    if (!loaded.step)
        loaded.step = std::make_unique<StepGraph>([this, &loaded](Stream&) { learn(loaded); });
    loaded.step->run(stream);
    m_ring.keep(stream, loaded.measured, *loaded.sequences);
    if (m_reference)
        m_ring.keep(stream, reference);
}

void Trainer::uploadReference(Stream& stream, std::span<const std::array<double, 2>> reference)
{
    const Tensor target = m_logs.narrow(0, 0, static_cast<Index>(reference.size()));
    const auto* numbers = reference.data()->data();
    const std::vector<float> singles(numbers, numbers + target.size());
    const bool isDouble = target.dtype() == DType::F64;
    stream.copy(target.data(), isDouble ? static_cast<const void*>(numbers) : singles.data(),
                target.bytes());
}

LossSettings Trainer::lossSettings() const
{
    LossSettings losses;
    losses.coarse = m_settings.live.coarse;
    losses.recon = m_settings.live.recon;
    losses.contrast = m_settings.live.contrast;
    losses.entropyMargin = m_settings.live.entropyMargin;
    losses.trainsCoarseOnly = m_settings.trainsCoarseOnly;
    losses.refinements = m_settings.refinements;
    losses.weightsRefinements = m_settings.weightsRefinements;
    losses.inverseCounted = m_inverseCounted;
    losses.inverseSlots = m_inverseSlots;
    return losses;
}

void Trainer::learn(LoadedBatch& loaded)
{
    m_graph->reset();
    const ForwardPass pass{*m_graph, m_parts.model.parameters(), nullptr, false, {}};
    if (m_reference) {
        learnPreferences(pass, loaded);
        return;
    }
    const StepValues values = trainingLoss(pass, m_parts.model, loaded.batch, lossSettings());
    if (m_graph->needsGradient(values.loss)) // a batch without anything to count has no gradient
        m_graph->backward(values.loss);
    loaded.measured = m_ring.note(*m_graph, values);
}

void Trainer::learnPreferences(const ForwardPass& pass, LoadedBatch& loaded)
{
    PreferenceSettings settings;
    settings.beta = m_settings.preferenceBeta;
    settings.refinements = m_settings.refinements;
    settings.inversePairs = m_inversePairs;
    settings.reference = m_logs.narrow(0, 0, loaded.tables->shape().clips);
    const PreferenceValues values = preferenceLoss(pass, m_parts.model, loaded.batch, settings);
    m_graph->backward(values.loss);
    loaded.measured = m_ring.note(*m_graph, values);
}

bool Trainer::splitFurther(Stream& stream)
{
    std::size_t most = 0;
    for (const MicroBatchPlan& batch : m_update->plan.microBatches)
        most = std::max(most, batch.samples.size());
    if (static_cast<std::size_t>(m_pieces) >= most)
        return false;
    m_pieces *= 2;
    ++m_counts.splits;
    loseSums(stream);
    log("foveated_vlm")
        .warn("The memory was not enough for a micro-batch: it is run in {} pieces from now on; "
              "updates stay the same.",
              m_pieces);
    return true;
}

/// After a micro-step that came to no end: what it took is given back.
void Trainer::loseSums(Stream& stream)
{
    stream.synchronize();
    m_loader.drop();
    m_graph.reset();
    makeGraph(stream);
    m_update->lostSums = true;
    announce(*m_update);
    announce(*m_following);
}

void Trainer::endUpdate(Stream& stream)
{
    m_counts.cutSamples += m_update->plan.cut();
    const bool isEmpty = m_update->counted == 0 && !m_parts.model.settings().hasLatents();
    if (isEmpty) {
        ++m_counts.emptyUpdates;
    } else {
        const auto rates = m_settings.ratesAt(m_counts.updates);
        m_adam->setRates(stream, {rates.begin(), rates.end()});
        m_updateStep->run(stream);
        m_ring.end(stream, m_counts.updates, m_counts.microSteps);
    }
    ++m_counts.updates;
    m_update.reset();
    if (m_ring.waiting() == LossRing::kRows)
        readRing(stream);
}

// Records

void Trainer::readRing(Stream& stream)
{
    m_lastReading = m_counts.microSteps;
    for (UpdateRecord& record : m_ring.take(stream)) {
        watch(record);
        m_records.push_back(std::move(record));
    }
}

void Trainer::watch(const UpdateRecord& record)
{
    m_skippedInRow = record.isSkipped ? m_skippedInRow + 1 : 0;
    m_counts.skipped += record.isSkipped ? 1 : 0;
    if (m_skippedInRow >= m_settings.skipLimit)
        throw NumericsError(fmt::format(
            "Update {}: the gradient norm was not finite {} times in a row. Lower the learning "
            "rates, or look at the data of these updates.",
            record.update, m_skippedInRow));
    if (record.isSkipped)
        return;
    expectFinite(record.loss, record.microStep, "loss");
}

std::vector<UpdateRecord> Trainer::takeRecords(Stream& stream, bool now)
{
    if (now || m_counts.microSteps - m_lastReading >= m_settings.live.logEvery)
        readRing(stream);
    return std::exchange(m_records, {});
}

void Trainer::change(Stream& stream, const LiveSettings& live)
{
    expects(live.logEvery > 0, "Trainer: intervals are at least 1");
    const LiveSettings before = std::exchange(m_settings.live, live);
    if (before.clipNorm != live.clipNorm) {
        makeAdam(stream);
        m_updateStep->invalidate();
    }
    if (before.coarse != live.coarse || before.recon != live.recon ||
        before.contrast != live.contrast || before.entropyMargin != live.entropyMargin)
        m_loader.forgetSteps();
}

Trainer::AverageScope::AverageScope(Trainer& trainer, Stream& stream)
    : m_trainer(trainer),
      m_stream(stream)
{
    if (!trainer.m_average)
        return;
    ParameterSet& parameters = trainer.m_parts.model.parameters();
    m_values = parameters.values().clone(stream);
    stream.copy(parameters.values().data(), trainer.m_average->values().data(), m_values.bytes());
    parameters.refreshShadows(stream);
}

Trainer::AverageScope::~AverageScope()
{
    if (m_values.isEmpty())
        return;
    ParameterSet& parameters = m_trainer.m_parts.model.parameters();
    m_stream.copy(parameters.values().data(), m_values.data(), m_values.bytes());
    parameters.refreshShadows(m_stream);
}

} // namespace vergence::fvlm
