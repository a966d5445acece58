#include "plugins/foveated_vlm/model/language_pass.h"

#include <map>

#include "core/compute/graph/gradient_help.h"

namespace vergence::fvlm {

/// Rows of one weight: what entered in all runs, and the gradients of what came out.
struct LanguagePass::Waiting {
    struct Rows {
        std::vector<Value> inputs; ///< of each run
        std::vector<Index> first;  ///< row of each run
        Index count = 0;
        Tensor gradients; ///< [count, out]; made by the last run's derivative
    };
    std::map<int, Rows> byWeight;

    static void copyRows(Graph& graph, const Tensor& from, const Tensor& to, Index first)
    {
        const Tensor place = to.narrow(0, first, from.extent(0));
        graph.stream().copy(place.data(), from.data(), place.bytes());
    }

    /// dW += gᵀx over the rows of all runs.
    static void product(Graph& graph, Value weight, const Tensor& gradients, const Tensor& inputs)
    {
        SummedGradient gradWeight(graph, weight);
        MatmulOptions how;
        how.transposeA = true;
        how.beta = 1;
        graph.dense().matmul(graph.stream(), gradients, inputs, *gradWeight.get(), how);
        gradWeight.finish();
    }

    void receive(Graph& graph, int index, Value weight, std::size_t run, const Tensor& gradRows)
    {
        Rows& rows = byWeight.at(index);
        if (rows.inputs.size() == 1) {
            product(graph, weight, gradRows, asRows(graph.dense(rows.inputs.front())));
            return;
        }
        if (rows.gradients.isEmpty())
            rows.gradients = graph.take({rows.count, gradRows.extent(1)}, gradRows.dtype());
        copyRows(graph, gradRows, rows.gradients, rows.first[run]);
        if (run > 0)
            return;
        const Tensor first = asRows(graph.dense(rows.inputs.front()));
        const Tensor inputs = graph.scratch({rows.count, first.extent(1)}, first.dtype());
        for (std::size_t i = 0; i < rows.inputs.size(); ++i)
            copyRows(graph, asRows(graph.dense(rows.inputs[i])), inputs, rows.first[i]);
        product(graph, weight, rows.gradients, inputs);
    }
};

LanguagePass::LanguagePass(const ForwardPass& pass, const LlamaModel& model, bool joins)
    : m_pass(pass),
      m_model(model)
{
    const bool trains = pass.graph.options().recordsGradients &&
                        !pass.parameters[model.blocks().front().qkv().weight].gradient.isEmpty();
    if (joins && trains && !pass.recomputes && !pass.hook)
        m_waiting = std::make_shared<Waiting>();
}

Value LanguagePass::states(Value x)
{
    if (!m_waiting)
        return m_model.states(m_pass, x);
    for (int i = 0; i < m_model.config().layers; ++i)
        x = block(i, x);
    ++m_runs;
    return m_model.norm()(m_pass, x);
}

Value LanguagePass::block(int index, Value x)
{
    const TransformerBlock& block = m_model.blocks()[static_cast<std::size_t>(index)];
    AttentionArgs causal;
    causal.causal = true;
    RopeArgs rotary;
    rotary.theta = m_model.config().theta;
    const Value qkv = linear(block.qkv(), block.norm1()(m_pass, x));
    const Value context = attentionPacked(m_pass.graph, qkv, block.config().heads,
                                          block.config().keyHeadCount(), causal, rotary);
    const Value y = linear(block.output(), context, x);
    const Value inner = swiglu(m_pass.graph, linear(block.fc1(), block.norm2()(m_pass, y)));
    return linear(block.fc2(), inner, y);
}

/// As vergence::linear without bias, but for when the weight's gradient is made.
Value LanguagePass::linear(const LinearLayer& layer, Value x, Value residual)
{
    Graph& graph = m_pass.graph;
    const Value weight = m_pass[layer.weight];
    const Tensor input = asRows(graph.dense(x));
    Shape shape = graph.shape(x);
    shape.back() = graph.tensor(weight).extent(0);
    const Tensor y = graph.take(shape, input.dtype());
    MatmulOptions how;
    how.transposeB = true;
    Tensor residualRows;
    if (residual) {
        residualRows = asRows(graph.dense(residual));
        how.residual = &residualRows;
    }
    graph.dense().matmul(graph.stream(), input, graph.tensor(weight), asRows(y), how);

    Waiting::Rows& rows = m_waiting->byWeight[layer.weight];
    expects(static_cast<int>(rows.inputs.size()) == m_runs, "LanguagePass: runs may not overlap");
    rows.inputs.push_back(x);
    rows.first.push_back(rows.count);
    rows.count += input.extent(0);
    return graph.record(y, {x, weight, residual},
                        [x, weight, residual, index = layer.weight, waiting = m_waiting,
                         run = static_cast<std::size_t>(m_runs)](Graph& g, const Tensor& gradY) {
                            g.passGradient(residual, gradY);
                            const Tensor gradRows = asRows(gradY);
                            if (g.needsGradient(x)) {
                                const auto target = g.gradientTarget(x);
                                MatmulOptions back;
                                back.beta = target.accumulate ? 1 : 0;
                                g.dense().matmul(g.stream(), gradRows, g.dense(weight),
                                                 asRows(target.tensor), back);
                            }
                            waiting->receive(g, index, weight, run, gradRows);
                        });
}

} // namespace vergence::fvlm
