#include "plugins/foveated_vlm/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/base/log.h"
#include "core/compute/ops/host_numbers.h"
#include "plugins/foveated_vlm/train/query_controls.h"

namespace vergence::fvlm {

namespace {

/// Not a number where nothing was counted.
double ratioOf(double sum, Index count)
{
    return count > 0 ? sum / static_cast<double>(count) : std::nan("");
}

} // namespace

/// One way of looking, summed up over batches.
struct Evaluator::WaySums {
    double nll = 0, errors = 0, later = 0;
    Index counted = 0, frames = 0, laterFrames = 0, answers = 0;
    Index exact = 0, generated = 0;
    std::vector<double> clipLosses, byFrame;
    std::vector<Index> framesByNumber;

    void addText(std::span<const double> nlls, std::span<const int> counts);
    void addLatents(const Sequences& sequences, std::span<const double> slotErrors, bool isLoss);
    WayResult result(bool hasText) const;
};

void Evaluator::WaySums::addText(std::span<const double> nlls, std::span<const int> counts)
{
    for (std::size_t i = 0; i < nlls.size(); ++i) {
        nll += nlls[i];
        counted += counts[i];
        clipLosses.push_back(nlls[i]);
        answers += counts[i] > 0 ? 1 : 0;
    }
}

void Evaluator::WaySums::addLatents(const Sequences& sequences, std::span<const double> slotErrors,
                                    bool isLoss)
{
    for (const Sequences::Clip& clip : sequences.clips()) {
        const auto own = slotErrors.subspan(static_cast<std::size_t>(clip.firstSlot),
                                            static_cast<std::size_t>(clip.frames));
        const double sum = std::accumulate(own.begin(), own.end(), 0.0);
        if (isLoss)
            clipLosses.push_back(clip.frames > 0 ? sum / clip.frames : 0);
        errors += sum;
        frames += clip.frames;
        if (clip.frames > 0) {
            later += sum - own.front();
            laterFrames += clip.frames - 1;
        }
        byFrame.resize(std::max(byFrame.size(), own.size()));
        framesByNumber.resize(byFrame.size());
        for (std::size_t t = 0; t < own.size(); ++t) {
            byFrame[t] += own[t];
            ++framesByNumber[t];
        }
    }
}

WayResult Evaluator::WaySums::result(bool hasText) const
{
    WayResult way;
    way.latents = ratioOf(errors, frames);
    way.later = ratioOf(later, laterFrames);
    way.loss = hasText ? ratioOf(nll, counted) : way.latents;
    way.answerNats = ratioOf(nll, answers);
    way.exactMatch = ratioOf(static_cast<double>(exact), generated);
    way.exact = exact;
    way.generated = generated;
    way.clipLosses = clipLosses;
    for (std::size_t t = 0; t < byFrame.size(); ++t)
        way.byFrame.push_back(ratioOf(byFrame[t], framesByNumber[t]));
    return way;
}

/// What a run of the evaluator has seen so far.
struct Evaluator::Sums {
    WaySums coarse, fine, sequential;
    double random = 0, shuffled = 0; ///< losses of controls, summed over what counts
    Index controlled = 0;
    AttentionMeter coarseAttention, fineAttention;
    LikenessMeter likeness;
    Index clips = 0;
};

double EvaluationReport::natsBelowBlind(const std::optional<WayResult>& way) const
{
    return way && blindNats > 0 ? blindNats - way->answerNats : 0;
}

double EvaluationReport::judged() const
{
    for (const auto* way : {&fine, &coarse, &sequential}) {
        if (way->has_value())
            return (*way)->loss;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

Evaluator::Evaluator(const Parts& parts, std::vector<Index> members, EvaluationSettings settings)
    : m_parts(parts),
      m_members(std::move(members)),
      m_settings(settings),
      m_loader(parts.model, parts.feed, 4)
{
    expects(settings.batch > 0 && settings.refinements > 0 && settings.attentionClips >= 0,
            "Evaluator: settings out of range");
    expects(settings.coarse || settings.fine || settings.sequential,
            "Evaluator: at least one way of looking");
}

Evaluator::~Evaluator() = default;

MicroBatchPlan Evaluator::planOf(std::span<const Index> clips) const
{
    MicroBatchPlan plan;
    for (const Index clip : clips) {
        const ClipInfo info = m_parts.clips.info(clip);
        PlannedSample sample{clip, -1, info.frames, info.isImage, {}};
        if (m_parts.text)
            sample.tokens = m_parts.text->sample(info.text, answerOf(info.text));
        plan.samples.push_back(std::move(sample));
    }
    return plan;
}

EvaluationReport Evaluator::run(Stream& stream, std::function<bool()> isStopped,
                                const std::function<void(Index done)>& tell)
{
    m_isStopped = std::move(isStopped);
    m_loader.drop();
    Sums sums;
    EvaluationReport report;
    auto batch = static_cast<std::size_t>(m_settings.batch);
    for (std::size_t first = 0; first < m_members.size();) {
        if (tell)
            tell(static_cast<Index>(first));
        const auto clips =
            std::span(m_members).subspan(first, std::min(batch, m_members.size() - first));
        Sums before = sums;
        try {
            if (this->isStopped() || !runBatch(stream, clips, sums)) {
                sums = std::move(before);
                report.wasStopped = true;
                break;
            }
            first += clips.size();
        } catch (const DeviceError& error) {
            if (error.exitCode() != ExitCode::OutOfMemory || batch == 1)
                throw;
            sums = std::move(before);
            stream.synchronize();
            m_loader.drop();
            m_graph.reset();
            batch = (batch + 1) / 2;
            log("foveated_vlm")
                .warn("Evaluation goes on with {} clips at a time: the memory was "
                      "not enough for more.",
                      batch);
        }
    }
    m_graph.reset();
    m_loader.drop();
    finish(sums, report);
    report.wasStopped |= this->isStopped(); // on the way through what is copied
    m_isStopped = nullptr;
    return report;
}

void Evaluator::finish(const Sums& sums, EvaluationReport& report)
{
    const bool hasText = m_parts.model.settings().hasText();
    report.clips = sums.clips;
    report.blindNats = hasText ? m_settings.blindNats : 0;
    if (sums.clips == 0)
        return;
    if (m_settings.coarse)
        report.coarse = sums.coarse.result(hasText);
    if (m_settings.fine)
        report.fine = sums.fine.result(hasText);
    if (m_settings.sequential)
        report.sequential = sums.sequential.result(hasText);
    if (report.coarse && report.fine)
        report.ratio =
            bootstrapRatio(report.coarse->clipLosses, report.fine->clipLosses, m_settings.seed);
    if (sums.controlled > 0) {
        report.randomQueries = ratioOf(sums.random, sums.controlled);
        report.shuffledQueries = ratioOf(sums.shuffled, sums.controlled);
    }
    report.coarseAttention = sums.coarseAttention.measures();
    report.fineAttention = sums.fineAttention.measures();
    report.likeness = sums.likeness.measures();
    if (m_parts.latents && !m_copyError && !isStopped())
        m_copyError = copyError();
    report.copyError = m_copyError;
}

/// Mean squared error of taking the latent of the frame before, over frames 2, 3, …; nothing where
/// it was stopped.
std::optional<double> Evaluator::copyError() const
{
    const auto [channels, height, width] = m_parts.latents->shape();
    const auto size = static_cast<std::size_t>(channels * height * width);
    double sum = 0;
    Index count = 0;
    for (const Index clip : m_members) {
        if (isStopped())
            return std::nullopt;
        const ClipInfo info = m_parts.clips.info(clip);
        std::vector<float> latents(static_cast<std::size_t>(info.frames) * size);
        m_parts.latents->read(clip, latents);
        for (std::size_t i = size; i < latents.size(); ++i) {
            const double difference =
                static_cast<double>(latents[i]) - static_cast<double>(latents[i - size]);
            sum += difference * difference;
        }
        count += static_cast<Index>(latents.size() - std::min(latents.size(), size));
    }
    if (count == 0)
        return std::nullopt;
    return sum / static_cast<double>(count);
}

Evaluation Evaluator::look(Stream& stream, const LoadedBatch& loaded, Mode mode,
                           const EvaluationWish& wish)
{
    const ForwardPass pass = newPass(stream);
    return evaluate(pass, m_parts.model, loaded.batch, mode, wish);
}

ForwardPass Evaluator::newPass(Stream& stream)
{
    const ParameterSet& parameters = m_parts.model.parameters();
    if (!m_graph)
        m_graph = std::make_unique<Graph>(stream, parameters.device(),
                                          Graph::Options{false, parameters.computeType()});
    m_graph->reset();
    return {*m_graph, parameters, nullptr, false, {}};
}

bool Evaluator::runBatch(Stream& stream, std::span<const Index> clips, Sums& sums)
{
    const MicroBatchPlan plan = planOf(clips);
    std::vector<SampleTokens> samples;
    for (const PlannedSample& sample : plan.samples)
        samples.push_back(sampleTokens(sample));
    const LoadedBatch& loaded = m_loader.load(stream, plan, samples);
    if (!runLooks(stream, loaded, sums))
        return false;
    if (m_settings.sequential) {
        const Evaluation seen = look(stream, loaded, Mode::Sequential, {});
        add(sums.sequential, loaded, seen.nll, seen.counted, seen.latentErrors);
    }
    if (sums.clips < m_settings.exactClips && m_parts.model.settings().hasText() &&
        !answerQuestions(stream, plan, sums))
        return false;
    sums.clips += static_cast<Index>(clips.size());
    return true;
}

bool Evaluator::runLooks(Stream& stream, const LoadedBatch& loaded, Sums& sums)
{
    EvaluationWish wish;
    wish.refinements = m_settings.refinements;
    wish.readsAttention = sums.clips < m_settings.attentionClips;
    wish.comparesCoarse = m_settings.coarse;
    if (m_settings.fine) {
        const Evaluation seen = look(stream, loaded, Mode::CoarseFine, wish);
        add(sums.fine, loaded, seen.nll, seen.counted, seen.latentErrors);
        if (m_settings.coarse)
            add(sums.coarse, loaded, seen.coarseNll, seen.counted, seen.coarseLatents);
        measure(stream, *loaded.sequences, seen, sums);
        if (isStopped())
            return false;
        if (m_settings.controls)
            runControls(stream, loaded, seen.queries, sums);
    } else if (m_settings.coarse) {
        wish.comparesCoarse = false;
        const Evaluation seen = look(stream, loaded, Mode::CoarseOnly, wish);
        add(sums.coarse, loaded, seen.nll, seen.counted, seen.latentErrors);
        measure(stream, *loaded.sequences, seen, sums);
    }
    return !isStopped();
}

void Evaluator::add(WaySums& way, const LoadedBatch& loaded, std::span<const double> nlls,
                    std::span<const int> counts, std::span<const double> latents) const
{
    const bool hasText = m_parts.model.settings().hasText();
    if (hasText)
        way.addText(nlls, counts);
    if (!latents.empty())
        way.addLatents(*loaded.sequences, latents, !hasText);
}

/// Greedy answers against the ones that are right. False where it was stopped.
bool Evaluator::answerQuestions(Stream& stream, const MicroBatchPlan& plan, Sums& sums)
{
    std::vector<SampleTokens> questions;
    std::vector<std::vector<int>> answers;
    GenerationSettings settings;
    settings.refinements = m_settings.refinements;
    settings.stopToken = m_parts.text->endOfTurn();
    settings.newTokens = 0;
    for (const PlannedSample& sample : plan.samples) {
        PlannedSample question = sample;
        question.tokens.after.clear();
        question.tokens.afterMask.clear();
        questions.push_back(sampleTokens(question));
        const auto end =
            std::find(sample.tokens.after.begin(), sample.tokens.after.end(), settings.stopToken);
        answers.emplace_back(sample.tokens.after.begin(), end);
        const int length = static_cast<int>(answers.back().size()) + 1;
        settings.newTokens = std::max(settings.newTokens, length);
    }
    const LoadedBatch& loaded = m_loader.load(stream, plan, questions);
    const auto count = [&](bool isWanted, Mode mode, WaySums& way) {
        if (!isWanted || isStopped())
            return;
        settings.mode = mode;
        const auto said =
            generate(newPass(stream), m_parts.model, loaded.batch, settings, m_isStopped);
        for (std::size_t i = 0; i < said.size(); ++i)
            way.exact += said[i] == answers[i] ? 1 : 0;
        way.generated += static_cast<Index>(said.size());
    };
    count(m_settings.coarse, Mode::CoarseOnly, sums.coarse);
    count(m_settings.fine, Mode::CoarseFine, sums.fine);
    count(m_settings.sequential, Mode::Sequential, sums.sequential);
    return !isStopped();
}

void Evaluator::measure(Stream& stream, const Sequences& sequences, const Evaluation& seen,
                        Sums& sums) const
{
    const bool hasClassToken = !m_parts.model.settings().query.dropsClassToken;
    const auto addAttention = [&](AttentionMeter& meter, const AttentionReadout& readout) {
        if (readout.weights.isEmpty())
            return;
        const std::vector<double> weights = toDoubles(stream, readout.weights);
        meter.add(weights, readout.weights.shape().back(), hasClassToken);
    };
    addAttention(sums.coarseAttention, seen.coarseAttention);
    addAttention(sums.fineAttention, seen.fineAttention);
    if (seen.queries.isEmpty())
        return;
    const Index width = seen.fineTokens.extent(1), queryWidth = seen.queries.extent(1);
    const std::vector<double> coarse = toDoubles(stream, seen.coarseTokens);
    const std::vector<double> fine = toDoubles(stream, seen.fineTokens);
    const std::vector<double> queries = toDoubles(stream, seen.queries);
    for (const Sequences::Clip& clip : sequences.clips()) {
        const auto part = [&](const std::vector<double>& rows, Index columns) {
            if (rows.empty())
                return std::span<const double>();
            return std::span(rows).subspan(static_cast<std::size_t>(clip.firstSlot * columns),
                                           static_cast<std::size_t>(clip.frames * columns));
        };
        sums.likeness.add(part(coarse, width), part(fine, width), width, part(queries, queryWidth),
                          queryWidth);
    }
}

void Evaluator::runControls(Stream& stream, const LoadedBatch& loaded, const Tensor& queries,
                            Sums& sums)
{
    if (queries.isEmpty())
        return;
    const Index rows = loaded.tables->shape().slots;
    const auto batch = static_cast<std::uint64_t>(sums.clips);
    const auto lossWith = [&](const Tensor& asked) {
        EvaluationWish wish;
        wish.queries = asked;
        const Evaluation seen = look(stream, loaded, Mode::CoarseFine, wish);
        const auto& losses = m_parts.model.settings().hasText() ? seen.nll : seen.latentErrors;
        return std::accumulate(losses.begin(), losses.end(), 0.0);
    };
    sums.random += lossWith(randomQueries(stream, queries, rows, m_settings.seed, batch));
    sums.shuffled += lossWith(shuffledQueries(stream, queries, rows, m_settings.seed, batch));
    const SequenceShape& real = loaded.sequences->real();
    sums.controlled += m_parts.model.settings().hasText() ? real.counted : real.slots;
}

} // namespace vergence::fvlm
