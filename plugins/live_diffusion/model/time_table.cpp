#include "plugins/live_diffusion/model/time_table.h"

#include <fmt/format.h>

#include "core/compute/dense.h"
#include "plugins/live_diffusion/model/tape_network.h"

namespace vergence::live {

namespace {
/// [rows, 1, 1, 1]; one number may stand for all rows.
template <class Number>
Value numbers(Graph& graph, DType type, std::span<const Number> given, std::size_t rows)
{
    const auto at = [&](std::size_t i) { return given[given.size() == 1 ? 0 : i]; };
    const Tensor tensor = graph.take({static_cast<Index>(rows), 1, 1, 1}, type);
    const auto fill = [&](auto zero) {
        std::vector<decltype(zero)> values(rows);
        for (std::size_t i = 0; i < rows; ++i)
            values[i] = static_cast<decltype(zero)>(at(i));
        graph.stream().copy(tensor.data(), values.data(), tensor.bytes());
    };
    if (type == DType::F64)
        fill(0.0);
    else
        fill(0.0f);
    return graph.constant(tensor);
}

const Tensor& weightOf(const Program& program, const ParameterSet& parameters, int weight)
{
    const int index = parameters.find(program.weight(weight).name);
    expects(index >= 0, fmt::format("the parameters have no {}", program.weight(weight).name));
    return parameters[index].value;
}
} // namespace

TimeTableLayout timeTableLayout(const Program& program)
{
    TimeTableLayout layout;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const ProgramOp& op = program.ops[i];
        if (op.kind != OpKind::AddChannels)
            continue;
        const ProgramValue& vector = program.value(op.inputs[1]);
        layout.entries.push_back(
            {static_cast<int>(i), vector.producer, layout.width, vector.channels});
        layout.width += vector.channels;
    }
    return layout;
}

TimeTable::TimeTable(Stream& stream, const Program& program, const ParameterSet& parameters)
    : m_layout(timeTableLayout(program)),
      m_parameters(parameters)
{
    const DType type = parameters.masterType();
    expects(parameters.computeType() == type && (type == DType::F32 || type == DType::F64),
            "TimeTable: the parameters must compute in F32 or F64");
    expects(!m_layout.entries.empty(), fmt::format("TimeTable: {} has no steps", program.name));
    const int embedding = program.op(m_layout.entries.front().linear).inputs[0];
    m_embedding = partOf(program, {embedding});
    const Index width = program.value(embedding).channels;
    m_weight = Tensor::empty(parameters.device(), {m_layout.width, width}, type);
    m_bias = Tensor::empty(parameters.device(), {m_layout.width}, type);
    for (const auto& entry : m_layout.entries) {
        const ProgramOp& linear = program.op(entry.linear);
        expects(linear.kind == OpKind::Linear && linear.inputs[0] == embedding && linear.bias >= 0,
                fmt::format("TimeTable: {} is not made from the embedding", linear.name));
        const Tensor& weight = weightOf(program, parameters, linear.weight);
        const Tensor& bias = weightOf(program, parameters, linear.bias);
        stream.copy(m_weight.narrow(0, entry.first, entry.channels).data(), weight.data(),
                    weight.bytes());
        stream.copy(m_bias.narrow(0, entry.first, entry.channels).data(), bias.data(),
                    bias.bytes());
    }
}

Tensor TimeTable::evaluate(Stream& stream, std::span<const double> timesteps,
                           std::span<const int> buckets) const
{
    expects(!timesteps.empty() && (buckets.size() == 1 || buckets.size() == timesteps.size()),
            fmt::format("TimeTable: {} buckets for {} steps", buckets.size(), timesteps.size()));
    const DType type = m_weight.dtype();
    Graph graph(stream, m_weight.device(), {false, type});
    const std::size_t rows = timesteps.size();
    const Value e = runOnTape(graph, m_embedding, m_parameters,
                              {{"t", numbers(graph, type, timesteps, rows)},
                               {"b", numbers(graph, type, buckets, rows)}})
                        .front();
    const auto count = static_cast<Index>(rows);
    const Tensor table = Tensor::empty(m_weight.device(), {count, m_layout.width}, type);
    MatmulOptions options;
    options.transposeB = true;
    options.bias = &m_bias;
    graph.dense().matmul(stream, graph.tensor(e).reshaped({count, m_weight.extent(1)}), m_weight,
                         table, options);
    stream.synchronize(); // the tape's memory goes away
    return table;
}

} // namespace vergence::live
