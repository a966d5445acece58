#include "plugins/foveated_vlm/model/losses.h"

#include <fmt/format.h>

#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/foveated_vlm/model/token_likelihood.h"
#include "plugins/foveated_vlm/model/visual_norm.h"

namespace vergence::fvlm {

Value latentErrors(Graph& graph, Value prediction, Value target)
{
    const DType wide = graph.tensor(target).dtype();
    const Value difference = addScaled(graph, 1, cast(graph, prediction, wide), -1, target);
    const Index slots = graph.shape(target)[0], numbers = graph.tensor(target).size() / slots;
    const Value squares = reshape(graph, multiply(graph, difference, difference), {slots, numbers});
    const Tensor mean = graph.take({1, numbers}, wide);
    fill(graph.stream(), mean, 1 / static_cast<double>(numbers));
    return reshape(graph, linear(graph, squares, graph.constant(mean)), {slots});
}

namespace {
/// Losses of one pass over whole sequences; each a share of the update's mean.
struct PassLosses {
    Value text, latents, all;
    Value slotErrors; ///< [M], without tape
};

class StepLosses {
public:
    StepLosses(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
               const LossSettings& settings)
        : m_graph(pass.graph),
          m_settings(settings),
          m_model(model.settings()),
          m_forward(pass, model, batch, true, wantsEntropy() ? &m_coarseReadout : nullptr),
          m_tables(*batch.tables)
    {
    }

    StepValues run()
    {
        if (!m_forward.hasFrames())
            return withoutFrames();
        StepValues values;
        const Glance& coarse = m_forward.coarse();
        values.coarseTokens = coarse.tokens;
        LanguageStates states = coarseStates(coarse);
        if (states.isWhole)
            addCoarse(values, states);
        if (m_settings.trainsCoarseOnly) {
            values.loss = values.coarse;
            return values;
        }
        Glance fine;
        for (int k = 1; k <= m_settings.refinements; ++k) {
            const bool isWatched = wantsEntropy() && k == m_settings.refinements;
            fine =
                m_forward.look(m_forward.nextQueries(states), isWatched ? &m_fineReadout : nullptr);
            const bool isLast = k == m_settings.refinements;
            const bool counts = isLast || m_settings.weightsRefinements;
            states =
                counts ? m_forward.wholeStates(fine, false) : m_forward.shortStates(fine, false);
            if (counts)
                addFine(values, lossesOf(states), k, isLast);
        }
        values.fineTokens = fine.tokens;
        values.queries = fine.queries;
        addCoarseTerm(values);
        addContrast(values, fine, coarse);
        addEntropy(values, fine, coarse);
        return values;
    }

private:
    /// Where there is nothing to look at, one pass has the losses of all: so a text weighs the same
    /// here as beside clips.
    StepValues withoutFrames()
    {
        const PassLosses losses = lossesOf(m_forward.wholeStates({}, false));
        StepValues values;
        if (wantsCoarse()) {
            values.coarse = losses.all;
            values.coarseText = losses.text;
        }
        if (m_settings.trainsCoarseOnly) {
            values.loss = values.coarse;
            return values;
        }
        values.fine = losses.all;
        values.text = losses.text;
        values.loss = scale(m_graph, 1 + m_settings.coarse, losses.all);
        return values;
    }

    bool wantsCoarse() const
    {
        return m_settings.coarse > 0 || m_settings.chartsCoarse || m_settings.trainsCoarseOnly;
    }

    LanguageStates coarseStates(const Glance& coarse)
    {
        return wantsCoarse() ? m_forward.wholeStates(coarse, true)
                             : m_forward.shortStates(coarse, true);
    }

    /// [1] on the tape times [1] on the device.
    Value times(Value x, const Tensor& factor)
    {
        return multiply(m_graph, x, m_graph.constant(factor));
    }

    Value withoutTape(Value x) { return m_graph.constant(m_graph.tensor(x)); }

    PassLosses lossesOf(const LanguageStates& states)
    {
        PassLosses losses;
        if (m_model.hasText()) {
            const Value mean = m_forward.model().language().loss(
                m_forward.pass(), m_forward.predictingStates(states), m_tables.labels);
            losses.text = times(times(mean, m_tables.countedTokens), m_settings.inverseCounted);
            losses.all = losses.text;
        }
        if (m_model.hasLatents() && m_forward.hasFrames()) {
            const Value errors =
                latentErrors(m_graph, m_forward.predictLatents(m_forward.statesBefore(states)),
                             m_forward.latentTargets());
            losses.slotErrors = withoutTape(errors);
            losses.latents =
                times(weightedSum(m_graph, errors, m_tables.isReal), m_settings.inverseSlots);
            losses.all = losses.all
                             ? addScaled(m_graph, 1, losses.all, m_settings.recon, losses.latents)
                             : losses.latents;
        }
        return losses;
    }

    /// Mean squared errors by number of the frame; no shares and no tape.
    std::pair<Value, Value> laterAndByFrame(Value slotErrors)
    {
        if (!slotErrors)
            return {};
        const Index slots = m_graph.shape(slotErrors)[0];
        const Value byFrame = linear(m_graph, reshape(m_graph, slotErrors, {1, slots}),
                                     m_graph.constant(m_tables.frameShare));
        return {weightedSum(m_graph, slotErrors, m_tables.laterShare),
                reshape(m_graph, byFrame, {m_graph.tensor(byFrame).size()})};
    }

    void addCoarse(StepValues& values, LanguageStates states)
    {
        const bool trains = m_settings.coarse > 0 || m_settings.trainsCoarseOnly;
        if (!trains)
            states.states = withoutTape(states.states);
        const PassLosses losses = lossesOf(states);
        values.coarse = trains ? losses.all : withoutTape(losses.all);
        values.coarseText = losses.text;
        values.coarseLatents = losses.latents;
        std::tie(values.laterCoarseLatents, values.coarseLatentsByFrame) =
            laterAndByFrame(losses.slotErrors);
    }

    void addFine(StepValues& values, const PassLosses& losses, int k, bool isLast)
    {
        const int last = m_settings.refinements;
        const double share = m_settings.weightsRefinements ? 2.0 * k / (last * (last + 1.0)) : 1;
        values.loss = values.loss ? addScaled(m_graph, 1, values.loss, share, losses.all)
                                  : scale(m_graph, share, losses.all);
        if (!isLast)
            return;
        values.fine = losses.all;
        values.text = losses.text;
        values.latents = losses.latents;
        std::tie(values.laterLatents, values.latentsByFrame) = laterAndByFrame(losses.slotErrors);
    }

    void addCoarseTerm(StepValues& values)
    {
        if (m_settings.coarse > 0)
            values.loss = addScaled(m_graph, 1, values.loss, m_settings.coarse, values.coarse);
    }

    void addContrast(StepValues& values, const Glance& fine, const Glance& coarse)
    {
        if (m_settings.contrast == 0 && !m_settings.measuresContrast)
            return;
        const bool trains = m_settings.contrast != 0;
        const auto kept = [&](Value x) { return trains ? x : withoutTape(x); };
        const Value cosines = rowCosines(m_graph, kept(fine.tokens), kept(coarse.tokens));
        values.contrast = weightedSum(m_graph, withoutTape(cosines), m_tables.realShare);
        if (trains)
            values.loss = addScaled(
                m_graph, 1, values.loss, m_settings.contrast,
                times(weightedSum(m_graph, cosines, m_tables.isReal), m_settings.inverseSlots));
    }

    bool wantsEntropy() const { return m_settings.entropyMargin > 0; }

    void addEntropy(StepValues& values, const Glance& fine, const Glance& coarse)
    {
        if (!wantsEntropy())
            return;
        const Value difference = addScaled(m_graph, 1, fine.entropy, -1, coarse.entropy);
        const Tensor margin =
            m_graph.take(m_graph.shape(difference), m_graph.tensor(difference).dtype());
        fill(m_graph.stream(), margin, m_settings.entropyMargin);
        const Value hinge =
            activate(m_graph, Activation::Relu, add(m_graph, difference, m_graph.constant(margin)));
        const Value share =
            times(weightedSum(m_graph, hinge, m_tables.isReal), m_settings.inverseSlots);
        values.loss = addScaled(m_graph, 1, values.loss, m_settings.entropyWeight, share);
    }

    Graph& m_graph;
    const LossSettings& m_settings;
    const ModelSettings& m_model;
    AttentionReadout m_coarseReadout{{}, false, true, {}}, m_fineReadout{{}, false, true, {}};
    GazeForward m_forward;
    const SequenceTables& m_tables;
};
} // namespace

StepValues trainingLoss(const ForwardPass& pass, const FoveatedModel& model,
                        const MicroBatch& batch, const LossSettings& settings)
{
    expects(settings.refinements >= 1, "trainingLoss: at least one look follows the coarse one");
    expects(!model.settings().hasText() || settings.inverseCounted.size() == 1,
            "trainingLoss: the number of counted tokens is missing");
    expects(
        (!model.settings().hasLatents() && settings.contrast == 0 && settings.entropyMargin <= 0) ||
            settings.inverseSlots.size() == 1,
        "trainingLoss: the number of frames is missing");
    return StepLosses(pass, model, batch, settings).run();
}

} // namespace vergence::fvlm
