#include "plugins/foveated_vlm/model/generation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/compute/rng.h"
#include "plugins/foveated_vlm/model/sequential.h"

namespace vergence::fvlm {

int drawNucleus(const std::vector<float>& logits, double temperature, double nucleus,
                double uniform)
{
    expects(!logits.empty() && temperature > 0 && nucleus > 0,
            "drawNucleus: needs logits, a temperature and a nucleus above 0");
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    const auto logit = [&](int id) { return logits[static_cast<std::size_t>(id)]; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logit(a) > logit(b); });
    std::vector<double> weights;
    double total = 0;
    for (const int id : order) {
        weights.push_back(std::exp((logit(id) - logit(order.front())) / temperature));
        total += weights.back();
    }
    std::size_t count = 0;
    double inside = 0;
    while (count < weights.size() && inside < nucleus * total)
        inside += weights[count++];
    double left = uniform * inside;
    for (std::size_t i = 0; i + 1 < count; ++i) {
        left -= weights[i];
        if (left < 0)
            return order[i];
    }
    return order[count - 1];
}

namespace {
class Writer {
public:
    Writer(const ForwardPass& pass, const FoveatedModel& model, const MicroBatch& batch,
           const GenerationSettings& settings)
        : m_pass(pass),
          m_model(model),
          m_batch(batch),
          m_host(*batch.sequences),
          m_settings(settings),
          m_texts(static_cast<std::size_t>(m_host.real().sequences))
    {
    }

    std::vector<std::vector<int>> run(const std::function<bool()>& isStopped)
    {
        Value last = prefill();
        std::vector<Index> open(m_texts.size(), 1);
        for (int place = 0; place < m_settings.newTokens; ++place) {
            const std::vector<std::int32_t> next = choose(last, open, place);
            const bool isDone =
                std::none_of(open.begin(), open.end(), [](Index one) { return one != 0; });
            if (isDone || place + 1 == m_settings.newTokens || (isStopped && isStopped()))
                break;
            m_pass.graph.reset();
            last = extend(next, open);
        }
        return std::move(m_texts);
    }

private:
    Index count() const { return static_cast<Index>(m_texts.size()); }

    /// All that is there is read; the last states [sequences, H].
    Value prefill()
    {
        GazeForward forward(m_pass, m_model, m_batch, m_settings.mode != Mode::Sequential);
        if (m_settings.mode == Mode::Sequential || !forward.hasFrames()) {
            SequentialReading reading(forward, m_batch, m_settings.newTokens);
            const Value last = reading.lastStates();
            m_language.emplace(std::move(reading.language()));
            return last;
        }
        Glance glance = forward.coarse();
        if (m_settings.mode == Mode::CoarseFine) {
            for (int k = 1; k <= m_settings.refinements; ++k)
                glance = forward.look(forward.nextQueries(forward.shortStates(glance, k == 1)));
        }
        return readAll(forward, glance);
    }

    Value readAll(const GazeForward& forward, const Glance& glance)
    {
        Graph& graph = m_pass.graph;
        const Index length = m_host.shape().length, width = m_model.settings().llm.width;
        m_language.emplace(m_pass, m_model.language(), count(), length + m_settings.newTokens);
        std::vector<Index> lengths;
        std::vector<std::int32_t> places;
        for (Index i = 0; i < count(); ++i) {
            lengths.push_back(static_cast<Index>(m_host.rowsOf(i).size()));
            places.push_back(static_cast<std::int32_t>(i * length + lengths.back() - 1));
        }
        const Tensor& rows =
            m_settings.mode == Mode::CoarseOnly ? m_batch.tables->coarse : m_batch.tables->fine;
        const Value x = reshape(graph, gatherRows(graph, forward.table(glance.rows), rows),
                                {count(), length, width});
        return gatherRows(graph, m_language->extend(m_pass, x, lengths), integersOn(graph, places));
    }

    Value extend(const std::vector<std::int32_t>& tokens, const std::vector<Index>& open)
    {
        Graph& graph = m_pass.graph;
        const Value x = m_model.language().embed(m_pass, integersOn(graph, tokens));
        return m_language->extend(
            m_pass, reshape(graph, x, {count(), 1, m_model.settings().llm.width}), open);
    }

    /// The next token of every open sequence; closes those that end.
    std::vector<std::int32_t> choose(Value last, std::vector<Index>& open, int place)
    {
        Graph& graph = m_pass.graph;
        const Value logits = cast(graph, m_model.language().logits(m_pass, last), DType::F32);
        const auto all = graph.tensor(logits).toHost<float>(graph.stream());
        const std::size_t vocabulary = all.size() / m_texts.size();
        std::vector<std::int32_t> next(m_texts.size(), 0);
        for (std::size_t i = 0; i < m_texts.size(); ++i) {
            if (open[i] == 0)
                continue;
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * vocabulary);
            const int token =
                pick({first, first + static_cast<std::ptrdiff_t>(vocabulary)}, i, place);
            if (token == m_settings.stopToken) {
                open[i] = 0;
                continue;
            }
            m_texts[i].push_back(token);
            next[i] = token;
        }
        return next;
    }

    int pick(const std::vector<float>& logits, std::size_t sequence, int place) const
    {
        if (m_settings.temperature <= 0)
            return static_cast<int>(std::max_element(logits.begin(), logits.end()) -
                                    logits.begin());
        const Rng random(m_settings.seed, sequence);
        return drawNucleus(logits, m_settings.temperature, m_settings.nucleus,
                           random.uniform(static_cast<std::uint64_t>(place)));
    }

    const ForwardPass& m_pass;
    const FoveatedModel& m_model;
    const MicroBatch& m_batch;
    const Sequences& m_host;
    const GenerationSettings& m_settings;
    std::optional<CachedLanguage> m_language;
    std::vector<std::vector<int>> m_texts;
};
} // namespace

std::vector<std::vector<int>> generate(const ForwardPass& pass, const FoveatedModel& model,
                                       const MicroBatch& batch, const GenerationSettings& settings,
                                       const std::function<bool()>& isStopped)
{
    expects(!pass.graph.options().recordsGradients, "generate: the tape must record no gradients");
    expects(batch.sequences != nullptr, "generate: the sequences are needed in host memory");
    expects(settings.newTokens > 0 && settings.refinements >= 1,
            "generate: at least one token and one look");
    return Writer(pass, model, batch, settings).run(isStopped);
}

} // namespace vergence::fvlm
