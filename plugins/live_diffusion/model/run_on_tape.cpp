#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/model/tape_ops.h"

namespace vergence::live {

namespace {
/// Fewer operations are not worth running twice.
constexpr std::size_t kLeastCheckpoint = 4;

/// What is run and how: shared with the segments of the tape, which run it again.
struct Plan {
    const Program* program = nullptr;
    const ParameterSet* parameters = nullptr;
    std::vector<bool> joinsSilu; ///< per operation: a GroupNorm that the next SiLU is part of
    std::vector<int> residual;   ///< per operation: value that is added to its result; −1: none
    std::vector<int> alias;      ///< per operation: value that its result is; −1: it runs
};

Plan makePlan(const Program& program, const ParameterSet& parameters)
{
    const std::size_t count = program.ops.size();
    Plan plan{&program, &parameters, std::vector<bool>(count), std::vector<int>(count, -1),
              std::vector<int>(count, -1)};
    const auto readers = program.readers();
    // The operation that makes `value` for this one reader alone.
    const auto onlyFor = [&](int value, std::size_t reader) {
        const int maker = program.value(value).producer;
        const bool isOutput = std::count(program.outputs.begin(), program.outputs.end(), value) > 0;
        const bool isAlone = readers[static_cast<std::size_t>(value)].size() == 1;
        return maker >= 0 && isAlone && !isOutput &&
                       program.op(maker).block == program.ops[reader].block
                   ? maker
                   : -1;
    };
    for (std::size_t i = 0; i < count; ++i) {
        const ProgramOp& op = program.ops[i];
        if (op.kind == OpKind::Silu) {
            const int maker = onlyFor(op.inputs[0], i);
            if (maker >= 0 && program.op(maker).kind == OpKind::GroupNorm) {
                plan.joinsSilu[static_cast<std::size_t>(maker)] = true;
                plan.alias[i] = op.inputs[0];
            }
        } else if (op.kind == OpKind::Add) {
            const int maker = onlyFor(op.inputs[0], i);
            const bool adds = maker >= 0 && (program.op(maker).kind == OpKind::Convolution ||
                                             program.op(maker).kind == OpKind::Linear);
            if (adds && program.value(op.inputs[1]).producer < maker) {
                plan.residual[static_cast<std::size_t>(maker)] = op.inputs[1];
                plan.alias[i] = op.inputs[0];
            }
        }
    }
    return plan;
}

/// Values of a program as they are on the tape.
class TapeRun {
public:
    TapeRun(Graph& graph, const Plan& plan)
        : m_graph(graph),
          m_plan(plan),
          m_program(*plan.program),
          m_values(plan.program->values.size())
    {
    }

    Value& operator[](int id) { return m_values[static_cast<std::size_t>(id)]; }

    void run(std::size_t first, std::size_t last)
    {
        for (std::size_t i = first; i < last; ++i) {
            stopHere();
            const ProgramOp& op = m_program.ops[i];
            const int alias = m_plan.alias[i];
            (*this)[op.output] = alias >= 0 ? (*this)[alias] : evaluate(op, i);
        }
    }

private:
    Value in(const ProgramOp& op, std::size_t i) { return (*this)[op.inputs[i]]; }
    Value weight(int id)
    {
        if (id < 0)
            return {};
        const std::string& name = m_program.weight(id).name;
        const int index = m_plan.parameters->find(name);
        expects(index >= 0, fmt::format("the parameters have no {}", name));
        return m_graph.parameter(*m_plan.parameters, index);
    }
    DType type() const { return m_plan.parameters->computeType(); }

    Value evaluate(const ProgramOp& op, std::size_t i)
    {
        const ProgramValue& y = m_program.value(op.output);
        switch (op.kind) {
        case OpKind::Convolution:
            return convolution(op, i);
        case OpKind::TransposedConvolution:
            return transposedConvolution(m_graph, in(op, 0), weight(op.weight), weight(op.bias),
                                         op.stride, op.padding);
        case OpKind::Linear:
            return dense(op, i);
        case OpKind::GroupNorm:
            return groupNorm(m_graph, in(op, 0), weight(op.weight), weight(op.bias), op.groups,
                             op.epsilon, m_plan.joinsSilu[i]);
        case OpKind::LayerNorm:
            return layerNorm(m_graph, in(op, 0), weight(op.weight), weight(op.bias), op.epsilon);
        case OpKind::BatchNorm:
            return batchNorm(m_graph, in(op, 0),
                             {weight(op.weight), weight(op.bias), weight(op.mean),
                              weight(op.variance), op.epsilon});
        case OpKind::Silu:
            return activate(m_graph, Activation::Silu, in(op, 0));
        case OpKind::Gelu:
            return activate(m_graph, Activation::GeluErf, in(op, 0));
        case OpKind::GatedGelu:
            return gatedGelu(m_graph, in(op, 0));
        case OpKind::Tanh:
            return tanh(m_graph, in(op, 0));
        case OpKind::Add:
            return add(m_graph, in(op, 0), in(op, 1));
        case OpKind::AddChannels:
            return addChannels(m_graph, in(op, 0), in(op, 1));
        case OpKind::AddTable:
            return addTable(op);
        case OpKind::Concat:
            return concatenated(op, y.channels);
        case OpKind::Slice:
            return narrow(m_graph, in(op, 0), 3, op.first, y.channels);
        case OpKind::SelfAttention:
            return selfAttention(m_graph, in(op, 0), op.heads, op.window);
        case OpKind::CrossAttention:
            return crossAttention(m_graph, in(op, 0), in(op, 1), in(op, 2), op.heads);
        case OpKind::UpsampleNearest2:
            return upsampleNearest2(m_graph, in(op, 0));
        case OpKind::UpsampleBilinear2:
            return upsampleBilinear2(m_graph, in(op, 0));
        case OpKind::MaxPool2:
            return maxPool2(m_graph, in(op, 0));
        case OpKind::AdaptiveMeanPool:
            return adaptiveMeanPool(m_graph, in(op, 0), y.height, y.width);
        case OpKind::Sinusoid:
            return sinusoid(m_graph, in(op, 0), y.channels, op.scale, type());
        case OpKind::Plane:
            return plane(m_graph, in(op, 0), y.height, y.width, op.scale, type());
        case OpKind::Learned:
            return reshape(m_graph, weight(op.weight), {1, y.height, y.width, y.channels});
        }
        throw ContractError(fmt::format("{} is of an unknown kind", op.name));
    }

    Value convolution(const ProgramOp& op, std::size_t i)
    {
        ConvOptions options;
        options.bias = weight(op.bias);
        options.residual = residual(i);
        options.stride = op.stride;
        options.padding = op.padding;
        return conv2d(m_graph, in(op, 0), weight(op.weight), options);
    }
    Value dense(const ProgramOp& op, std::size_t i)
    {
        LinearOptions options;
        options.bias = weight(op.bias);
        options.residual = residual(i);
        return linear(m_graph, in(op, 0), weight(op.weight), options);
    }
    Value residual(std::size_t i)
    {
        return m_plan.residual[i] >= 0 ? (*this)[m_plan.residual[i]] : Value{};
    }
    Value addTable(const ProgramOp& op)
    {
        const Value x = in(op, 0), table = weight(op.weight);
        const Shape shape = m_graph.shape(x);
        const Value rows = reshape(m_graph, x, {shape[0], shape[1] * shape[2], shape[3]});
        return reshape(m_graph, addBroadcast(m_graph, rows, table), shape);
    }
    Value concatenated(const ProgramOp& op, Index channels)
    {
        std::vector<Value> parts;
        for (std::size_t i = 0; i < op.inputs.size(); ++i)
            parts.push_back(in(op, i));
        return concatChannels(m_graph, std::move(parts), channels);
    }

    Graph& m_graph;
    const Plan& m_plan;
    const Program& m_program;
    std::vector<Value> m_values;
};

/// Operations [first, last) of one block, what they read from outside, and what they hand on.
struct Block {
    std::size_t first = 0, last = 0;
    std::vector<int> inputs;
    int output = -1;
};

std::vector<Block> blocksOf(const Program& program)
{
    const auto readers = program.readers();
    std::vector<Block> blocks;
    for (std::size_t first = 0; first < program.ops.size();) {
        Block block{first, first, {}, -1};
        while (block.last < program.ops.size() &&
               program.ops[block.last].block == program.ops[first].block)
            ++block.last;
        for (std::size_t i = block.first; i < block.last; ++i) {
            for (const int input : program.ops[i].inputs)
                if (program.value(input).producer < static_cast<int>(first) &&
                    std::count(block.inputs.begin(), block.inputs.end(), input) == 0)
                    block.inputs.push_back(input);
            const int output = program.ops[i].output;
            const auto& by = readers[static_cast<std::size_t>(output)];
            if ((!by.empty() && by.back() >= static_cast<int>(block.last)) ||
                std::count(program.outputs.begin(), program.outputs.end(), output) > 0)
                block.output = output;
        }
        first = block.last;
        blocks.push_back(std::move(block));
    }
    return blocks;
}

Value checkpointBlock(Graph& graph, const std::shared_ptr<const Plan>& plan, TapeRun& run,
                      const Block& block)
{
    std::vector<Value> inputs;
    for (const int input : block.inputs)
        inputs.push_back(run[input]);
    return graph.checkpoint(inputs, [plan, block](Graph& g, const std::vector<Value>& given) {
        TapeRun inner(g, *plan);
        for (std::size_t i = 0; i < given.size(); ++i)
            inner[block.inputs[i]] = given[i];
        inner.run(block.first, block.last);
        return inner[block.output];
    });
}

/// Binds the inputs; all that are not shared have one number of rows.
void bindInputs(Graph& graph, const Program& program, const std::map<std::string, Value>& inputs,
                TapeRun& run)
{
    Index rows = 0;
    for (const int id : program.inputs) {
        const ProgramValue& value = program.value(id);
        const auto found = inputs.find(value.name);
        expects(found != inputs.end() && found->second,
                fmt::format("{}: the input {} is missing", program.name, value.name));
        const Shape& shape = graph.shape(found->second);
        expects(shape.size() == 4 && shape[1] == value.height && shape[2] == value.width &&
                    shape[3] == value.channels,
                fmt::format("{}: the input {} is {} instead of [B, {}, {}, {}]", program.name,
                            value.name, toString(shape), value.height, value.width,
                            value.channels));
        if (rows == 0 && !value.mayBeShared)
            rows = shape[0];
        expects(shape[0] == rows || (value.mayBeShared && (rows == 0 || shape[0] == 1)),
                fmt::format("{}: the input {} has {} rows beside {}", program.name, value.name,
                            shape[0], rows));
        run[id] = found->second;
    }
}
} // namespace

std::vector<Value> runOnTape(Graph& graph, const Program& program, const ParameterSet& parameters,
                             const std::map<std::string, Value>& inputs, const TapeOptions& options)
{
    const auto plan = std::make_shared<const Plan>(makePlan(program, parameters));
    TapeRun run(graph, *plan);
    bindInputs(graph, program, inputs, run);
    if (options.recomputesBlocks) {
        for (const Block& block : blocksOf(program)) {
            if (block.last - block.first >= kLeastCheckpoint)
                run[block.output] = checkpointBlock(graph, plan, run, block);
            else
                run.run(block.first, block.last);
        }
    } else {
        run.run(0, program.ops.size());
    }
    std::vector<Value> outputs;
    for (const int output : program.outputs)
        outputs.push_back(run[output]);
    return outputs;
}

} // namespace vergence::live
