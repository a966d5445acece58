#include "plugins/live_diffusion/model/counts.h"

#include <algorithm>

#include "plugins/live_diffusion/model/unet.h"

namespace vergence::live {

namespace {
/// Keys that each query sees.
Index keysPerQuery(const Program& program, const ProgramOp& op)
{
    if (op.kind == OpKind::CrossAttention)
        return program.value(op.inputs[1]).pixels();
    return op.window > 0 ? op.window * op.window : program.value(op.inputs[0]).pixels();
}

bool isAttention(const ProgramOp& op)
{
    return op.kind == OpKind::SelfAttention || op.kind == OpKind::CrossAttention;
}
} // namespace

std::int64_t flopOf(const Program& program, const ProgramOp& op)
{
    const ProgramValue& y = program.value(op.output);
    switch (op.kind) {
    case OpKind::Convolution:
    case OpKind::Linear: // every output pixel meets every element of the weight once
        return 2 * y.pixels() * program.weight(op.weight).size();
    case OpKind::TransposedConvolution: // every input pixel does
        return 2 * program.value(op.inputs[0]).pixels() * program.weight(op.weight).size();
    case OpKind::SelfAttention:
    case OpKind::CrossAttention:
        return 4 * y.size() * keysPerQuery(program, op);
    default:
        return 0;
    }
}

std::int64_t leastFlopOf(const Program& program, const ProgramOp& op)
{
    const bool isSaved = op.kind == OpKind::Convolution && op.kernel == 3 && op.stride == 1;
    return flopOf(program, op) / (isSaved ? kWinogradSaving : 1);
}

ElementTraffic trafficOf(const Program& program, const ProgramOp& op)
{
    ElementTraffic traffic;
    for (const int input : op.inputs)
        traffic.inputs += program.value(input).size();
    if (op.kind == OpKind::GroupNorm)
        traffic.inputs *= 2;
    if (op.kind == OpKind::Slice)
        traffic.inputs = program.value(op.output).size();
    for (const int weight : {op.weight, op.bias, op.mean, op.variance})
        if (weight >= 0)
            traffic.weights += program.weight(weight).size();
    traffic.outputs = program.value(op.output).size();
    return traffic;
}

std::int64_t scoresOf(const Program& program, const ProgramOp& op)
{
    if (!isAttention(op))
        return 0;
    return op.heads * program.value(op.output).pixels() * keysPerQuery(program, op);
}

std::int64_t largestScores(const Program& program)
{
    std::int64_t largest = 0;
    for (const ProgramOp& op : program.ops)
        largest = std::max(largest, scoresOf(program, op));
    return largest;
}

FlopShares flopShares(const Program& program, Rate rate)
{
    FlopShares shares;
    for (const ProgramOp& op : program.ops) {
        if (op.rate != rate)
            continue;
        const std::int64_t flop = flopOf(program, op);
        if (isAttention(op))
            shares.attention += flop;
        else if (op.kind == OpKind::Linear)
            shares.linear += flop;
        else if (op.kernel == 1)
            shares.pointConvolutions += flop;
        else
            shares.wideConvolutions += flop;
    }
    return shares;
}

std::int64_t flopPerEvaluation(const Program& program)
{
    return flopShares(program).sum();
}

std::int64_t parameterCount(const Program& program)
{
    std::int64_t count = 0;
    for (const ProgramWeight& weight : program.weights)
        if (weight.isParameter())
            count += weight.size();
    return count;
}

ModelCounts countModel(const UnetSettings& settings)
{
    const Program unet = buildUnet(settings), encoder = buildMemoryEncoder(settings);
    ModelCounts counts;
    counts.parameters = parameterCount(unet) + parameterCount(encoder);
    counts.flopPerEvaluation = flopPerEvaluation(unet);
    counts.flopPerWrite = flopPerEvaluation(encoder) +
                          flopShares(unet, Rate::MemoryWrite).sum() / kMemoryTokens * kSlotTokens;
    for (const ProgramOp& op : unet.ops) {
        if (op.kind == OpKind::AddChannels)
            counts.timeWidth += unet.value(op.output).channels;
        if (op.kind != OpKind::CrossAttention)
            continue;
        ++counts.crossAttentions;
        counts.cacheElements += unet.value(op.inputs[1]).size();
    }
    return counts;
}

} // namespace vergence::live
