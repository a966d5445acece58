#include "plugins/foveated_vlm/session/clip_look.h"

#include <algorithm>

#include "core/compute/ops/host_numbers.h"
#include "plugins/foveated_vlm/model/evaluation.h"
#include "plugins/foveated_vlm/model/generation.h"

namespace vergence::fvlm {

namespace {

constexpr int kShapes = 4;

GazeWeights weightsOf(Stream& stream, const AttentionReadout& readout)
{
    GazeWeights weights;
    if (readout.weights.isEmpty())
        return weights;
    weights.frames = readout.weights.extent(0);
    weights.blocks = readout.weights.extent(1);
    weights.heads = readout.weights.extent(2);
    weights.tokens = readout.weights.extent(3);
    weights.values = toFloats(stream, readout.weights);
    return weights;
}

/// [T, h, w, C] → [T, C, h, w]
std::vector<float> planesOf(const std::vector<float>& pixels, Index channels, Index area)
{
    std::vector<float> planes(pixels.size());
    const Index frames = static_cast<Index>(pixels.size()) / (channels * area);
    for (Index t = 0; t < frames; ++t) {
        for (Index c = 0; c < channels; ++c) {
            for (Index i = 0; i < area; ++i)
                planes[static_cast<std::size_t>((t * channels + c) * area + i)] =
                    pixels[static_cast<std::size_t>((t * area + i) * channels + c)];
        }
    }
    return planes;
}

double sumOf(const std::vector<double>& values)
{
    return values.empty() ? 0 : values.front();
}

} // namespace

ClipLooker::ClipLooker(Session& session)
    : m_session(session),
      m_loader(session.model(), &session.heldOutFeed(), kShapes),
      m_graph(session.stream(), session.model().parameters().device(),
              {false, session.model().parameters().computeType()})
{
}

ClipLooker::~ClipLooker() = default;

LoadedBatch& ClipLooker::load(Stream& stream, const ClipLook& look, bool isQuestion)
{
    const ClipInfo& info = look.info;
    PlannedSample sample;
    sample.clip = look.clip;
    sample.frames = info.frames;
    sample.isImage = info.isImage;
    if (m_session.text() != nullptr)
        sample.tokens = isQuestion ? m_session.text()->question(info.text)
                                   : m_session.text()->sample(info.text, answerOf(info.text));
    const MicroBatchPlan plan{{sample}};
    const SampleTokens tokens = sampleTokens(sample);
    return m_loader.load(stream, plan, std::span(&tokens, 1));
}

WrittenAnswer ClipLooker::write(Stream& stream, const ClipLook& look, Mode mode, int refinements,
                                const std::function<bool()>& isStopped)
{
    GenerationSettings settings;
    settings.mode = mode;
    settings.refinements = refinements;
    settings.newTokens = m_session.config().captionTokens;
    settings.stopToken = m_session.text()->endOfTurn();
    const LoadedBatch& loaded = load(stream, look, true);
    m_graph.reset();
    const ForwardPass pass{m_graph, m_session.model().parameters(), nullptr, false, {}};
    const auto written = generate(pass, m_session.model(), loaded.batch, settings, isStopped);
    WrittenAnswer answer;
    if (!written.empty())
        answer.text = m_session.tokenizer()->decode(written.front());
    return answer;
}

/// Σ negative log-likelihood of the true answer.
double ClipLooker::cost(Stream& stream, const ClipLook& look, Mode mode)
{
    const LoadedBatch& loaded = load(stream, look, false);
    m_graph.reset();
    const ForwardPass pass{m_graph, m_session.model().parameters(), nullptr, false, {}};
    return sumOf(evaluate(pass, m_session.model(), loaded.batch, mode).nll);
}

void ClipLooker::see(Stream& stream, const Wish& wish, ClipLook& look)
{
    const bool isControl = m_session.config().control == "coarse_only";
    const LoadedBatch& loaded = load(stream, look, false);
    m_graph.reset();
    const FoveatedModel& model = m_session.model();
    const ForwardPass pass{m_graph, model.parameters(), nullptr, false, {}};
    EvaluationWish asked;
    asked.refinements = wish.refinements;
    asked.readsAttention = true;
    const Evaluation seen =
        evaluate(pass, model, loaded.batch, isControl ? Mode::CoarseOnly : Mode::CoarseFine, asked);
    look.coarse = weightsOf(stream, seen.coarseAttention);
    look.fine = weightsOf(stream, seen.fineAttention);
    look.queries = toFloats(stream, seen.queries);
    if (!isControl)
        look.fineAnswer.nats = sumOf(seen.nll);
    if (model.settings().hasLatents()) {
        const HeadSettings& head = model.settings().head;
        look.predicted = planesOf(toFloats(stream, seen.predictions), head.widths.front(),
                                  head.height * head.width);
        const LatentSource& source = *m_session.sets().heldOutLatents();
        const auto [channels, height, width] = source.shape();
        look.latents.resize(static_cast<std::size_t>(look.info.frames * channels * height * width));
        source.read(look.clip, look.latents);
        look.firstLatent = toFloats(stream, model.parameters()[model.firstLatent()].value);
    }
}

void ClipLooker::readQueries(Stream& stream, ClipLook& look) const
{
    const FoveatedModel& model = m_session.model();
    look.staticQuery =
        toFloats(stream, model.parameters()[model.staticQuery()].value.narrow(0, 0, 1));
    look.firstQuery = toFloats(stream, model.parameters()[model.firstQuery()].value);
}

ClipLook ClipLooker::look(Stream& stream, Index heldOutClip, const Wish& wish,
                          const std::function<bool()>& isStopped)
{
    ClipLook look;
    look.clip = heldOutClip;
    const ClipSource& clips = m_session.sets().heldOut();
    look.info = clips.info(heldOutClip);
    if (wish.asked)
        look.info.text = *wish.asked;
    look.frames = framesOf(clips, heldOutClip);
    see(stream, wish, look);
    readQueries(stream, look);
    if (!wish.writes || m_session.text() == nullptr)
        return look;
    const auto hasTime = [&] { return !isStopped || !isStopped(); };
    const auto answer = [&](WrittenAnswer& to, Mode mode, int refinements) {
        if (hasTime())
            to.text = write(stream, look, mode, refinements, isStopped).text;
    };
    const bool isControl = m_session.config().control == "coarse_only";
    answer(look.coarseAnswer, Mode::CoarseOnly, 1);
    if (hasTime())
        look.coarseAnswer.nats = cost(stream, look, Mode::CoarseOnly);
    if (isControl)
        return look;
    answer(look.fineAnswer, Mode::CoarseFine, wish.refinements);
    answer(look.sequentialAnswer, Mode::Sequential, 1);
    if (hasTime())
        look.sequentialAnswer.nats = cost(stream, look, Mode::Sequential);
    return look;
}

} // namespace vergence::fvlm
