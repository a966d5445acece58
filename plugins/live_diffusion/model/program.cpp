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

} // namespace vergence::live
