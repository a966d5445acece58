#include "plugins/foveated_vlm/model/evaluation.h"

#include "core/compute/ops/host_numbers.h"
#include "plugins/foveated_vlm/model/losses.h"
#include "plugins/foveated_vlm/model/sequential.h"
#include "plugins/foveated_vlm/model/token_likelihood.h"

namespace vergence::fvlm {

namespace {
class Evaluator {
public:
    Evaluator(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
              const EvaluationWish& wish, bool looksCoarsely)
        : m_graph(pass.graph),
          m_batch(batch),
          m_host(*batch.sequences),
          m_model(model),
          m_wish(wish),
          m_forward(pass, model, batch, looksCoarsely,
                    wish.readsAttention ? &m_coarseReadout : nullptr)
    {
    }

    Evaluation run(Mode mode)
    {
        countTokens();
        if (!m_forward.hasFrames())
            judge(m_forward.wholeStates({}, false), m_result.nll, m_result.latentErrors);
        else if (mode == Mode::Sequential)
            runSequential();
        else
            runParallel(mode);
        return std::move(m_result);
    }

private:
    std::size_t sequences() const { return static_cast<std::size_t>(m_host.real().sequences); }

    void countTokens()
    {
        m_result.counted.assign(sequences(), 0);
        for (const std::int32_t sequence : m_host.sequenceOf) {
            if (sequence >= 0)
                ++m_result.counted[static_cast<std::size_t>(sequence)];
        }
    }

    /// Rows of real slots, in memory of their own.
    Tensor kept(const Tensor& bySlot) const
    {
        return bySlot.narrow(0, 0, m_host.real().slots).clone(m_graph.stream());
    }

    void judgeText(Value hidden, std::vector<double>& nll)
    {
        if (!m_model.settings().hasText())
            return;
        const Value each =
            tokenLikelihood(m_graph, hidden, m_forward.pass()[m_model.language().head()],
                            m_forward.tables().labels);
        const auto values = toDoubles(m_graph.stream(), m_graph.tensor(each));
        nll.assign(sequences(), 0);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (m_host.sequenceOf[i] >= 0)
                nll[static_cast<std::size_t>(m_host.sequenceOf[i])] += values[i];
        }
    }

    void judgeLatents(Value statesBefore, std::vector<double>& errors)
    {
        if (!m_model.settings().hasLatents())
            return;
        const Value prediction = m_forward.predictLatents(statesBefore);
        const Value each = latentErrors(m_graph, prediction, m_forward.latentTargets());
        errors = toDoubles(m_graph.stream(), m_graph.tensor(each));
        errors.resize(static_cast<std::size_t>(m_host.real().slots));
        m_result.predictions = kept(m_graph.dense(prediction));
    }

    void judge(const LanguageStates& states, std::vector<double>& nll, std::vector<double>& errors)
    {
        if (m_model.settings().hasText())
            judgeText(m_forward.predictingStates(states), nll);
        if (m_forward.hasFrames() && m_model.settings().hasLatents())
            judgeLatents(m_forward.statesBefore(states), errors);
    }

    void runParallel(Mode mode)
    {
        const Glance& coarse = m_forward.coarse();
        m_result.coarseTokens = kept(m_graph.tensor(coarse.tokens));
        keepCoarseAttention();
        if (mode == Mode::CoarseOnly) {
            judge(m_forward.wholeStates(coarse, true), m_result.nll, m_result.latentErrors);
            return;
        }
        LanguageStates states;
        if (m_wish.comparesCoarse) {
            states = m_forward.wholeStates(coarse, true);
            judge(states, m_result.coarseNll, m_result.coarseLatents);
        } else {
            states = m_forward.shortStates(coarse, true);
        }
        Glance fine;
        AttentionReadout readout;
        for (int k = 1; k <= m_wish.refinements; ++k) {
            const bool isLast = k == m_wish.refinements;
            const bool isGiven = isLast && !m_wish.queries.isEmpty();
            const Value queries =
                isGiven ? m_graph.constant(m_wish.queries) : m_forward.nextQueries(states);
            fine = m_forward.look(queries, isLast && m_wish.readsAttention ? &readout : nullptr);
            states =
                isLast ? m_forward.wholeStates(fine, false) : m_forward.shortStates(fine, false);
        }
        judge(states, m_result.nll, m_result.latentErrors);
        m_result.fineTokens = kept(m_graph.tensor(fine.tokens));
        m_result.queries = kept(m_graph.tensor(fine.queries));
        if (m_wish.readsAttention)
            m_result.fineAttention.weights = kept(readout.weights);
    }

    void keepCoarseAttention()
    {
        if (!m_wish.readsAttention)
            return;
        Value weights = m_graph.constant(m_coarseReadout.weights);
        const bool isByFrame = m_model.settings().staticQueries == 1;
        if (isByFrame && !m_forward.tables().slotsAreFrames())
            weights = gatherRows(m_graph, weights, m_forward.tables().frameOf);
        m_result.coarseAttention.weights = kept(m_graph.tensor(weights));
    }

    void runSequential()
    {
        const SequentialReading reading(m_forward, m_batch, 0, m_wish.readsAttention);
        if (m_model.settings().hasText())
            judgeText(reading.statesAt(m_host.predicting), m_result.nll);
        if (m_model.settings().hasLatents())
            judgeLatents(reading.statesAt(m_host.before), m_result.latentErrors);
        m_result.fineTokens = kept(m_graph.tensor(reading.tokens()));
        m_result.queries = kept(m_graph.tensor(reading.queries()));
        if (m_wish.readsAttention)
            m_result.fineAttention.weights = kept(reading.attention().weights);
    }

    Graph& m_graph;
    const MicroBatch& m_batch;
    const Sequences& m_host;
    const FoveatedModel& m_model;
    const EvaluationWish& m_wish;
    AttentionReadout m_coarseReadout;
    GazeForward m_forward;
    Evaluation m_result;
};
} // namespace

Evaluation evaluate(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
                    Mode mode, const EvaluationWish& wish)
{
    expects(!pass.graph.options().recordsGradients, "evaluate: the tape must record no gradients");
    expects(batch.sequences != nullptr, "evaluate: the sequences are needed in host memory");
    expects(wish.refinements >= 1, "evaluate: at least one look follows the coarse one");
    return Evaluator(pass, model, batch, wish, mode != Mode::Sequential).run(mode);
}

} // namespace vergence::fvlm
