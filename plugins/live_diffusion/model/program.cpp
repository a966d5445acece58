#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

namespace {
template <class Items>
int findNamed(const Items& items, std::string_view name)
{
    for (std::size_t i = 0; i < items.size(); ++i)
        if (items[i].name == name)
            return static_cast<int>(i);
    return -1;
}
} // namespace

std::string_view nameOf(OpKind kind)
{
    switch (kind) {
    case OpKind::Convolution:
        return "Convolution";
    case OpKind::TransposedConvolution:
        return "TransposedConvolution";
    case OpKind::Linear:
        return "Linear";
    case OpKind::GroupNorm:
        return "GroupNorm";
    case OpKind::LayerNorm:
        return "LayerNorm";
    case OpKind::BatchNorm:
        return "BatchNorm";
    case OpKind::Silu:
        return "Silu";
    case OpKind::Gelu:
        return "Gelu";
    case OpKind::GatedGelu:
        return "GatedGelu";
    case OpKind::Tanh:
        return "Tanh";
    case OpKind::Add:
        return "Add";
    case OpKind::AddChannels:
        return "AddChannels";
    case OpKind::AddTable:
        return "AddTable";
    case OpKind::Concat:
        return "Concat";
    case OpKind::Slice:
        return "Slice";
    case OpKind::SelfAttention:
        return "SelfAttention";
    case OpKind::CrossAttention:
        return "CrossAttention";
    case OpKind::UpsampleNearest2:
        return "UpsampleNearest2";
    case OpKind::UpsampleBilinear2:
        return "UpsampleBilinear2";
    case OpKind::MaxPool2:
        return "MaxPool2";
    case OpKind::AdaptiveMeanPool:
        return "AdaptiveMeanPool";
    case OpKind::Sinusoid:
        return "Sinusoid";
    case OpKind::Plane:
        return "Plane";
    case OpKind::Learned:
        return "Learned";
    }
    return "";
}

std::string_view nameOf(Rate rate)
{
    switch (rate) {
    case Rate::Evaluation:
        return "evaluation";
    case Rate::TimeTable:
        return "time table";
    case Rate::MemoryWrite:
        return "memory write";
    }
    return "";
}

int Program::findValue(std::string_view wanted) const
{
    return findNamed(values, wanted);
}

int Program::findWeight(std::string_view wanted) const
{
    return findNamed(weights, wanted);
}

int Program::findOp(std::string_view wanted) const
{
    return findNamed(ops, wanted);
}

std::vector<std::vector<int>> Program::readers() const
{
    std::vector<std::vector<int>> result(values.size());
    for (std::size_t i = 0; i < ops.size(); ++i)
        for (const int input : ops[i].inputs) {
            auto& list = result.at(static_cast<std::size_t>(input));
            if (list.empty() || list.back() != static_cast<int>(i))
                list.push_back(static_cast<int>(i));
        }
    return result;
}

namespace {
/// Which values and operations are needed for `outputs`.
struct Needed {
    std::vector<bool> values, ops;

    Needed(const Program& program, const std::vector<int>& outputs)
        : values(program.values.size()),
          ops(program.ops.size())
    {
        for (const int output : outputs)
            values.at(static_cast<std::size_t>(output)) = true;
        for (std::size_t i = program.ops.size(); i-- > 0;) {
            const ProgramOp& op = program.ops[i];
            if (!values[static_cast<std::size_t>(op.output)])
                continue;
            ops[i] = true;
            for (const int input : op.inputs)
                values[static_cast<std::size_t>(input)] = true;
        }
    }
};
} // namespace

Program partOf(const Program& program, const std::vector<int>& outputs)
{
    const Needed needed(program, outputs);
    Program part;
    part.name = "part of " + program.name;
    std::vector<int> newValue(program.values.size(), -1), newWeight(program.weights.size(), -1);
    const auto keep = [](const auto& from, auto& to, std::vector<int>& renumbered, int& id) {
        if (id < 0)
            return;
        int& number = renumbered[static_cast<std::size_t>(id)];
        if (number < 0) {
            number = static_cast<int>(to.size());
            to.push_back(from[static_cast<std::size_t>(id)]);
        }
        id = number;
    };
    for (int input : program.inputs)
        if (needed.values[static_cast<std::size_t>(input)]) {
            keep(program.values, part.values, newValue, input);
            part.inputs.push_back(input);
        }
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (!needed.ops[i])
            continue;
        ProgramOp op = program.ops[i];
        for (int& input : op.inputs)
            keep(program.values, part.values, newValue, input);
        keep(program.values, part.values, newValue, op.output);
        part.values[static_cast<std::size_t>(op.output)].producer =
            static_cast<int>(part.ops.size());
        for (int* weight : {&op.weight, &op.bias, &op.mean, &op.variance})
            keep(program.weights, part.weights, newWeight, *weight);
        part.ops.push_back(std::move(op));
    }
    for (int output : outputs) {
        keep(program.values, part.values, newValue, output);
        part.outputs.push_back(output);
    }
    return part;
}

} // namespace vergence::live
