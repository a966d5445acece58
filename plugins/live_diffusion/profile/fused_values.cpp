#include "plugins/live_diffusion/profile/fused_values.h"

#include <algorithm>

namespace vergence::live {

namespace {

bool isProduct(OpKind kind)
{
    return kind == OpKind::Convolution || kind == OpKind::TransposedConvolution ||
           kind == OpKind::Linear;
}

bool isNorm(OpKind kind)
{
    return kind == OpKind::GroupNorm || kind == OpKind::LayerNorm;
}

/// Works on each element as it is written.
bool isPointwise(OpKind kind)
{
    switch (kind) {
    case OpKind::Silu:
    case OpKind::Gelu:
    case OpKind::Tanh:
    case OpKind::BatchNorm:
    case OpKind::AddChannels:
    case OpKind::AddTable:
        return true;
    default:
        return false;
    }
}

bool isGather(OpKind kind)
{
    return kind == OpKind::Concat || kind == OpKind::Slice || kind == OpKind::UpsampleNearest2 ||
           kind == OpKind::Plane;
}

} // namespace

FusedValues::FusedValues(const Program& program)
    : m_program(program),
      m_readers(program.readers()),
      m_carrier(program.ops.size(), kOwn)
{
    for (std::size_t i = 0; i < program.ops.size(); ++i)
        m_carrier[i] = carrier(static_cast<int>(i));
}

/// Of one operation, those before it being known.
int FusedValues::carrier(int op) const
{
    const ProgramOp& now = m_program.op(op);
    if (isGather(now.kind))
        return kReaders;
    if (!isPointwise(now.kind) && now.kind != OpKind::Add)
        return kOwn;
    const int input = now.inputs.front();
    const int producer = m_program.value(input).producer;
    if (producer < 0 || m_readers[static_cast<std::size_t>(input)].size() != 1)
        return kOwn;
    const int earlier = m_carrier[static_cast<std::size_t>(producer)];
    const int writer = earlier >= 0 ? earlier : producer;
    const OpKind kind = m_program.op(writer).kind;
    const bool fits = isProduct(kind) || (isNorm(kind) && now.kind != OpKind::Add);
    return earlier != kReaders && fits ? writer : kOwn;
}

void FusedValues::gather(int value, std::vector<int>& sources) const
{
    const int producer = m_program.value(value).producer;
    if (producer < 0 || m_carrier[static_cast<std::size_t>(producer)] != kReaders) {
        if (std::find(sources.begin(), sources.end(), value) == sources.end())
            sources.push_back(value);
        return;
    }
    for (const int input : m_program.op(producer).inputs)
        gather(input, sources);
}

std::vector<int> FusedValues::sourcesOf(int value) const
{
    std::vector<int> sources;
    gather(value, sources);
    return sources;
}

} // namespace vergence::live
